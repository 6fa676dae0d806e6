"""What one command leaves behind must not show the next one, with the same settings, what they hide."""
import json
import os

from srt_harness import PYTHON, SrtTest, settings

SECRET = "abcdefghijkl-secret"

# Every way in which what lies above, or leads there, could go elsewhere.
MOVES = """
import ctypes, os, sys
def rename(a, b): os.rename(a, b)
def exchange(a, b):
    os.makedirs(b, exist_ok=True)
    if ctypes.CDLL(None).renameat2(-100, a.encode(), -100, b.encode(), 2): raise OSError
def to_link(a, b):
    os.symlink(b, 'new-link'); os.replace('new-link', a)
def name_it_anew(a, b):
    os.link(a, b)
def remove(a, b):
    os.unlink(a) if os.path.islink(a) or os.path.isfile(a) else os.rmdir(a)
for place in sys.argv[1:]:
    for move in (rename, exchange, to_link, name_it_anew, remove):
        try:
            move(place, place.replace('/', '-') + '.' + move.__name__)
            print(move.__name__, place)
        except OSError:
            pass
"""


class NextRun(SrtTest):
    def attempts(self, said, *places):
        """What went well of MOVES."""
        return self.srt_ok(PYTHON, "-c", MOVES, *places, said=said).out.split("\n")[:-1]

    def assert_never_seen(self, said):
        ended = self.sh("find -L . -type f | xargs cat", said=said)
        self.assertNotIn(SECRET, ended.out, ended)
        if os.path.exists(os.path.join(self.top, "elsewhere")):
            self.assertNotIn(SECRET, self.sh("cat ../elsewhere/*", said=said).out)

    def test_folder_above_a_denied_folder_does_not_move(self):
        self.project_file("a/p/q/token", SECRET)
        for said in (settings(read=["a/p/q"], write=["."]),
                     settings(read=[], write=["."],
                              credentials={"files": [{"path": "a/p/q", "mode": "deny"}]})):
            self.assertEqual(self.attempts(said, "a/p/q", "a/p", "a"), [])
            self.assert_never_seen(said)
        # It is the rule that keeps it there.
        self.assertEqual(self.attempts(settings(write=["."]), "a/p"), ["rename a/p"])

    def test_others_move_and_the_refusal_says_why(self):
        self.project_file("a/p/q/token", SECRET)
        self.project_file("a/other/file")
        said = settings(read=["a/p/q"], write=["."])
        self.sh_ok("mv a/other b && mkdir a/new && mv a/new c && rmdir c && mv b a/p/other", said=said)
        lines = self.violations(self.sh("mv a elsewhere", said=said))
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("filesystem.denyRead[0]", lines[0])
        self.assertIn("could be read by the next command", lines[0])

    def test_folder_above_a_masked_or_denied_file_does_not_move(self):
        self.project_file("m/n/token", SECRET)
        entry = {"path": "m/n/token", "mode": "mask"}
        masked = settings(["localhost"], write=["."], network={"tlsTerminate": {}},
                          credentials={"files": [entry]})
        for said in (masked, settings(read=["m/n/token"], write=["."])):
            self.assertEqual(self.attempts(said, "m/n/token", "m/n", "m"), [])
            self.assert_never_seen(said)
        self.sh_ok("mkdir m/o && mv m/o o", said=masked)

    def test_link_on_the_way_is_not_turned_elsewhere(self):
        self.file("elsewhere/token", SECRET)
        os.makedirs(os.path.join(self.project, "l"))
        os.symlink("../../elsewhere", os.path.join(self.project, "l/way"))
        mask = {"files": [{"path": "l/way/token", "mode": "mask"}]}
        for said in (settings(read=["l/way"], write=["."]), settings(read=["l/way/token"], write=["."]),
                     settings(read=["l/way/*"], write=["."]),
                     settings(["localhost"], write=["."], network={"tlsTerminate": {}},
                              credentials=mask)):
            self.assertEqual(self.attempts(said, "l/way", "l"), [], said)
            self.assert_never_seen(said)
        self.assertEqual(self.attempts(settings(write=["."]), "l/way")[0], "rename l/way")

    def test_the_same_by_a_policy(self):
        self.project_file("x/y/token", SECRET)
        self.project_file("z/w/token", SECRET)
        policy = {"host_view": {"on": True, "allow_write": [self.project],
                                "deny_read": [self.project + "/x/y/token", self.project + "/z/w"]}}
        policy = self.file("policy.json", json.dumps(policy))
        ended = self.caisson("exec", "--policy", policy, "--", PYTHON, "-c", MOVES,
                             "x", "x/y", "x/y/token", "z", "z/w", cwd=self.project)
        self.assertEqual((ended.code, ended.out), (0, ""), ended)
