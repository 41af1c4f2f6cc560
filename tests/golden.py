"""Compare what a user would see with a file a reviewer can read (`--update-golden` rewrites it)."""

from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


class Golden:
    def __init__(self, update: bool):
        self.update = update

    def check(self, name: str, text: str) -> None:
        file = FOLDER / name
        if self.update:
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), f"{name} differs: see --update-golden"
