import assert from "node:assert/strict";
import test from "node:test";
import { LaneLoad } from "./lane_load.js";

const sum = (values) => values.reduce((a, b) => a + b, 0);
const ofCategory = (values, category, columns) => values.slice(category * columns, (category + 1) * columns);

test("a column is filled by each category's share of its time", () => {
  const load = new LaneLoad(2, 2, 10);
  load.add(1, 0, 2.25, 4.5, 1);
  load.add(1, 1, 2, 2.25, 0.5);
  load.finish();

  assert.deepEqual([...load.shares.slice(20, 30)], [0, 0, 0.75, 1, 0.5, 0, 0, 0, 0, 0]);
  assert.equal(load.shares[32], 0.125);
  assert.equal(sum(load.shares.slice(0, 20)), 0);
  assert.deepEqual([...load.most.slice(10)], [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]);
});

test("many short runs fill what their time is, and no more", () => {
  const load = new LaneLoad(1, 2, 100);
  for (let column = 0; column < 100; column++) {
    load.add(0, 0, column, column + 0.7, 1);
    for (let short = 0.7; short < 0.995; short += 0.01) load.add(0, 1, column + short, column + short + 0.01, 1);
  }
  const { base, height } = load.finish().stacks(0, 17);

  assert.ok(Math.abs(sum(ofCategory(height, 0, 100)) - 0.7 * 1700) <= 1);
  assert.ok(Math.abs(sum(ofCategory(height, 1, 100)) - 0.3 * 1700) <= 2);
  ofCategory(base, 1, 100).forEach((low, column) => assert.equal(low, height[column]));
});

test("what is less than a pixel is carried over, and marked all the same", () => {
  const load = new LaneLoad(1, 1, 1000);
  for (let column = 0; column < 1000; column++) load.add(0, 0, column, column + 0.01, 1);
  const { height } = load.finish().stacks(0, 10);

  assert.ok(Math.abs(sum(height) - 100) <= 1);
  assert.ok(load.most.every((most) => most === 1));
});

test("runs that overlap fill a column once", () => {
  const load = new LaneLoad(1, 2, 1);
  load.add(0, 0, -5, 9, 1);
  load.add(0, 1, 0, 1, 1);
  const { height } = load.finish().stacks(0, 16);

  assert.deepEqual([...height], [8, 8]);
});

test("a run outside the columns fills none", () => {
  const load = new LaneLoad(1, 1, 4);
  load.add(0, 0, 4, 9, 1);

  assert.equal(sum(load.finish().shares), 0);
  assert.equal(sum(load.most), 0);
});

test("a lane scaled to its fullest column has one that is full", () => {
  const load = new LaneLoad(1, 2, 2);
  load.add(0, 0, 0, 1, 0.25);
  load.add(0, 1, 0, 1, 0.25);
  load.add(0, 1, 1, 2, 0.125);

  assert.deepEqual([...load.scaleToFullest().finish().shares], [0.5, 0, 0.5, 0.25]);
});
