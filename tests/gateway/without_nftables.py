"""without_nftables.py PROGRAM [WORD]...: runs it as a kernel without nftables would.

The kernel at hand has nftables, so the socket by which it would be spoken to is refused by a filter,
with the error of a kernel that doesn't know it.
"""
import ctypes
import errno
import os
import struct
import sys

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

if LIBC.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or LIBC.prctl(SET_SECCOMP, FILTER, FILTER_PROGRAM):
    raise OSError(ctypes.get_errno(), "no filter")
os.execv(sys.argv[1], sys.argv[1:])
