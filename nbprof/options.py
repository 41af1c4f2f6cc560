"""`ViewOptions`: what a user asks of a view, checked against the options in `FLAGS`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nbprof.columns import TOTAL
from nbprof.errors import NbprofError
from nbprof.flag_values import EVERYTHING, PRESETS, Output, metric_names
from nbprof.flags import unknown_flag, view_options
from nbprof.view_kinds import VIEWS

__all__ = ["EVERYTHING", "Output", "ViewOptions", "check_output"]

TFPROF_SELECTED = ("bytes", "micros", "occurrence")
"""The columns of tfprof's inputs that are shown if none are selected."""


@dataclass(frozen=True)
class ViewOptions:
    """The options of one view, checked; defaults are those of a captured cell."""

    max_depth: int = 100
    order_by: str = ""
    """The column to sort by; empty: the view's own."""
    select: tuple[str, ...] | None = None
    """The columns to show. None means the view's own for a recorded cell and those of
    `TFPROF_SELECTED` for tfprof's inputs."""
    step: int | Literal["all"] | None = None
    """The number of a step, -1 for the average over the steps in which a node ran, or `all` for
    their sum. None means `all` for a recorded cell and -1 for tfprof's inputs."""
    account_type_regexes: tuple[str, ...] = EVERYTHING
    start_name_regexes: tuple[str, ...] = EVERYTHING
    trim_name_regexes: tuple[str, ...] = ()
    show_name_regexes: tuple[str, ...] = EVERYTHING
    hide_name_regexes: tuple[str, ...] = ()
    account_displayed_op_only: bool = False
    output: Output = field(default_factory=Output)
    frames: Literal["user", "all"] = "user"
    """Whether the code view shows only the user's frames or also those of installed packages."""
    minimum: Mapping[str, float] = field(default_factory=dict)
    """The lowest value to show, by column, from the `-min_*` options."""

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> "ViewOptions":
        """Parse `{option: value}`, values typed or from Python; raise NbprofError for a bad one."""
        known = view_options()
        for name in given:
            if name not in known:
                raise unknown_flag(name, known)
        parsed = {name: known[name].parse(value) for name, value in with_preset(given).items()}
        minimum = {
            name.removeprefix("min_"): parsed.pop(name)
            for name in list(parsed)
            if name.startswith("min_")
        }
        return cls(**parsed, minimum=minimum)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to show; none before the view's own are known."""
        return self.select or ()

    def uses(self, column: str) -> bool:
        """Return whether a column is shown, sorted by or given a minimum."""
        return column in (*self.columns, self.order_by.removeprefix(TOTAL), *self.minimum)


def with_preset(given: Mapping[str, object]) -> dict[str, Any]:
    """Replace `preset` with the options it stands for; options given explicitly win."""
    options = dict(given)
    if "preset" not in options:
        return options
    name = view_options()["preset"].parse(options.pop("preset"))
    return {**PRESETS[name], **options}


def check_output(view: str, options: ViewOptions) -> None:
    """Raise NbprofError if this view does not support the output."""
    kind = options.output.kind
    if kind == "timeline" and not VIEWS[view].has_timeline:
        supported = ", ".join(name for name, other in VIEWS.items() if other.has_timeline)
        raise NbprofError(f"the {view} view has no timeline; these have one: {supported}.")
    if kind != "pprof":
        return
    if not VIEWS[view].has_pprof:
        supported = ", ".join(name for name, other in VIEWS.items() if other.has_pprof)
        raise NbprofError(f"the {view} view has no pprof output; these have one: {supported}.")
    columns = [name for name in metric_names() if name != "occurrence"]
    selected = VIEWS[view].select if options.select is None else options.select
    if len(selected) != 1 or selected[0] not in columns:
        raise NbprofError(
            f"-output pprof needs exactly one column, -select {' or '.join(columns)}; "
            f"not {','.join(selected) or 'none'}."
        )
