"""Open and close the windows of a trace, each of them a session of TensorFlow's profiler."""

import time
from contextlib import ExitStack
from pathlib import Path
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.capture.budget import Window
from nbprof.capture.capture import Pauses, TraceWindow
from nbprof.capture.compat import profiler_session, switches
from nbprof.capture.dispatch import DispatchWatch

if TYPE_CHECKING:
    from nbprof.capture.tracing import ProcessMemory


class Tracer:
    """Traces windows of a cell; everything that costs time is off outside of them."""

    def __init__(self, watch: DispatchWatch, memory: "ProcessMemory", *, light: bool) -> None:
        self.lock = RLock()
        """Held while a window is opened or closed."""
        self.window: Window | None = None
        """The open window."""
        self.windows: list[TraceWindow] = []
        self.has_memory = False
        self.problem = ""
        """Why a window could not be opened or closed, empty if all could."""
        self.held = memory.held
        self._watch = watch
        self._release = memory.release
        self._left_out = memory.left_out
        self._light = light
        self._thread = get_ident()
        self._folder = Path()
        self._session: Any = None
        self._marks: tuple[tuple[int, int], ...] = ()
        self._switches = ExitStack()
        self._opened_ns = 0
        self._paused_ns = 0
        self._pauses: list[tuple[int, int]] = []

    def use(self, folder: str) -> None:
        """Write traces into a folder."""
        self._folder = Path(folder)

    def open(self) -> None:
        """Open a window; raise what `start_session` raises."""
        with self.lock:
            folder = self._folder / str(len(self.windows))
            folder.mkdir(exist_ok=True)
            with ExitStack() as opening:
                if not self._light:
                    self.has_memory = opening.enter_context(switches.allocations_recorded())
                session = profiler_session.start_session(str(folder), every_run=not self._light)
                opening.callback(self._drop)
                self._session = session
                self._marks = profiler_session.mark_thread(get_ident() == self._thread)
                if not self._light:
                    opening.enter_context(self._watch.watched())
                self._switches = opening.pop_all()
            self.window = Window(began=time.perf_counter(), held=self.held())
            self._opened_ns = time.time_ns()

    def close(self) -> int:
        """Write the open window and return the size of its events in bytes; -1 if that failed."""
        with self.lock, self._left_out():
            ended_ns = time.time_ns()
            session, self._session, self.window = self._session, None, None
            folder = self._folder / str(len(self.windows))
            try:
                trace = profiler_session.export_session(session, folder)
            except profiler_session.NoProfilerError as error:
                self.problem = str(error)
                return -1
            finally:
                self._switches.close()
            size = profiler_session.event_bytes(trace)
            self.windows.append(
                TraceWindow(
                    trace=trace,
                    event_bytes=size,
                    began_ns=self._opened_ns - self._paused_ns,
                    ended_ns=ended_ns - self._paused_ns,
                    paused_ns=self._paused_ns,
                    marks=self._marks,
                )
            )
            self._release()
            return size

    def pause(self, start_ns: int) -> None:
        """Note that the cell has waited from that moment until now."""
        end_ns = time.time_ns()
        self._pauses.append((start_ns, end_ns))
        self._paused_ns += end_ns - start_ns

    @property
    def pauses(self) -> Pauses:
        """When the cell waited."""
        start_ns, end_ns = np.array(self._pauses, dtype=np.int64).reshape(-1, 2).T
        return Pauses(start_ns=start_ns, end_ns=end_ns)

    def abandon(self) -> None:
        """Switch everything off, and drop what the open window has recorded."""
        with self.lock:
            self.window = None
            self._switches.close()

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            profiler_session.drop_session(session)
