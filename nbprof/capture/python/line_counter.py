"""Count the lines that the cell's thread runs, and how long they take."""

import sys
from collections.abc import Iterable
from types import CodeType

from nbprof.capture.python.line_book import LineBook
from nbprof.capture.python.line_engines import REPLACED, Engine, Monitoring, Settrace, block_frame
from nbprof.capture.python.line_log import LineLog
from nbprof.capture.python.watch import where


class LineCounter:
    """Counts lines between `resume` and `pause`."""

    def __init__(self, files: Iterable[str], codes: Iterable[CodeType]) -> None:
        block = block_frame()
        around = () if block is None else (block.f_code.co_filename,)
        self._book = LineBook((*files, *around), codes)
        has_monitoring = sys.version_info >= (3, 12)
        self._engine: Engine = Monitoring(self._book) if has_monitoring else Settrace(self._book)
        self._notes: list[str] = []
        self._on = False
        self._line = self._line_before = 0

    def start(self) -> None:
        """Refuse to count where no place is left."""
        self._engine.start()

    def resume(self, line: int) -> None:
        """Count from here on, unless the cell has set a trace function of its own."""
        if self._notes or self._on:
            return
        self._line_before, self._line = self._line, line
        self._on = True
        self._engine.resume()

    def pause(self) -> None:
        """Count no more until the next `resume`."""
        if not self._on:
            return
        self._on = False
        if not self._engine.pause():
            self._notes.append(REPLACED.format(place=where(self._line)))

    def stop(self) -> None:
        """Switch everything off."""
        self.pause()
        self._engine.stop()

    def log(self) -> LineLog:
        """Return what was counted."""
        return self._book.log(tuple(self._notes))
