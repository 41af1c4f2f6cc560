"""What all results about memory have in common."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    import pandas as pd


class Result:
    """A result about memory: `frame` holds its numbers, `text` is the report."""

    @property
    def frame(self) -> "pd.DataFrame":
        """The numbers, in bytes."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The report."""
        raise NotImplementedError

    @property
    def in_a_line(self) -> str:
        """What a magic prints when `-o` returns the result: nothing."""
        return ""

    def to_csv(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame to a CSV file with one header line, amounts in bytes."""
        from nbprof.export import whole_file

        with whole_file.whole_file(path) as file:
            self.frame.to_csv(file, index=False, lineterminator="\n")

    def __repr__(self) -> str:
        return self.text
