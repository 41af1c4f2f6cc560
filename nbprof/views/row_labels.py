"""The texts beside the numbers of a row: devices, op types, shapes."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.columns import COLUMNS
from nbprof.views.measure import chosen_events, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbprof._profile import Profile
    from nbprof.views.measure import Groups, Members, Step


class Labels:
    """The texts of a view's rows; `group` is the row of each of its members."""

    def __init__(
        self,
        profile: "Profile",
        step: "Step | None",
        members: "Members",
        group: "Groups",
        without_members: "Mapping[str, str] | None" = None,
        are_nodes: bool = True,
    ) -> None:
        self._profile = profile
        self._without_members = without_members or {}
        self._step = step
        self._members = members
        self._group = group
        self._are_nodes = are_nodes
        """Whether rows are nodes; layers and lines only contain nodes."""

    @property
    def members(self) -> "tuple[Groups, Groups]":
        """The node of each member, and the row it belongs to."""
        return self._members.node, self._group

    @property
    def of_event(self) -> "Groups":
        """The member that each event belongs to."""
        return self._members.of_event

    def of(self, name: str) -> Callable[[int], Any]:
        """Return a function that maps a row's number to its text in a column."""
        column = COLUMNS.get(name)
        if column is None:  # the label of a column of numbers
            labels = self._single_values(name) if self._are_nodes else {}
            return lambda row: labels.get(row, "")
        if column.shows == "shapes":
            shapes = self._input_shapes()
            return lambda row: shapes.get(row, [])
        if column.shows == "lines":
            values = self._values()
            return lambda row: values.get(row, "")
        words = self._words(column.words_of)
        joined = {row: "|".join(sorted(found)) for row, found in words.items()}
        nothing = self._without_members.get(name)
        return lambda row: joined.get(row, nothing)

    def _values(self) -> dict[int, str]:
        """Return the value that a checkpoint has for the variable of each row, as text."""
        values = self._profile.values
        texts = dict(zip(values["node"].tolist(), values["text"], strict=True))
        return {row: texts[node] for row, node in self._pairs() if node in texts}

    def _words(self, names: tuple[str, ...]) -> dict[int, set[str]]:
        """Collect the words of each row's nodes from some columns of `nodes`.

        An empty word of the first column counts, as in tfprof: a node that never ran has an empty
        device.
        """
        columns = [
            self._words_of_nodes(name, keep_empty=name == names[0])
            for name in names
            if name == "types" or name in self._profile.nodes
        ]
        words: dict[int, set[str]] = defaultdict(set)
        for row, node in self._pairs():
            found = words[row]
            for column in columns:
                found.update(column[node])
        return words

    def _words_of_nodes(self, name: str, keep_empty: bool) -> list[Sequence[str]]:
        """Return the words that each node has in a column of `nodes`."""
        if name == "types":
            return self._profile.types.tolist()
        texts = self._profile.nodes[name].tolist()
        words = {text: text.split("|") if name == "device" else [text] for text in set(texts)}
        if not keep_empty:
            words = {text: [word for word in found if word] for text, found in words.items()}
        return [words[text] for text in texts]

    def _pairs(self) -> "zip[tuple[int, int]]":
        return zip(self._group.tolist(), self._members.node.tolist(), strict=True)

    def _single_values(self, name: str) -> dict[int, str]:
        """Return the text of each row that has exactly one node with a text in a `nodes` column."""
        texts = self._profile.nodes[name].tolist()
        found: dict[int, list[str]] = defaultdict(list)
        for row, node in self._pairs():
            if texts[node]:
                found[row].append(texts[node])
        return {row: values[0] for row, values in found.items() if len(values) == 1}

    def _input_shapes(self) -> dict[int, list[dict[str, Any]]]:
        """List each row's shapes with runs, nodes and µs, the most often run first."""
        found = (
            self._shapes_in_graph() if self._profile.recording.tfprof else self._shapes_of_runs()
        )
        for entries in found.values():
            entries.sort(key=lambda entry: (-entry["run_count"], entry["shapes"]))
        return found

    def _shapes_in_graph(self) -> dict[int, list[dict[str, Any]]]:
        """Take the shapes of a node's inputs from the graph."""
        texts: dict[int, list[str]] = defaultdict(list)
        inputs = self._profile.inputs
        for node, shape in zip(inputs["node"].tolist(), inputs["shape"], strict=True):
            texts[node].append(shape)
        metrics = measure(self._profile, self._step, self._members)
        found: dict[int, dict[tuple[str, ...], dict[str, Any]]] = defaultdict(dict)
        numbers = zip(metrics["run_count"].tolist(), metrics["micros"].tolist(), strict=True)
        for (row, node), (runs, micros) in zip(self._pairs(), numbers, strict=True):
            shapes = tuple(texts.get(node, ()))
            new = {"shapes": list(shapes), "run_count": 0, "defined_count": 0, "micros": 0.0}
            entry = found[row].setdefault(shapes, new)
            entry["run_count"] += int(runs)
            entry["defined_count"] += 1
            entry["micros"] += micros
        return {row: list(entries.values()) for row, entries in found.items()}

    def _shapes_of_runs(self) -> dict[int, list[dict[str, Any]]]:
        """Take the shapes that each run had."""
        events = chosen_events(self._profile, self._step)
        row = self._group[self._members.of_event[events.index.to_numpy()]]
        own = events["self_ns"].to_numpy(np.float64)
        if "fused" in self._profile.nodes:
            own = np.where(self._profile.nodes["fused"].to_numpy(bool)[events["node"]], np.nan, own)
        by_shapes = events.assign(own=own).groupby([row, events["input_shapes"].to_numpy()])
        groups = by_shapes.agg(run_count=("is_run", "sum"), defined_count=("node", "nunique"))
        groups["self_ns"] = by_shapes["own"].sum(min_count=1)  # NaN if no run has a time
        found: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for (number, shapes), runs, defined, ns in groups.itertuples(name=None):
            found[number].append(
                {
                    "shapes": list(self._profile.shapes["shapes"].iloc[shapes]),
                    "run_count": int(runs),
                    "defined_count": int(defined),
                    "micros": ns / 1e3,
                }
            )
        return found
