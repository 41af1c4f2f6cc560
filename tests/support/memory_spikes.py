"""Memory that is taken and returned: a given size, for a given time, with or without the GIL.

Benchmarks and scripts in other processes import this, so it needs nothing but Python.
"""

import ctypes
import mmap
import sys

MIB = 2**20
READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
PRIVATE_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def spike(size=200 * MIB, milliseconds=1.0, lock_held=False):
    """Touch `size` bytes, hold them for a while, and return them to the system.

    With `lock_held` no other Python thread runs in between, as in one long call of a library that
    keeps the GIL.
    """
    usual = sys.getswitchinterval()
    if lock_held:
        sys.setswitchinterval(1000)
    try:
        _spike(ctypes.PyDLL(None) if lock_held else ctypes.CDLL(None), size, milliseconds)
    finally:
        sys.setswitchinterval(usual)


def _spike(library, size, milliseconds):
    library.mmap.restype = ctypes.c_void_p
    length = ctypes.c_size_t(size)
    address = ctypes.c_void_p(library.mmap(None, length, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0))
    library.memset(address, 1, length)
    library.usleep(ctypes.c_uint(int(milliseconds * 1000)))
    library.munmap(address, length)
