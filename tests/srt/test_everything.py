"""denyRead of everything: the host's tree with nothing in it but what allowRead and allowWrite name."""
import json
import os

from srt_harness import SrtTest, settings

SYSTEM = ["/usr", "/bin", "/lib", "/lib64", "/etc"]
EVERYTHING = ("/", "/**", "//**", "/**/**")


def shown(rule, *more, **how):
    return settings(read=[rule], filesystem={"allowRead": SYSTEM + list(more)}, **how)


class Everything(SrtTest):
    def setUp(self):
        super().setUp()
        self.secret = self.file("elsewhere/secret", "s3cret")
        self.project_file("file", "in the project")

    def test_nothing_is_seen_but_what_is_named(self):
        for rule in EVERYTHING:
            with self.subTest(rule):
                ended = self.sh(f"cat {self.secret}; ls {self.project}; pwd; echo /*; git --version >/dev/null && "
                                "head -c4 /proc/self/status && echo x > /dev/null && echo fine",
                                said=shown(rule))
                there = [name for name in SYSTEM if os.path.exists(name)]
                # The current folder is not there: the command starts in one above that is.
                self.assertEqual(ended.out, "/\n" + " ".join(sorted(there + ["/dev", "/proc"])) + "\nNamefine\n")
        self.assertIn("s3cret", self.sh(f"cat {self.secret}", said=settings()).out)

    def test_what_is_named_is_seen_and_written(self):
        said = shown("/", self.secret, write=["."])
        ended = self.sh_ok(f"cat {self.secret} file; echo new > made; ls ..", said=said)
        self.assertEqual(ended.out, "s3cretin the projectelsewhere\nproject\n")
        self.assertEqual(self.read(os.path.join(self.project, "made")), "new\n")

    def test_own_names_of_hosts_stand_though_the_folder_is_the_hosts(self):
        """Else the cell would ask the host's name servers, which it can't reach."""
        for said in (shown("/"), shown("/**"), settings(write=["/etc"])):
            self.assertTrue(self.sh_ok("cat /etc/hosts", said=said).out.startswith("127.0.0.1 localhost"))
        said = settings(["localhost"], read=["/"], network={"tlsTerminate": {}},
                        filesystem={"allowRead": ["/usr", "/bin", "/lib", "/lib64"]})
        self.sh_ok('grep -q CERT "$SSL_CERT_FILE" && cat /etc/hosts', said=said)

    def test_devices_and_processes_are_the_cells_own_though_they_are_named(self):
        said = shown("/", "/dev", "/dev/null", "/dev/urandom", "/proc", "/proc/self", "/proc/sys")
        ended = self.sh_ok("echo x > /dev/null; head -c1 /dev/urandom | wc -c; head -c4 /proc/self/status; echo; "
                           "ls -A /dev/shm; ls -d /proc/[0-9]* | wc -l", said=said)
        lines = ended.out.splitlines()
        self.assertEqual(lines[:2], ["1", "Name"])
        self.assertEqual(len(lines), 3, lines)
        self.assertLess(int(lines[2]), 8)
        # The same where it is to be written: the host's would be dead, since the mount has no devices.
        for name in ("/dev/null", "/dev"):
            with self.subTest(name):
                self.sh_ok("echo x > /dev/null && test ! -s /dev/null", said=settings(write=[name]))

    def test_own_names_of_hosts_stand_where_they_are_a_link_or_are_named_themselves(self):
        end = os.path.realpath("/etc/resolv.conf")
        if not os.path.exists(end):
            self.skipTest("the host has no /etc/resolv.conf")
        for named in (SYSTEM, [*SYSTEM[:-1], "/etc/resolv.conf"]):
            said = settings(["localhost"], read=["/"], filesystem={"allowRead": named})
            self.assertIn("nameserver 127.0.0.1\n", self.sh_ok("cat /etc/resolv.conf", said=said).out + "\n")

    def test_without_anything_that_is_shown_it_is_an_error(self):
        for rule in EVERYTHING:
            with self.subTest(rule):
                self.assert_srt_refused(self.srt("true", said=settings(read=[rule])),
                                        "filesystem.denyRead[0] hides every file", "allowRead")
                said = settings(read=[rule], filesystem={"allowRead": [self.top + "/absent"]})
                self.assert_srt_refused(self.srt("true", said=said), "hides every file")

    def test_the_same_by_a_policy(self):
        for rule in ("/", "/**"):
            policy = {"host_view": {"on": True, "deny_read": [rule], "allow_read": SYSTEM}}
            text = self.file("policy.json", json.dumps(policy))
            ended = self.caisson("exec", "--policy", text, "--", "cat", self.secret, cwd=self.project)
            self.assertEqual((ended.code, ended.out), (1, ""), ended)
            self.assertIn("No such file", ended.err)

    def test_hidden_current_folder_is_left_for_one_above(self):
        ended = self.srt_ok("pwd", said=settings(read=[self.top]))
        self.assertEqual(ended.out, self.top + "\n")
        ended = self.srt_ok("pwd", said=settings(read=["."]))
        self.assertEqual(ended.out, self.project + "\n")
        ended = self.srt_ok("-d", "pwd", said=settings(read=["~"]), cwd=self.folder("home/deep/er"))
        self.assertEqual(ended.out, os.path.join(self.top, "home") + "\n")
        self.assertIn("filesystem.denyRead[0] hides the current folder", ended.err)
        # What is shown has its folders above it.
        said = settings(read=[self.top], filesystem={"allowRead": ["./sub/shown"]})
        self.folder("project/sub/shown")
        self.assertEqual(self.srt_ok("pwd", said=said).out, self.project + "\n")
