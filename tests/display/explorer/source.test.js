import assert from "node:assert/strict";
import test from "node:test";
import { costOf, hottest, linesOf, linesToShow } from "./source_lines.js";

const rows = [
  ["", 0, -1],
  ["In [3]", 2, 0],
  ["In [1]", 4, 1],
  ["In [1]", 4, 2],
  ["layer model/dense", 0, 1],
  ["layer model/dense (backward)", 0, 4],
  ["no Python line known", 0, 0],
];
const strings = [...new Set(rows.map(([file]) => String(file)))];
const table = /** @type {any} */ ({
  rows: rows.length,
  parent: Int32Array.from(rows, ([, , parent]) => Number(parent)),
  depth: Int32Array.of(0, 1, 2, 3, 2, 3, 1),
  strings,
  lines: {
    file: Float64Array.from(rows, ([file]) => strings.indexOf(String(file))),
    line: Float64Array.from(rows, ([, line]) => Number(line)),
  },
});
const column = (/** @type {number[]} */ ...values) => /** @type {any} */ ({ values });
const places = (/** @type {import("./source_lines.js").Line[]} */ lines) =>
  lines.map(({ file, line, text }) => [file, line, text]);

test("gradients and layers belong to the line above them", () => {
  const found = linesOf([table], []).map(({ file, line, of }) => ({ file, line, ...of.get(table) }));
  assert.deepEqual(found, [
    { file: "In [3]", line: 2, rows: [1, 4, 5], tops: [1] },
    { file: "In [1]", line: 4, rows: [2, 3], tops: [2] },
  ]);
});

test("a line costs what its topmost rows cost", () => {
  const [line] = linesOf([table], []);
  assert.equal(costOf(line, table, column(9, 8, 3, 1, 4, 2, 1)), 8);
  assert.ok(Number.isNaN(costOf(line, table, column(9, NaN, 3, 1, 4, 2, 1))));
});

test("rows of several views are about the same line", () => {
  const other = { ...table };
  const [line] = linesOf([table, other], []);
  assert.deepEqual([...line.of.keys()], [table, other]);
});

test("the lines of a cell that cost nothing stand between those that do", () => {
  const texts = [1, 2].map((line) => ({ file: "In [3]", line, text: `line ${line}` }));
  assert.deepEqual(places(linesOf([table], texts)), [
    ["In [3]", 1, "line 1"],
    ["In [3]", 2, "line 2"],
    ["In [1]", 4, ""],
  ]);
});

test("of lines that cost the same, the one that the others call is the hottest", () => {
  const lines = linesOf([table], []);
  assert.equal(hottest(lines, [8, 8], table), 1);
  assert.equal(hottest(lines, [8, 7], table), 0);
  assert.equal(hottest(lines, [0, NaN], table), -1);
});

test("if not all lines fit, the costly ones and those around them are shown", () => {
  const texts = Array.from({ length: 30 }, (_, at) => ({ file: "In [3]", line: at + 1, text: "" }));
  const more = texts.map(({ line }) => ({ file: "a.py", line, text: "" }));
  const lines = linesOf([table], [...more, ...texts]);
  const costs = lines.map((line) => costOf(line, table, column(9, 8, 3, 1, 4, 2, 1)));
  const shown = linesToShow(lines, costs, 5).map((place) => lines[place]);
  assert.deepEqual(
    shown.map(({ file, line }) => `${file}:${line}`),
    ["In [3]:1", "In [3]:2", "In [3]:3", "In [3]:4", "In [1]:4"],
  );
});
