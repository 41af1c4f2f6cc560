"""Record which graphs v1 sessions run during a cell, and when."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from nbprof.arrays import NONE
from nbprof.capture.capture import Model, SessionLog, session_group
from nbprof.capture.compat import definitions


class SessionWatch:
    """Remembers the graphs that sessions run, and looks up their definitions by name.

    `site_of` numbers the lines of the user's that lead to a frame; None if nobody wants them.
    """

    def __init__(self, site_of: Callable[[FrameType], int] | None) -> None:
        self._site_of = site_of
        self._graphs: list[Any] = []
        self._runs: list[tuple[int, int, int]] = []
        self._library: dict[str, Any] | None = None

    def about_to_run(self, graph: Any) -> None:
        """Note that a session is about to run a graph; called by the hook in that session."""
        if graph not in self._graphs:
            self._graphs.append(graph)
        site = self._site_of(_frame_of_session()) if self._site_of else NONE
        self._runs.append((time.time_ns(), self._graphs.index(graph), site))

    def log(self) -> SessionLog:
        """Return the runs, in order of time."""
        runs = np.array(self._runs, dtype=np.int64).reshape(-1, 3)
        start_ns, graph, site = runs[np.argsort(runs[:, 0], kind="stable")].T
        return SessionLog(start_ns=start_ns, graph=graph, site=site)

    def function_def(self, name: str) -> Any:
        """Return a graph, or a function from a graph's library, as a FunctionDef, or None."""
        graph = self.graph(name)
        if graph is not None:
            return definitions.graph_as_function(graph)
        if self._library is None:
            self._library = {}
            for graph in self._graphs:
                self._library.update(definitions.functions_of_graph(graph))
        return self._library.get(name)

    def add_variables(self, model: Model) -> Model:
        """Add the variables of all graphs to a model."""
        variables = list(model.variables)
        arguments = dict(model.arguments)
        for number, graph in enumerate(self._graphs):
            found = definitions.graph_variables(graph)
            numbers = range(len(variables), len(variables) + len(found))
            names = (variable.name for variable in found)
            arguments[session_group(number)] = dict(zip(names, numbers, strict=True))
            variables += found
        used = (*model.used, *range(len(model.variables), len(variables)))
        return replace(model, variables=tuple(variables), arguments=arguments, used=used)

    def graph(self, name: str) -> Any:
        """Return the graph that is listed under a name, or None."""
        for number, graph in enumerate(self._graphs):
            if name == session_group(number):
                return graph
        return None


def _frame_of_session() -> FrameType:
    """Return the innermost frame that is not nbprof's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("nbprof."):
        frame = frame.f_back
    return frame
