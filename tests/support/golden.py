"""Compare what users see with files that reviewers can read; `--update-golden` rewrites them."""

from support.paths import GOLDEN


class Golden:
    def __init__(self, update: bool):
        self.update = update

    def check(self, name: str, text: str) -> None:
        file = GOLDEN / name
        if self.update:
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), f"{name} differs: see --update-golden"
