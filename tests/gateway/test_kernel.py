"""A kernel without nftables: the proxies remain, everything else reaches nothing, and that is told."""
import concurrent.futures
import os
import shutil

import harness


class WithoutNftables(harness.GatewayTest):
    WWW = ["--allow-domain", "www.harbor.test"]
    URL = "http://www.harbor.test/text"

    def setUp(self):
        super().setUp()
        # The checkout may lie where an ordinary user can't read.
        program = shutil.copy(os.path.join(os.path.dirname(__file__), "without_nftables.py"), self.top)
        self.through = (harness.PYTHON, "-IB", program)

    def test_programs_that_use_the_proxies_work_and_the_lack_is_told(self):
        ended = self.cell(self.WWW, ["curl", "-sSf", self.URL], through=self.through)
        self.assert_works(ended, harness.TEXT)
        told = [one for one in ended.result["degradations"] if one["field"] == "network"]
        self.assertIn("no nftables", told[0]["reason"] + told[0]["effect"])
        self.assertRegex(ended.said, r"weaker: network: .*\(this kernel has no nftables\)")

    def test_rules_hold_at_the_proxies(self):
        ended = self.cell(self.WWW, ["curl", "-sSf", "http://api.harbor.test/text"],
                          through=self.through)
        self.assert_refused(ended, "api.harbor.test")

    def test_what_is_told_of_it_is_not_told_before_its_turn(self):
        """The thread that finds the lack is faster than the mounts, now and then: each cell starts."""
        def one(_):
            return self.cell(self.WWW, ["echo", "started"], through=self.through)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for ended in pool.map(one, range(80)):
                self.assert_works(ended, "started\n")
                self.assertIn("this kernel has no nftables", ended.said)

    def test_other_programs_reach_nothing_and_do_not_hang(self):
        command = [*harness.WITHOUT_PROXIES, "curl", "-sSf", self.URL]
        ended = self.cell(self.WWW, command, through=self.through)
        self.assertNotEqual(ended.code, 0, ended)
        self.assert_quick(ended)
        self.assert_works(self.cell(self.WWW, command), harness.TEXT)  # with nftables it is reached
