"""Whether a thread waits for another one, where no Python frame tells.

`lock.acquire()` and `SimpleQueue.get()` are C functions, as is `time.sleep`. Linux says in
`/proc/self/task/…/syscall` which system call a thread is in: to wait for another thread it is
`futex`. Threads that compute are in it, too, whenever they wait for their turn of the interpreter.
So a wait counts only if the thread has not run at all since it was looked at before.
"""

import os
import platform
import sys
from contextlib import suppress

FUTEX = {"x86_64": b"202", "aarch64": b"98", "riscv64": b"98", "s390x": b"238", "ppc64le": b"221"}
"""The number of the system call in which a thread waits for another one, by machine."""
LONGEST = 256
"""No longer are the texts to read, in bytes."""


class LockWaits:
    """Looks at one thread of this process; the first look tells nothing."""

    def __init__(self, native_id: int) -> None:
        self._futex = FUTEX.get(platform.machine(), b"") + b" "
        self._files: list[tuple[int, os.stat_result]] = []
        self._ran = b""
        """How long and how often the thread had run by the last look."""
        if sys.platform != "linux" or self._futex == b" ":
            return
        with suppress(OSError):  # other systems pass for Linux, and /proc can be hidden
            for name in ("schedstat", "syscall"):
                file = os.open(f"/proc/self/task/{native_id}/{name}", os.O_RDONLY | os.O_CLOEXEC)
                self._files.append((file, os.fstat(file)))

    def look(self) -> bool:
        """Return whether the thread has done nothing but wait for another since the last look."""
        if len(self._files) < 2:
            return False
        (schedule, _), (call, _) = self._files
        try:
            before, self._ran = self._ran, os.pread(schedule, LONGEST, 0)
            is_still = self._ran == before and not before.startswith(b"0 ")  # 0: not recorded
            return is_still and os.pread(call, LONGEST, 0).startswith(self._futex)
        except OSError:  # the thread has ended, or the cell has closed the files
            self.close()
            return False

    def close(self) -> None:
        """Close the files, unless the cell has closed them and their numbers are others' now."""
        for file, opened in self._files:
            with suppress(OSError):
                if os.path.samestat(os.fstat(file), opened):
                    os.close(file)
        self._files = []
