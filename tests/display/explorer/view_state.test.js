import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { ExplorerData, readPage } from "./explorer_data.js";
import { blockAt, layOut } from "./flame_layout.js";
import { numbers } from "./packed_columns.js";
import { magicLine, tableText } from "./text_export.js";
import { sorted } from "./tree.js";
import { ViewState } from "./view_state.js";

const { payload, buffers } = readPage(new Uint8Array(readFileSync("scope.bin")));
const data = new ExplorerData(payload, buffers);
const scope = () => new ViewState(data.table(data.first));
const names = (state) => [...state.rows].map((row) => state.table.nameOf(row));

test("a buffer may start anywhere in a longer one", () => {
  const bytes = new Uint8Array([0, 1, 0, 0, 0, 2, 0, 0, 0]).subarray(1);
  assert.deepEqual([...numbers([0, "i32"], () => bytes)], [1, 2]);
});

test("the root and the hot path are open at first", () => {
  assert.deepEqual(names(scope()), ["_TFProfRoot", "head", "head/MatMul", "dense", "loss"]);
});

test("a name is shortened below its scope", () => {
  const { table } = scope();
  assert.equal(table.shortName(2), "MatMul");
});

test("a search keeps the rows above a match and opens them", () => {
  const state = scope();
  assert.equal(state.setSearch("bias", false), "");
  assert.deepEqual(names(state), ["_TFProfRoot", "dense", "dense/BiasAdd"]);
  assert.equal(state.found, 1);
  state.setSearch("", false);
  assert.equal(state.found, state.table.rows);
});

test("an invalid regular expression is reported and changes nothing", () => {
  const state = scope();
  assert.match(state.setSearch("(", true), /./);
  assert.equal(state.rows.length, 5);
  assert.equal(state.setSearch("^dense/.*d$", true), "");
  assert.deepEqual(names(state).at(-1), "dense/BiasAdd");
});

test("a minimum hides lighter rows", () => {
  const state = scope();
  state.setMinimum("total_micros", 1000, "1ms");
  state.setOpenBelow(-1, true);
  const shown = ["_TFProfRoot", "head", "head/MatMul", "dense", "dense/MatMul"];
  assert.deepEqual(names(state), shown);
});

test("a column sorts descending, ascending, then as reported", () => {
  const state = scope();
  const orders = [];
  for (let times = 0; times < 3; times++) {
    state.cycleSort("total_bytes");
    orders.push(names(state)[1]);
  }
  assert.deepEqual(orders, ["dense", "head", "head"]);
  state.cycleSort("name");
  assert.equal(names(state)[1], "dense");
});

test("columns that only repeat others are hidden at first", () => {
  const shown = scope().columns.map((column) => column.key);
  assert.deepEqual(shown.slice(0, 2), ["total_micros", "micros"]);
  assert.ok(!shown.includes("bytes"));
  assert.ok(shown.includes("total_accelerator_micros"));
});

test("a revealed row is listed even if rows above it were closed", () => {
  const state = scope();
  state.setOpenBelow(-1, false);
  assert.ok(state.reveal(4) > 0);
});

test("exported tables have raw numbers and quoted texts", () => {
  const state = scope();
  state.hidden = new Set(state.table.columns.map((column) => column.key));
  state.hidden.delete("total_micros");
  assert.equal(tableText(state, [1], "\t"), "name\ttotal_micros\nhead\t2000000\n");
  state.table.strings[state.table.nameCodes[1]] = 'a,"b"';
  assert.equal(tableText(state, [1], ",").split("\n")[1], '"a,""b""",2000000');
});

test("the %tfprof line contains sort, search and minimum", () => {
  const state = scope();
  state.setSort("total_bytes", true);
  state.setSearch("a,b's", false);
  state.setMinimum("total_micros", 1000, "1ms");
  const line = magicLine(state);
  assert.match(line, /^%tfprof scope -order_by bytes -select /);
  assert.match(line, / -min_micros 1000/);
  assert.ok(line.includes(`-show_name_regexes '(?i).*a\\x2cb'"'"'s.*'`), line);
});

test("blocks of the flame fill their parent, small ones are merged", () => {
  const children = {
    start: Int32Array.of(0, 1, 104, ...new Array(103).fill(104)),
    list: Int32Array.from({ length: 104 }, (_, row) => row),
  };
  const values = Float64Array.from({ length: 104 }, (_, row) => (row === 0 ? 1000 : row < 4 ? 300 : 1));
  const blocks = layOut(children, values, 0, 1000, 500);
  assert.equal(blocks.length, 5);
  assert.equal(blocks.at(-1).merged, 100);
  assert.equal(blocks.at(-1).x + blocks.at(-1).width, 500);
  assert.equal(blockAt(blocks, 151, 1).row, 2);
  assert.equal(blockAt(blocks, 151, 2), undefined);
});

test("a flame of zeros has no blocks", () => {
  const state = scope();
  const zeros = new Float64Array(state.table.rows);
  assert.deepEqual(layOut(sorted(state.children, zeros, true), zeros, 0, 0, 500), []);
});
