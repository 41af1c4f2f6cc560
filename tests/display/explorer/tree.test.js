import assert from "node:assert/strict";
import test from "node:test";
import { Dictionary } from "./dictionary.js";
import { sortRows } from "./row_sort.js";
import { childrenOf, listedRows, parentsByOwn, Siblings, sorted, withAncestors } from "./tree.js";

// 0 ─ 1 ─ 2, 3 ; 4
const parent = Int32Array.of(-1, 0, 1, 1, 0);
const all = new Uint8Array(5).fill(1);

test("children follow their parent in the order of the report", () => {
  assert.deepEqual([...listedRows(childrenOf(parent), all, null)], [0, 1, 2, 3, 4]);
});

test("a closed row hides everything below it", () => {
  assert.deepEqual([...listedRows(childrenOf(parent), Uint8Array.of(1, 0, 1, 1, 1), null)], [0, 1, 4]);
});

test("sorting stays within each level, unknown numbers last", () => {
  const key = Float64Array.of(9, 1, NaN, 5, 7);
  const down = sorted(childrenOf(parent), key, true);
  const up = sorted(childrenOf(parent), key, false);
  assert.deepEqual([...listedRows(down, all, null)], [0, 4, 1, 3, 2]);
  assert.deepEqual([...listedRows(up, all, null)], [0, 1, 3, 2, 4]);
});

test("ties keep their order in both directions", () => {
  const flat = childrenOf(new Int32Array(4).fill(-1));
  for (const down of [true, false]) {
    assert.deepEqual([...listedRows(sorted(flat, new Float64Array(4), down), all, null)], [0, 1, 2, 3]);
  }
});

test("keeping a row keeps the rows above it", () => {
  const kept = withAncestors(Int32Array.of(2), parent);
  assert.deepEqual([...kept], [1, 1, 1, 0, 0]);
  assert.deepEqual([...listedRows(childrenOf(parent), all, kept)], [0, 1, 2]);
});

test("places among siblings count kept rows only", () => {
  const children = childrenOf(parent);
  assert.deepEqual(new Siblings(children, parent, null).of(3), [2, 2]);
  assert.deepEqual(new Siblings(children, parent, null).of(0), [1, 1]);
  assert.deepEqual(new Siblings(children, parent, Uint8Array.of(1, 1, 0, 1, 0)).of(3), [1, 1]);
});

test("few and many numbers of any size are sorted in both directions", () => {
  const some = [3, -1, NaN, 0, -0, 1e-300, Infinity, -Infinity, 2 ** 53, 0.1, -1e300, 65536, NaN, 3, 2 ** -1074];
  for (const times of [1, 500]) {
    const key = Array(times).fill(some).flat();
    const rows = key.map((_, row) => row);
    for (const sign of [1, -1]) {
      const wanted = rows.toSorted((a, b) => {
        const [x, y] = [key[a], key[b]];
        if (x === y || (x !== x && y !== y)) return a - b;
        return x !== x ? 1 : y !== y ? -1 : x < y ? -sign : sign;
      });
      const ordered = Int32Array.from(rows);
      sortRows(ordered, key, sign < 0);
      assert.deepEqual([...ordered], wanted);
    }
  }
});

test("children are sorted only when they are listed", () => {
  const children = sorted(childrenOf(parent), Float64Array.of(1, 2, 3, 4, 5), true);
  assert.deepEqual([...listedRows(children, Uint8Array.of(1, 0, 0, 0, 0), null)], [0, 4, 1]);
  assert.deepEqual([...children.list.subarray(...children.start.subarray(2, 4))], [2, 3]);
  assert.deepEqual([...listedRows(children, all, null)], [0, 4, 1, 3, 2]);
});

test("texts are ranked alphabetically", () => {
  const { ranks } = new Dictionary(["root", "z", "q", "p", "a", "", "ä"]);
  assert.deepEqual([...ranks], [4, 5, 3, 2, 1, 0, 6]);
});

test("a search finds texts that contain it, but no match across two texts", () => {
  const strings = ["MatMul", "", "mul/X", "İstanbul", "ΑΣ", "ΑΣΑ", "a\nb", "bul", "mamamam"];
  const dictionary = new Dictionary(strings);
  for (const text of ["mul", "MUL", "l", "x", "bul", "ς", "σ", "ασ", "\n", "a\nb", "mam", "i̇", "İ", "nope", "ulb"]) {
    const wanted = [...strings.keys()].filter((code) => strings[code].toLowerCase().includes(text.toLowerCase()));
    assert.deepEqual(dictionary.containing(text), wanted, text);
  }
});

test("a tree may be a hundred thousand levels deep", () => {
  const deep = Int32Array.from({ length: 100000 }, (_, row) => row - 1);
  assert.equal(listedRows(childrenOf(deep), new Uint8Array(100000).fill(1), null).length, 100000);
});

test("where totals overlap, rows stand alone unless they are a part of what is the own of another", () => {
  assert.deepEqual([...parentsByOwn(parent, [9, 5, 3, 2, 0])], [-1, -1, 1, 1, -1]);
});
