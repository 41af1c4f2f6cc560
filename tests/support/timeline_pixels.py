"""Paint an explorer's timeline in a real browser and count its pixels by colour."""

import json
import re
import subprocess

from support.paths import PACKAGE

RECORD_TEXTS = """
window.texts = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  window.texts.push({ text, y, left: x, right: x + this.measureText(text).width });
  write.call(this, text, x, y);
};
"""
PIXELS = """(lanes) => {
  const canvas = document.querySelector("canvas");
  const place = [160, 18, canvas.width - 160, 18 * lanes - 1];
  const { data } = canvas.getContext("2d").getImageData(...place);
  const found = {};
  for (let i = 0; i < data.length; i += 4) {
    const colour = `rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`;
    if (data[i + 3] === 255) found[colour] = (found[colour] ?? 0) + 1;
  }
  const legend = document.querySelector(".nbx-flame .nbx-legend").querySelectorAll("span");
  return Object.fromEntries(
    Array.from(legend, (span) => {
      return [span.textContent, found[getComputedStyle(span.firstChild).backgroundColor] ?? 0];
    }),
  );
}"""
"""Counts the pixels of the lanes by name of their colour, right of the lanes' own names."""

FAMILIES = """
import { FAMILY_CATEGORIES, familyOf } from "./families.js";
const types = JSON.parse(process.argv[1]);
console.log(JSON.stringify(types.map((type) => FAMILY_CATEGORIES[familyOf(type)].name)));
"""
"""Finds the family of each op type, as the explorer does."""


def paint(context, html, file):
    """Open the explorer of a notebook's output as a page and return it with its timeline painted.

    `window.texts` lists what is written on canvases, and where.
    """
    file.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{html}", encoding="utf-8")
    opened = context.new_page()
    opened.add_init_script(RECORD_TEXTS)
    opened.goto(file.as_uri())
    opened.get_by_role("button", name="Timeline").click()
    opened.locator(".nbx-flame .nbx-legend span").first.wait_for()
    return opened


def pixel_shares(opened):
    """Return the share of the lanes' coloured pixels that each category has."""
    label = opened.locator("canvas").first.get_attribute("aria-label")
    found = opened.evaluate(PIXELS, int(re.search(r"on (\d+) lanes", label)[1]))
    whole = sum(found.values())
    assert whole > 0, "nothing is painted"
    return {name: count / whole for name, count in found.items()}


def time_shares(profile):
    """Return the share of the op time that each family of ops has; needs Node."""
    types = profile.nodes["op_type"].to_numpy()[profile.costs["node"].to_numpy()]
    by_type = profile.costs.groupby(types)["self_ns"].sum()
    folder = PACKAGE / "display" / "explorer" / "js"
    command = ["node", "--input-type=module", "-e", FAMILIES, json.dumps(list(by_type.index))]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    by_family = by_type.groupby(json.loads(found.stdout)).sum()
    return (by_family / by_family.sum()).to_dict()
