import assert from "node:assert/strict";
import test from "node:test";
import { CallGraph, neighboursInTree } from "./call_neighbours.js";

const rows = [
  ["root", -1, 100],
  ["main", 0, 90],
  ["walk", 1, 60],
  ["walk", 2, 40],
  ["leaf", 3, 30],
  ["leaf", 2, 10],
  ["leaf", 0, 10],
];
const names = [...new Set(rows.map(([name]) => String(name)))];
const nameCodes = Int32Array.from(rows, ([name]) => names.indexOf(String(name)));
const table = /** @type {any} */ ({
  rows: rows.length,
  nameCodes,
  parent: Int32Array.from(rows, ([, parent]) => Number(parent)),
  nameOf: (/** @type {number} */ row) => rows[row][0],
});
const column = /** @type {any} */ ({ values: rows.map(([, , value]) => value), unit: "micros" });
const short = (/** @type {import("./call_neighbours.js").Party[]} */ parties) =>
  parties.map(({ name, row, value }) => [name, row, value]);

test("callers and callees are added up over the tree", () => {
  const found = neighboursInTree(table, column, 5);
  assert.equal(found.value, 50);
  assert.deepEqual(short(found.callers), [
    ["walk", 3, 40],
    ["root", 0, 10],
  ]);
  assert.deepEqual(found.callees, []);
});

test("recursion counts once", () => {
  const found = neighboursInTree(table, column, 3);
  assert.equal(found.value, 60);
  assert.deepEqual(short(found.callers), [["main", 1, 60]]);
  assert.deepEqual(short(found.callees), [
    ["leaf", 4, 40],
    ["walk", 3, 40],
  ]);
});

test("a graph has the calls of each pair and finds the rows of a view", () => {
  const data = {
    names: [0, 1, 2],
    calls: [1, 4, 9],
    micros: [90, 60, 40],
    caller: [0, 1, 1],
    callee: [1, 2, 1],
    edge_calls: [1, 9, 3],
    edge_micros: [60, 40, 20],
  };
  const packed = Object.fromEntries(Object.keys(data).map((key, place) => [key, [place, "i8"]]));
  const buffers = (/** @type {number} */ place) => new Uint8Array(Object.values(data)[place]);
  const graph = new CallGraph(/** @type {any} */ (packed), ["main", "walk", "leaf"], buffers);
  const view = /** @type {any} */ ({
    functions: Float64Array.of(2, 1),
    parent: Int32Array.of(-1, -1),
    nameOf: (/** @type {number} */ row) => ["a.py:9(leaf)", "a.py:5(walk)"][row],
  });

  const found = graph.neighbours(view, 1);

  assert.deepEqual([found.name, found.value, found.calls], ["a.py:5(walk)", 60, 4]);
  assert.deepEqual(found.callers, [
    { name: "main", row: -1, value: 60, calls: 1 },
    { name: "a.py:5(walk)", row: 1, value: 20, calls: 3 },
  ]);
  assert.deepEqual(short(found.callees), [
    ["a.py:9(leaf)", 0, 40],
    ["a.py:5(walk)", 1, 20],
  ]);
});
