"""Write the examples on the pages: `python docs/make_examples.py` profiles a small program again.

A page marks an example with `<!-- example: LINE -->` and `<!-- end -->`: this script runs the
program below in an IPython shell, then LINE, and writes its report in between. A line that begins
with `%%` profiles the small program in plain Python instead. A picture follows
`<!-- picture: CALL -->`, the call that draws it.
"""

import json
import os
import re
import sys
from pathlib import Path

PAGES = Path(__file__).parent
EXAMPLE = re.compile(
    r"(<!-- example: (%tfprof .*?|%%pyprof .*?) -->\n).*?(<!-- end -->)", re.DOTALL
)
PICTURE = re.compile(r"<!-- picture: (.*?) -->\n!\[.*?\]\((.*?)\)")

PREPARE = """\
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        keras.layers.Conv2D(8, 3, activation="relu", name="edges"),
        keras.layers.MaxPooling2D(name="halve"),
        keras.layers.Flatten(name="flatten"),
        keras.layers.Dense(10, name="digits"),
    ]
)
optimizer = keras.optimizers.SGD(0.1)
optimizer.build(model.trainable_variables)
pixels = np.random.default_rng(1).integers(0, 255, (96, 28, 28, 1))
labels = np.arange(96) % 10


@tf.function
def train(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss
"""
PROFILED = """\
for start in range(0, 96, 32):
    batch = tf.cast(pixels[start:start + 32], tf.float32) / 255.0
    loss = train(batch, labels[start:start + 32])
"""
PYTHON = """\
import json

texts = [json.dumps({"words": ["to", "be", "or", "not"] * 50}) for _ in range(300)]


def longest(text):
    words = json.loads(text)["words"]
    return max(words, key=len)


def score(texts):
    total = 0
    for text in texts:
        total += len(longest(text))
    return total


score(texts)
"""
"""What the examples of `%%pyprof` profile."""


def profiled_shell():
    """Run the program in a new shell, so that its last profile is the program's."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the same ops on every processor
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    for cell in ("%load_ext nbprof", PREPARE, f"%%tfprof -q\n{PROFILED}"):
        shell.run_cell(cell, store_history=True).raise_error()
    return shell


def report(shell, line):
    """Return the text report of a line, after `Profile:`."""
    return run(shell, line).text.partition("\nProfile:\n")[2]


def run(shell, line):
    """Return the View of a line; other lines go on to look at the first program's profile."""
    from nbprof import run as runs

    last, body = runs.last(), f"\n{PYTHON}" if line.startswith("%%") else ""
    shell.run_cell(f"{line} -q -o shown{body}").raise_error()
    runs._last = last
    return shell.user_ns["shown"]


def examples(page):
    """List the lines that a page shows, each with its report."""
    text = page.read_text(encoding="utf-8")
    fence = re.compile(r"```text\n(.*?)```", re.DOTALL)
    return [(found[2], fence.search(found[0])[1]) for found in EXAMPLE.finditer(text)]


def fill(page, shell):
    """Rewrite the program and the reports of a page."""
    text = page.read_text(encoding="utf-8")
    cells = {"program": PREPARE, "profiled": f"%%tfprof\n{PROFILED}", "python": PYTHON}
    for name, cell in cells.items():
        place = f"<!-- {name} -->\n", "<!-- end -->"
        if place[0] in text:
            before, _, rest = text.partition(place[0])
            after = rest.partition(place[1])[2]
            text = f"{before}{place[0]}```python\n{cell}```\n{place[1]}{after}"
    text = EXAMPLE.sub(
        lambda found: f"{found[1]}```text\n{report(shell, found[2])}```\n{found[3]}", text
    )
    page.write_text(text, encoding="utf-8")


def pictures(page):
    """List the calls that draw a page's pictures, each with the picture's file."""
    text = page.read_text(encoding="utf-8")
    return [(found[1], page.parent / found[2]) for found in PICTURE.finditer(text)]


def draw(page, shell):
    """Redraw the pictures of a page."""
    for call, file in pictures(page):
        ax = shell.ev(call)
        ax.figure.savefig(file, dpi=110, pil_kwargs={"optimize": True})


def reports(shell, lines):
    """Return, for each line, all names in its view and its report."""
    profile = shell.user_ns["nbprof"].last()

    def names(line):
        view = line.split()[1]
        own = run(shell, f"%%pyprof {view}").profile if line.startswith("%%") else profile
        return own.view(view, select="micros,params").frame["name"].tolist()

    return {line: (names(line), report(shell, line)) for line in lines}


def main():
    """Fill the pages; `--print LINE …` prints what the lines show as JSON instead.

    `--pictures` draws only the pictures.
    """
    sys.path.insert(0, str(PAGES.parent))
    os.environ["MPLBACKEND"] = "agg"
    shell = profiled_shell()
    if sys.argv[1:2] == ["--print"]:
        shell.run_cell("import nbprof").raise_error()
        sys.stdout.write(json.dumps(reports(shell, sys.argv[2:])) + "\n")
        return
    shell.run_cell("import nbprof; profile = nbprof.last()").raise_error()
    for page in sorted(PAGES.rglob("*.md")):
        if sys.argv[1:2] != ["--pictures"]:
            fill(page, shell)
        draw(page, shell)


if __name__ == "__main__":
    main()
