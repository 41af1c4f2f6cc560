import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Data, fromBase64 } from "./data.js";
import { Events, restrict } from "./timeline_data.js";
import { ViewState } from "./view_state.js";

const payload = JSON.parse(readFileSync("scope.json", "utf-8"));
const later = JSON.parse(readFileSync("later.json", "utf-8"));
const buffers = payload.buffers.map(fromBase64);
const data = new Data(payload, buffers);
const events = new Events(payload.timeline, payload.strings, buffers);
const place = (name) => payload.views.findIndex((view) => view.name === name);

for (const name of ["op", "scope", "graph"]) {
  test(`the ${name} view of a stretch of time is what Python makes of its events`, () => {
    const table = data.table(place(name));
    assert.ok(events.addUpTo(table));
    const ran = restrict(events, table, [3, Infinity]);
    const column = table.column(table.tree ? "total_micros" : "micros");
    for (let row = 0; row < table.rows; row++) {
      const expected = later[name][table.nameOf(row)] ?? 0;
      assert.ok(Math.abs(column.values[row] - expected) < 1e-6, table.nameOf(row));
      if (!table.tree) assert.equal(Boolean(ran[row]), table.nameOf(row) in later[name]);
    }
    restrict(events, table, null);
    assert.equal(column.values, column.shipped);
  });
}

test("a view that does not go by nodes stays as it is", () => {
  const table = data.table(place("layer"));
  assert.equal(restrict(events, table, [0, 3]), null);
  assert.equal(table.columns[0].ranged, null);
});

test("a view of some rows only is not added up", () => {
  const table = new Data(payload, buffers).table(place("op"));
  table.nameCodes[0] = -1;
  assert.equal(events.addUpTo(table), false);
});

test("the table shows the rows that ran, heaviest in that time first, and all of them again", () => {
  const state = new ViewState(data.table(place("scope")));
  const before = [...state.rows];
  state.setRange(restrict(events, state.table, [0, 3]));
  const names = [...state.rows].map((row) => state.table.nameOf(row));
  assert.deepEqual(names.slice(0, 2), ["_TFProfRoot", "dense"]);
  assert.ok(!names.includes("head"));
  const main = state.main;
  assert.equal(main.whole, main.values[0]);
  state.setRange(restrict(events, state.table, null));
  assert.deepEqual([...state.rows], before);
});
