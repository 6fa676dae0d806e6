"""ICMP: refused at once inside, whatever is allowed; the same program is answered where it may ask."""
import os
import subprocess
import sys

import harness
import names

PROGRAM = "echo_request.py"


class Icmp(harness.GatewayTest):
    def test_echo_requests_are_refused_at_once(self):
        for flags in ([], ["--allow-domain", "www.harbor.test"], ["--allow-domain", names.FAR]):
            for host in (names.FAR, "127.0.0.1"):
                with self.subTest(flags=flags, host=host):
                    ended = self.script(flags, PROGRAM, host)
                    self.assertEqual(ended.code, 0, ended)
                    for line in ended.out.splitlines():
                        self.assertRegex(line, r"^(datagram|raw) (EACCES|EPERM) at once$")
                    self.assertEqual(len(ended.out.splitlines()), 2, ended)

    def test_the_program_is_answered_outside(self):
        program = os.path.join(self.world.path("inside"), PROGRAM)
        told = subprocess.run([sys.executable, program, "127.0.0.1"], text=True, timeout=20,
                              stdout=subprocess.PIPE, check=True).stdout
        self.assertIn("raw answered at once", told)
