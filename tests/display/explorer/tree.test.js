import assert from "node:assert/strict";
import test from "node:test";
import { Dictionary } from "./dictionary.js";
import { bringInOrder } from "./order.js";
import { childrenOf, seen, Siblings, sorted, withAncestors } from "./tree.js";

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
    assert.deepEqual([...seen(sorted(flat, new Float64Array(4), down), all, null)], [0, 1, 2, 3]);
  }
});

test("what is kept keeps the rows above it", () => {
  const kept = withAncestors(Int32Array.of(2), parent);
  assert.deepEqual([...kept], [1, 1, 1, 0, 0]);
  assert.deepEqual([...seen(childrenOf(parent), all, kept)], [0, 1, 2]);
});

test("places among siblings count only those that are kept", () => {
  const children = childrenOf(parent);
  assert.deepEqual(new Siblings(children, parent, null).of(3), [2, 2]);
  assert.deepEqual(new Siblings(children, parent, null).of(0), [1, 1]);
  assert.deepEqual(new Siblings(children, parent, Uint8Array.of(1, 1, 0, 1, 0)).of(3), [1, 1]);
});

test("numbers of all sizes are in order, both ways, be they few or many", () => {
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
      bringInOrder(ordered, key, sign < 0);
      assert.deepEqual([...ordered], wanted);
    }
  }
});

test("what is below a row is sorted when it is seen, and not before", () => {
  const children = sorted(childrenOf(parent), Float64Array.of(1, 2, 3, 4, 5), true);
  assert.deepEqual([...seen(children, Uint8Array.of(1, 0, 0, 0, 0), null)], [0, 4, 1]);
  assert.deepEqual([...children.list.subarray(...children.start.subarray(2, 4))], [2, 3]);
  assert.deepEqual([...seen(children, all, null)], [0, 4, 1, 3, 2]);
});

test("texts are ranked by the alphabet", () => {
  const { ranks } = new Dictionary(["root", "z", "q", "p", "a", "", "ä"]);
  assert.deepEqual([...ranks], [4, 5, 3, 2, 1, 0, 6]);
});

test("a text is found wherever it stands in another, and not across two", () => {
  const strings = ["MatMul", "", "mul/X", "İstanbul", "ΑΣ", "ΑΣΑ", "a\nb", "bul", "mamamam"];
  const dictionary = new Dictionary(strings);
  for (const text of ["mul", "MUL", "l", "x", "bul", "ς", "σ", "ασ", "\n", "a\nb", "mam", "i̇", "İ", "nope", "ulb"]) {
    const wanted = [...strings.keys()].filter((code) => strings[code].toLowerCase().includes(text.toLowerCase()));
    assert.deepEqual(dictionary.having(text), wanted, text);
  }
});

test("a hundred thousand rows below each other are no problem", () => {
  const deep = Int32Array.from({ length: 100000 }, (_, row) => row - 1);
  assert.equal(seen(childrenOf(deep), new Uint8Array(100000).fill(1), null).length, 100000);
});
