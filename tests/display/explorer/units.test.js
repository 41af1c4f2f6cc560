import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { format, grouped, parseAmount, share } from "./units.js";

test("numbers are written as Python writes them", () => {
  const texts = JSON.parse(readFileSync("numbers.json", "utf-8"));
  for (const [unit, pairs] of Object.entries(texts)) {
    for (const [value, text] of pairs) assert.equal(format(value, unit), text, `${value} ${unit}`);
  }
});

test("large counts are grouped", () => {
  assert.deepEqual([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
});

test("unrecorded numbers are not shown as 0", () => {
  assert.equal(format(NaN, "bytes"), "n/a");
  assert.equal(share(NaN, 10), "");
});

test("amounts can be typed with a unit or as a percentage", () => {
  assert.equal(parseAmount("1.5ms", "micros", null), 1500);
  assert.equal(parseAmount(" 2 MB", "bytes", null), 2e6);
  assert.equal(parseAmount("3k", "count", null), 3000);
  assert.equal(parseAmount("5%", "micros", 200), 10);
  assert.equal(parseAmount("5%", "micros", null), null);
  assert.equal(parseAmount("soon", "micros", 1), null);
});
