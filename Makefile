# Two commands: `make run` and `make test`. Each installs what it needs first (Debian packages, with
# sudo when not root), builds, and does its work.
SHELL := /bin/bash
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
CAISSON := build/release/caisson
# Without this word, ccache has no answer for what is compiled with precompiled headers.
export CCACHE_SLOPPINESS := pch_defines,time_macros

.PHONY: run test bench build install uninstall fuzz guest format lint clean deps-build deps-test deps-gateway deps-doors deps-bench deps-fuzz deps-guest deps-lint
.DEFAULT_GOAL := build

deps-build deps-test deps-gateway deps-doors deps-bench deps-fuzz deps-guest deps-lint: deps-%:
	@tools/install-packages $*

build: deps-build
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target caisson

run: build
	@tools/demo $(CAISSON)

test: deps-test deps-gateway deps-doors build
	@tools/run-tests

bench: deps-bench build
	@cmake --build build/release -j $(JOBS)
	@bench/run

install: build
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/caisson" "$(DESTDIR)$(PREFIX)/bin/sandbox-runtime" \
	  "$(DESTDIR)$(PREFIX)/bin/srt"

fuzz: deps-fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz -j $(JOBS)
	@tests/fuzz/run

# The suites in an emulated machine with Debian's kernel and systemd: half an hour, as root.
guest: deps-test deps-guest build
	@cmake --preset test >/dev/null
	@cmake --build build/test -j $(JOBS) --target boundary_tests probe setid session_driver
	@tests/guest/run.py $(CAISSON) build/test $(SUITES)

format: deps-lint
	@git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format -i

lint: deps-lint
	@git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format --dry-run --Werror
	@tools/lint

clean:
	rm -rf build
