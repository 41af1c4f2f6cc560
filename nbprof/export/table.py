"""A View's frame as a table file."""

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from nbprof.views.view import View


def write_csv(view: "View", file: BinaryIO) -> None:
    """Write UTF-8 CSV with one header line and raw numbers; not recorded is an empty field."""
    view.frame.to_csv(file, index=False, lineterminator="\n")
