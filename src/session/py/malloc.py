"""Huge pages for what malloc(3) maps, from its first byte on.

glibc would ask for them by itself (glibc.malloc.hugetlb=1) if it found the kernel's setting below /sys,
which a cell doesn't have. No function sets it: the size of a huge page is a field of malloc's parameters
(`mp_`, glibc 2.35 and later) in libc's data. So it is written there, once, before there is user code, and
only if the field is found beyond doubt: its neighbours on both sides are set to numbers of ours by
mallopt(3), and each must then be where it belongs. Anything else is left as it was, and the gatherer
(pages.py) does later, at a price, what it can.
"""

from _struct import Struct
from os import sysconf

from pages import HUGE, SMALL, libc, read_text

# How struct malloc_par begins: trim_threshold, top_pad, mmap_threshold, arena_test, arena_max; then
# thp_pagesize, hp_pagesize; hp_flags, n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold.
PARAMETERS = Struct("@5N2N5i")
MARKED, HUGE_PAGE, MOST_MAPS, IS_FIXED = slice(0, 40), 40, 64, 72  # where they are, in bytes
MARKS = (0x51003, 0x21005, 0x29007, 11, 13)  # near what they were: malloc goes by them meanwhile
NUMBERS = (-1, -2, -3, -7, -8, -4)  # of mallopt(3): those five, and n_mmaps_max
MARK_OF_MAPS = 65521
MOST_DATA = 1 << 20


def ask_for_huge_pages():
    """Whether malloc asks for them from now on."""
    if libc is None or sysconf("SC_PAGESIZE") != SMALL or PARAMETERS.size != 76:
        return False
    try:
        from ctypes import memmove, string_at

        start, size = data_of_libc()
        before = string_at(start, size)
        for number, mark in zip(NUMBERS, (*MARKS, MARK_OF_MAPS)):
            libc.mallopt(number, mark)
        after = string_at(start, size)
        at = after.find(Struct("@5N").pack(*MARKS))
        if at < 0 or at + PARAMETERS.size > size:
            return False
        old = before[at:at + PARAMETERS.size]
        is_found = is_malloc_par(PARAMETERS.unpack_from(after, at))
        for place, data in (
                (0, old[MARKED]), (MOST_MAPS, old[MOST_MAPS:MOST_MAPS + 4]),
                (IS_FIXED, old[IS_FIXED:IS_FIXED + 4]), (HUGE_PAGE, Struct("@N").pack(HUGE))):
            if place == 0 or is_found:
                memmove(start + at + place, data, len(data))
        return is_found
    except (OSError, ValueError, AttributeError):
        return False


def is_malloc_par(fields):
    """As it is from glibc 2.35 on, after our marks: the limit of maps where it belongs, none of them in
    hugetlbfs, and the threshold fixed, which mallopt does with any of them."""
    return fields[5] in (0, HUGE) and fields[6:8] == (0, 0) and fields[9] == MARK_OF_MAPS and fields[11] == 1


def data_of_libc():
    """Where its variables are, and how many bytes."""
    for line in read_text("/proc/self/maps").splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[1] == "rw-p" and fields[5].endswith("/libc.so.6"):
            start, end = (int(number, 16) for number in fields[0].split("-"))
            return start, min(end - start, MOST_DATA)
    raise ValueError
