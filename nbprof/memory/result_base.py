"""What all results about memory have in common."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    import pandas as pd


class Shown:
    """A result with a frame, which is the thing itself, and a text, which shows it."""

    @property
    def frame(self) -> "pd.DataFrame":
        """The thing itself, amounts in bytes."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The report."""
        raise NotImplementedError

    @property
    def in_a_line(self) -> str:
        """What a magic prints of a result that it returns with -o: nothing."""
        return ""

    def to_csv(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame as CSV, one header line, bytes."""
        from nbprof.export import whole_file

        with whole_file.whole_file(path) as file:
            self.frame.to_csv(file, index=False, lineterminator="\n")

    def __repr__(self) -> str:
        return self.text
