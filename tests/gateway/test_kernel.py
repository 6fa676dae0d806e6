"""A kernel without nftables: the proxies remain, everything else reaches nothing, and that is told.

The kernel at hand has nftables, so caisson is started with a filter that refuses the socket by which
it would be spoken to, with the error of a kernel that doesn't know it.
"""
import ctypes
import errno
import os
import struct

import harness

LIBC = ctypes.CDLL(None, use_errno=True)
SOCKET = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
AF_NETLINK, NETLINK_NETFILTER = 16, 12
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7fff0000, 0x00050000 | errno.EPROTONOSUPPORT
FIRST_WORD, THIRD_WORD = 16, 32  # of the call's arguments, in struct seccomp_data

PROGRAM = b"".join(struct.pack("HBBI", *line) for line in (
    (LOAD, 0, 0, 0), (EQUAL, 0, 5, SOCKET),
    (LOAD, 0, 0, FIRST_WORD), (EQUAL, 0, 3, AF_NETLINK),
    (LOAD, 0, 0, THIRD_WORD), (EQUAL, 0, 1, NETLINK_NETFILTER),
    (RETURN, 0, 0, FAIL), (RETURN, 0, 0, ALLOW)))
LINES = ctypes.create_string_buffer(PROGRAM, len(PROGRAM))
FILTER_PROGRAM = ctypes.create_string_buffer(
    struct.pack("HxxxxxxP", len(PROGRAM) // 8, ctypes.addressof(LINES)))


def without_nftables():
    if LIBC.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or LIBC.prctl(SET_SECCOMP, FILTER, FILTER_PROGRAM):
        raise OSError(ctypes.get_errno(), "no filter")


class WithoutNftables(harness.GatewayTest):
    WWW = ["--allow-domain", "www.harbor.test"]
    URL = "http://www.harbor.test/text"

    def test_programs_that_use_the_proxies_work_and_the_lack_is_told(self):
        ended = self.cell(self.WWW, ["curl", "-sSf", self.URL], preexec_fn=without_nftables)
        self.assert_works(ended, harness.TEXT)
        told = [one for one in ended.result["degradations"] if one["field"] == "network"]
        self.assertIn("no nftables", told[0]["reason"] + told[0]["effect"])
        self.assertRegex(ended.said, r"weaker: network: .*\(this kernel has no nftables\)")

    def test_rules_hold_at_the_proxies(self):
        ended = self.cell(self.WWW, ["curl", "-sSf", "http://api.harbor.test/text"],
                          preexec_fn=without_nftables)
        self.assert_refused(ended, "api.harbor.test")

    def test_other_programs_reach_nothing_and_do_not_hang(self):
        command = [*harness.WITHOUT_PROXIES, "curl", "-sSf", self.URL]
        ended = self.cell(self.WWW, command, preexec_fn=without_nftables)
        self.assertNotEqual(ended.code, 0, ended)
        self.assert_quick(ended)
        self.assert_works(self.cell(self.WWW, command), harness.TEXT)  # with nftables it is reached
