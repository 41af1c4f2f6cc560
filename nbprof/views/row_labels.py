"""What stands beside the numbers of a row: devices, op types, shapes."""

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbprof.views.measure import chosen_events, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbprof._profile import Profile
    from nbprof.views.measure import Groups, Members, Step


class Labels:
    """The labels of the rows of a view; `group` is the row of each of its members."""

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
        """Whether a row is a node, perhaps a variable, and not only a place for some."""

    @property
    def members(self) -> "tuple[Groups, Groups]":
        """The node of each member, and the row it belongs to."""
        return self._members.node, self._group

    @property
    def of_event(self) -> "Groups":
        """The member that each event belongs to."""
        return self._members.of_event

    def of(self, name: str) -> Callable[[int], Any]:
        """Give the function from a row's number to its label."""
        if name == "input_shapes":
            shapes = self._input_shapes()
            return lambda row: shapes.get(row, [])
        if name == "tensor_value":
            values = self._values()
            return lambda row: values.get(row, "")
        if name == "shape":
            variables = self._shapes_of_variables() if self._are_nodes else {}
            return lambda row: variables.get(row, "")
        words = self._types() if name == "op_types" else self._devices()
        joined = {row: "|".join(sorted(found)) for row, found in words.items()}
        nothing = self._without_members.get(name)
        return lambda row: joined.get(row, nothing)

    def _values(self) -> dict[int, str]:
        """Give the text of the value that a checkpoint has for a row's variable."""
        values = self._profile.values
        texts = dict(zip(values["node"].tolist(), values["text"], strict=True))
        return {row: texts[node] for row, node in self._pairs() if node in texts}

    def _devices(self) -> dict[int, set[str]]:
        """Collect the devices of each row; nodes that never ran have an empty one, as in tfprof."""
        devices = self._profile.nodes["device"].tolist()
        words: dict[int, set[str]] = defaultdict(set)
        for row, node in self._pairs():
            words[row].update(devices[node].split("|"))
        return words

    def _types(self) -> dict[int, set[str]]:
        nodes = self._profile.nodes
        columns = [
            nodes["op_type"].tolist(),
            nodes["device"].tolist(),
            self._profile.types.tolist(),
        ]
        words: dict[int, set[str]] = defaultdict(set)
        for row, node in self._pairs():
            op_type, device, types = (column[node] for column in columns)
            words[row].update((op_type, *types, *filter(None, device.split("|"))))
        return words

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
        known = self._of_graph() if self._profile.recording.tfprof else self._of_runs()
        for entries in known.values():
            entries.sort(key=lambda entry: (-entry["run_count"], entry["shapes"]))
        return known

    def _of_graph(self) -> dict[int, list[dict[str, Any]]]:
        """Give every node the shapes that the graph has for its inputs."""
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

    def _of_runs(self) -> dict[int, list[dict[str, Any]]]:
        """Give every run the shapes it had."""
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
        return found
