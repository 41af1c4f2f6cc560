"""Make the page for PyPI from README.md; hatchling runs this when it builds a wheel or sdist.

PyPI does not have the repository's files, so what leads to them is left out.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^]]*\]\((?!https?:)[^)]*\)\n+", re.MULTILINE)
LINK = re.compile(r"\[([^]]*)\]\((?!https?:)[^)]*\)")
READ_ON = re.compile(r"^## Read on\n.*?\n(?=\S[^\n]*BSD)", re.MULTILINE | re.DOTALL)


class PypiPage(MetadataHookInterface):
    """Put the page into the metadata."""

    def update(self, metadata):
        """Set the field `readme`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": pypi_page(text)}


def pypi_page(text):
    """Return the README without pictures, links and the list of pages of the repository."""
    return LINK.sub(r"\1", READ_ON.sub("", PICTURE.sub("", text)))
