"""The processes that this one has started, and what they hold."""

import os
import sys
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def held_by_children() -> int | None:
    """Add up what all descendants hold in RAM, in bytes; None where there are none.

    Pages that several of them share count for each.
    """
    sizes = _of_linux() if sys.platform == "linux" else None
    if sizes is None:
        sizes = _by_psutil()
    return sum(sizes) if sizes else None


def _of_linux() -> list[int] | None:
    """Follow the lists that Linux keeps, in a tenth of psutil's time; None where it keeps none."""
    sizes: list[int] = []
    parents = ["self"]
    while parents:
        parent = parents.pop()
        try:
            threads = Path(f"/proc/{parent}/task").iterdir()
            found = [
                child
                for thread in threads
                for child in (thread / "children").read_bytes().decode().split()
            ]
        except OSError:
            if parent == "self":
                return None
            continue  # it has ended meanwhile
        for child in found:
            try:
                sizes.append(int(Path(f"/proc/{child}/statm").read_bytes().split()[1]) * _PAGE)
            except (OSError, IndexError):
                continue
            parents.append(child)
    return sizes


def _by_psutil() -> list[int]:
    import psutil

    sizes: list[int] = []
    for child in psutil.Process().children(recursive=True):
        try:
            sizes.append(child.memory_info().rss)
        except psutil.Error:
            continue
    return sizes
