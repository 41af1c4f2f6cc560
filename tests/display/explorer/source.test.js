import assert from "node:assert/strict";
import test from "node:test";
import { costOf, linesOf, withCells } from "./source.js";

const rows = [
  ["_TFProfRoot", -1],
  ["In [3]:2:<module>", 0],
  ["In [1]:4:call", 1],
  ["In [1]:4:call (backward)", 2],
  ["layer model/dense", 1],
  ["layer model/dense (backward)", 4],
  ["no Python line known", 0],
];
const table = /** @type {any} */ ({
  rows: rows.length,
  parent: Int32Array.from(rows, ([, parent]) => Number(parent)),
  nameOf: (/** @type {number} */ row) => rows[row][0],
});

test("gradients and layers belong to the line above them", () => {
  const found = linesOf(table).map(({ file, line, rows, tops }) => ({ file, line, rows, tops }));
  assert.deepEqual(found, [
    { file: "In [3]", line: 2, rows: [1, 4, 5], tops: [1] },
    { file: "In [1]", line: 4, rows: [2, 3], tops: [2] },
  ]);
});

test("a line costs what its topmost rows cost", () => {
  const [line] = linesOf(table);
  const column = /** @type {any} */ ({ values: Float64Array.of(9, 8, 3, 1, 4, 2, 1) });
  assert.equal(costOf(line, column), 8);
});

test("the lines of a cell that cost nothing stand between those that do", () => {
  const cells = [1, 2].map((line) => ({ file: "In [3]", line, text: `line ${line}` }));
  const shown = withCells(linesOf(table), cells).map(({ file, line, text }) => [file, line, text]);
  assert.deepEqual(shown, [
    ["In [3]", 1, "line 1"],
    ["In [3]", 2, "line 2"],
    ["In [1]", 4, ""],
  ]);
});
