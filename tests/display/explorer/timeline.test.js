import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { ExplorerData, readPage } from "./explorer_data.js";
import { showSums } from "./run_kinds.js";
import { eventAt, eventBeside } from "./timeline_search.js";
import { ViewState } from "./view_state.js";

const dataOf = (name) => {
  const { payload, buffers } = readPage(new Uint8Array(readFileSync(`${name}.bin`)));
  return new ExplorerData(payload, buffers);
};
const { second, ...expected } = JSON.parse(readFileSync("expected.json", "utf-8"));
const whole = dataOf("whole");
const binned = dataOf("binned");
const placeOf = (data, name) => data.views.findIndex((view) => view.name === name);

function pathsOf(table) {
  const paths = [];
  for (let row = 0; row < table.rows; row++) {
    paths.push(`${table.parent[row] < 0 ? "" : paths[table.parent[row]]}\n${table.nameOf(row)}`);
  }
  return paths;
}

function assertShows(table, ran, numbers) {
  const paths = pathsOf(table);
  let compared = 0;
  paths.forEach((path, row) => {
    assert.equal(Boolean(ran === null || ran[row]) || path === "\n_TFProfRoot" || isAbove(path, numbers), path in numbers, path);
    for (const column of table.columns) {
      const wanted = numbers[path]?.[column.key];
      if (wanted === undefined || wanted === null) continue;
      assert.ok(Math.abs(column.values[row] - wanted) < 1e-6, `${path} ${column.key}`);
      compared++;
    }
  });
  assert.ok(compared > 5);
}

const isAbove = (path, numbers) => Object.keys(numbers).some((other) => other.startsWith(`${path}\n`));

for (const name of ["op", "scope", "graph", "code", "layer"]) {
  test(`the ${name} view of a stretch of time equals the view Python makes of its events`, () => {
    for (const data of [whole, binned]) {
      const table = data.table(placeOf(data, name));
      assert.ok(data.kinds.addUpTo(table));
      const range = data.events.snap([second - 0.4, 1e9]);
      const ran = showSums(table, data.kinds.sums(table, data.events.amounts([second, range[1]])));
      assertShows(table, ran, expected[name].later);
      assert.equal(showSums(table, null), null);
      assertShows(table, null, expected[name].whole);
    }
  });

  test(`the ${name} view per step is Python's average`, () => {
    const table = whole.table(placeOf(whole, name));
    showSums(table, whole.kinds.sums(table, whole.kinds.all, true));
    assertShows(table, null, expected[name].average);
    showSums(table, null);
  });
}

test("without all op runs a stretch of time snaps to parts of it", () => {
  assert.equal(whole.events.exact, true);
  assert.deepEqual(whole.events.snap([0.2, 3.3]), [0.2, 3.3]);
  assert.equal(binned.events.exact, false);
  const [from, to] = binned.events.snap([second + 0.3, second + 0.4]);
  assert.ok(binned.events.bins.edges.includes(from));
  assert.ok(to > from);
});

test("a view whose numbers differ from the sums of the op runs is not cut", () => {
  const data = dataOf("whole");
  const table = data.table(placeOf(data, "op"));
  table.kindRows.fill(0);
  assert.equal(data.kinds.addUpTo(table), false);
});

test("the table lists the rows that ran, heaviest first, and then all rows again", () => {
  const state = new ViewState(whole.table(placeOf(whole, "scope")));
  const before = [...state.rows];
  const sums = whole.kinds.sums(state.table, whole.events.amounts([0, 1]));
  state.setNumbers(showSums(state.table, sums), false);
  const names = [...state.rows].map((row) => state.table.nameOf(row));
  assert.deepEqual(names.slice(0, 2), ["_TFProfRoot", "dense"]);
  assert.ok(!names.includes("loss"));
  assert.equal(state.main.whole, state.main.values[0]);
  state.setNumbers(showSums(state.table, null), true);
  assert.deepEqual([...state.rows], before);
});

test("a search counts matches that only ran at another time", () => {
  const state = new ViewState(whole.table(placeOf(whole, "scope")));
  state.setSearch("loss", false);
  assert.deepEqual([state.found, state.outside], [1, 0]);
  const sums = whole.kinds.sums(state.table, whole.events.amounts([0, 1]));
  state.setNumbers(showSums(state.table, sums), false);
  assert.deepEqual([state.found, state.outside], [0, 1]);
  state.setSearch("^dense$", true); // what it holds has run
  assert.deepEqual([state.found, state.outside], [1, 0]);
  state.setSearch("", false);
  assert.equal(state.outside, 0);
  showSums(state.table, null);
});

test("columns that do not depend on time say so", () => {
  const { table } = new ViewState(whole.table(placeOf(whole, "scope")));
  const defined = table.columns.find((column) => column.metric === "defined_count");
  const runs = table.columns.find((column) => column.metric === "run_count");
  showSums(table, null);
  showSums(table, null);
  assert.equal(defined.help.match(/of the whole cell/g).length, 1);
  assert.doesNotMatch(runs.help, /whole cell/);
});

test("arrow keys move between op runs, and a point finds the op run there", () => {
  const { events } = whole;
  const first = eventBeside(events, -1, "ArrowRight", 0);
  assert.equal(first, 0);
  const next = eventBeside(events, first, "ArrowRight", 0);
  assert.equal(next, 1);
  assert.equal(events.lane[next], events.lane[first]);
  assert.equal(eventBeside(events, next, "ArrowLeft", 0), first);
  assert.equal(eventBeside(events, first, "ArrowUp", 0), -1);
  assert.equal(eventAt(events, 0.5, events.lane[first], 1e-6), first);
  assert.equal(eventAt(events, 1e9, events.lane[first], 1e-6), -1);
});
