#!/bin/sh
# run.sh BUILD_DIR [gtest arguments]: the boundary suite, as root and as an ordinary user.
#
# The binary under test is CAISSON_BIN, else build/release/caisson beside BUILD_DIR, else the one in
# BUILD_DIR. Started as an ordinary user it runs that half, and root's through sudo where that asks
# for no password. BOUNDARY_SHARDS (2) programs run side by side.
set -eu

if [ $# -lt 1 ]; then
  echo "usage: run.sh BUILD_DIR [gtest arguments]" >&2
  exit 2
fi
build=$(cd "$1" && pwd)
self=$(cd "$(dirname "$0")" && pwd)/run.sh
shift
shards=${BOUNDARY_SHARDS:-2}
user=${TEST_UID:-54321} # a uid that owns nothing on any machine

binary=${CAISSON_BIN:-}
for candidate in "$build/../release/caisson" "$build/caisson"; do
  if [ -z "$binary" ] && [ -x "$candidate" ]; then binary=$candidate; fi
done
if [ ! -x "$binary" ]; then
  echo "run.sh: no caisson to test; build it, or set CAISSON_BIN" >&2
  exit 2
fi

# A place that every uid can read, since the checkout may not be one.
stage=$(mktemp -d /tmp/caisson-stage-XXXXXX)
chmod 755 "$stage"
trap 'rm -rf "$stage"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$stage/bin" "$stage/probes"
cp "$binary" "$stage/bin/caisson"
cp "$build/tests/boundary/boundary_tests" "$stage/bin/boundary_tests"
cp "$build/tests/probes/probe" "$build/tests/probes/setid" "$stage/probes/"
if [ -e "$build/tests/probes/probe_i386" ]; then cp "$build/tests/probes/probe_i386" "$stage/probes/"; fi
chmod -R a+rX "$stage/bin" "$stage/probes"
CAISSON_BIN=$stage/bin/caisson
CAISSON_PROBES=$stage/probes
export CAISSON_BIN CAISSON_PROBES

# half NAME WRAPPER… -- GTEST-ARGS…: runs the shards side by side and shows each one's output whole.
half() {
  name=$1
  shift
  wrapper=
  while [ "$1" != -- ]; do
    wrapper="$wrapper $1"
    shift
  done
  shift
  echo "==== boundary, $name"
  result=0
  pids=
  shard=0
  while [ "$shard" -lt "$shards" ]; do
    # The wrapper is words of this script alone, none with a blank.
    # shellcheck disable=SC2086
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard \
      $wrapper "$stage/bin/boundary_tests" "$@" >"$stage/$name-$shard.log" 2>&1 &
    pids="$pids $!"
    shard=$((shard + 1))
  done
  for pid in $pids; do wait "$pid" || result=1; done
  cat "$stage/$name"-*.log
  if [ "$result" -eq 0 ]; then echo "==== boundary, $name: held"; else echo "==== boundary, $name: FAILED"; fi
  return "$result"
}

own_folder() { # own_folder NAME UID: TMPDIR of one half
  mkdir -p "$stage/$1.tmp"
  chown "$2" "$stage/$1.tmp"
  echo "$stage/$1.tmp"
}

failed=
if [ "$(id -u)" -eq 0 ]; then
  TMPDIR=$(own_folder root 0) half "as root" -- "$@" || failed="$failed root"
  # A set-uid program for the ordinary user to try. It tells its ids and does nothing else.
  mkdir "$stage/setid"
  cp "$stage/probes/setid" "$stage/setid/setid"
  chmod 6755 "$stage/setid/setid"
  CAISSON_SETID=$stage/setid TMPDIR=$(own_folder user "$user") \
    half "as an ordinary user" setpriv --reuid "$user" --regid "$user" --clear-groups \
    env -u SUDO_USER HOME="$stage/user.tmp" -- "$@" || failed="$failed user"
else
  TMPDIR=$(own_folder user "$(id -u)") half "as an ordinary user" -- "$@" || failed="$failed user"
  if [ -n "${BOUNDARY_USER_ONLY:-}" ]; then
    echo "==== boundary, as root: left out, as BOUNDARY_USER_ONLY asks"
  elif sudo -n true 2>/dev/null; then
    sudo -n CAISSON_BIN="$binary" BOUNDARY_SHARDS="$shards" "$self" "$build" "$@" ||
      failed="$failed root"
  else
    echo "==== boundary, as root: NOT RUN: this needs root, or sudo without a password"
  fi
fi

if [ -n "$failed" ]; then
  echo "==== boundary: failed for:$failed"
  exit 1
fi
echo "==== boundary: held"
