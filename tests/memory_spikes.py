"""Memory that comes and goes: so many bytes for so many milliseconds, with Python's lock or not."""

import ctypes
import mmap
import time
from contextlib import suppress

MIB = 2**20


def spike(size=200 * MIB, milliseconds=1.0, lock_held=False):
    """Touch `size` bytes, hold them for a while, and give them back."""
    library = ctypes.PyDLL(None) if lock_held else ctypes.CDLL(None)
    memory = mmap.mmap(-1, size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    library.memset(ctypes.c_void_p(address), 1, ctypes.c_size_t(size))
    if lock_held:
        library.usleep(ctypes.c_uint(int(milliseconds * 1000)))
    else:
        time.sleep(milliseconds / 1000)
    with suppress(BufferError):  # the address keeps it; it goes with this frame
        memory.close()
