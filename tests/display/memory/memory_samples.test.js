import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { mebibytes, moment, Samples, ticks } from "./memory_samples.js";

const MIB = 2 ** 20;
const sizes = (...amounts) => Float64Array.from(amounts.map((amount) => amount * MIB));
const marks = [
  { kind: "line", label: "line 2", start: 0, end: null, bytes: null },
  { kind: "step", label: "step 0: f", start: 0.005, end: 0.19, bytes: null },
  { kind: "op", label: "MatMul (MatMul)", start: 0.011, end: 0.15, bytes: 200 * MIB },
  { kind: "line", label: "line 3", start: 0.205, end: null, bytes: null },
];
const samples = new Samples(
  { seconds: 0.21, peak: 300 * MIB, exact: true, marks },
  Float64Array.of(0, 0.01, 0.2, 0.21),
  sizes(100, 150, 110, 90),
  sizes(100, 160, 300, 110),
  Uint8Array.of(0, 0, 1, 0),
);

test("a sample describes what was held, the peak before it, its gap and what ran", () => {
  assert.equal(
    samples.describe(2),
    "200 ms: 110.0 MiB held, up to 300.0 MiB since the sample before, " +
      "no sample was possible before it; line 2, MatMul (MatMul), step 0: f",
  );
  assert.equal(samples.describe(3), "210 ms: 90.0 MiB held; line 3");
});

test("the nearest sample and the highest one are found", () => {
  assert.deepEqual([-1, 0.004, 0.1, 0.12, 9].map((time) => samples.nearest(time)), [0, 0, 1, 2, 3]);
  assert.equal(samples.highest, 2);
});

test("ticks are round numbers within the range", () => {
  assert.deepEqual(ticks(100, 310, 4), [100, 200, 300]);
  assert.deepEqual(ticks(0, 2.3, 5), [0, 0.5, 1, 1.5, 2]);
});

test("sizes and times are written as Python writes them", () => {
  const written = JSON.parse(readFileSync("memory_numbers.json", "utf-8"));
  for (const [size, text] of written.mebibytes) assert.equal(mebibytes(size), text);
  for (const [seconds, text] of written.seconds) assert.equal(moment(seconds), text);
});
