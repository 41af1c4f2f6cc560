import assert from "node:assert/strict";
import test from "node:test";
import { childrenOf, markAncestors, placeAmongSiblings, seen, sorted, sortedByText } from "./tree.js";

// 0 ─ 1 ─ 2, 3 ; 4
const parent = Int32Array.of(-1, 0, 1, 1, 0);
const all = new Uint8Array(5).fill(1);

test("children stand below their parent in the order of the report", () => {
  assert.deepEqual([...seen(childrenOf(parent), all, null)], [0, 1, 2, 3, 4]);
});

test("what is closed hides all below", () => {
  assert.deepEqual([...seen(childrenOf(parent), Uint8Array.of(1, 0, 1, 1, 1), null)], [0, 1, 4]);
});

test("sorting stays inside each level, and what is not known comes last", () => {
  const key = Float64Array.of(9, 1, NaN, 5, 7);
  const down = sorted(childrenOf(parent), key, true);
  const up = sorted(childrenOf(parent), key, false);
  assert.deepEqual([...seen(down, all, null)], [0, 4, 1, 3, 2]);
  assert.deepEqual([...seen(up, all, null)], [0, 1, 3, 2, 4]);
});

test("equal rows keep their order both ways", () => {
  const flat = childrenOf(new Int32Array(4).fill(-1));
  for (const down of [true, false]) {
    assert.deepEqual([...sorted(flat, new Float64Array(4), down).list], [0, 1, 2, 3]);
  }
});

test("what is kept keeps the rows above it", () => {
  const kept = Uint8Array.of(0, 0, 1, 0, 0);
  markAncestors(kept, parent);
  assert.deepEqual([...kept], [1, 1, 1, 0, 0]);
  assert.deepEqual([...seen(childrenOf(parent), all, kept)], [0, 1, 2]);
});

test("places among siblings count only those that are kept", () => {
  const children = childrenOf(parent);
  assert.deepEqual(placeAmongSiblings(children, 3, 1, null), [2, 2]);
  assert.deepEqual(placeAmongSiblings(children, 3, 1, Uint8Array.of(1, 1, 0, 1, 0)), [1, 1]);
});

test("texts are sorted by the alphabet, inside each level", () => {
  const codes = Int32Array.of(0, 1, 2, 3, 4);
  const strings = ["root", "z", "q", "p", "a"];
  const up = sortedByText(childrenOf(parent), codes, strings, false);
  assert.deepEqual([...seen(up, all, null)], [0, 4, 1, 3, 2]);
});

test("a hundred thousand rows below each other are no problem", () => {
  const deep = Int32Array.from({ length: 100000 }, (_, row) => row - 1);
  assert.equal(seen(childrenOf(deep), new Uint8Array(100000).fill(1), null).length, 100000);
});
