"""What stands beside the numbers of a row: devices, op types, shapes."""

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbprof.views.measure import chosen_events

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.measure import Groups, Members, Step

TRAINABLE = "_trainable_variables"
"""tfprof's type of the variables that a model learns."""


class Labels:
    """The labels of the rows of a view; `group` is the row of each of its members."""

    def __init__(
        self, profile: "Profile", step: "Step", members: "Members", group: "Groups"
    ) -> None:
        self._profile = profile
        self._step = step
        self._members = members
        self._group = group

    def of(self, name: str) -> Callable[[int], Any]:
        """Give the function from a row's number to its label."""
        if name == "input_shapes":
            shapes = self._input_shapes()
            return lambda row: shapes.get(row, [])
        if name == "shape":
            variables = self._shapes_of_variables()
            return lambda row: variables.get(row, "")
        nodes = self._profile.nodes
        texts: list[list[str]] = [nodes["device" if name == "op_types" else name].tolist()]
        if name == "op_types":
            texts += [
                nodes["op_type"].tolist(),
                [TRAINABLE if trainable else "" for trainable in nodes["trainable"]],
            ]
        words: dict[int, set[str]] = defaultdict(set)
        for row, node in self._pairs():
            words[row].update(text[node] for text in texts)
        joined = {row: "|".join(sorted(found - {""})) for row, found in words.items()}
        return lambda row: joined.get(row, "")

    def _pairs(self) -> "zip[tuple[int, int]]":
        return zip(self._group.tolist(), self._members.node.tolist(), strict=True)

    def _shapes_of_variables(self) -> dict[int, str]:
        """Give the shape of the variable of each row, where it is the only one."""
        texts = self._profile.nodes["shape"].tolist()
        found: dict[int, list[str]] = defaultdict(list)
        for row, node in self._pairs():
            if texts[node]:
                found[row].append(texts[node])
        return {row: shapes[0] for row, shapes in found.items() if len(shapes) == 1}

    def _input_shapes(self) -> dict[int, list[dict[str, Any]]]:
        """List each row's shapes, run counts, nodes and time; the most often run first."""
        events = chosen_events(self._profile, self._step)
        row = self._group[self._members.of_event[events.index.to_numpy()]]
        groups = events.groupby([row, events["input_shapes"].to_numpy()]).agg(
            run_count=("is_run", "sum"),
            defined_count=("node", "nunique"),
            self_ns=("self_ns", "sum"),
        )
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
        for entries in found.values():
            entries.sort(key=lambda entry: (-entry["run_count"], entry["shapes"]))
        return found
