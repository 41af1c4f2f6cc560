/** The tree as arrays: children by parent, their order, and the rows that a table lists. */

import { sortRows } from "./row_sort.js";

/**
 * @typedef {{start: Int32Array, list: Int32Array, sort?: (row: number) => void}} Children
 * The children of row r are list[start[r + 1]] to list[start[r + 2] - 1]; rows without a parent
 * are the children of -1. If there is a `sort`, call it for a row before reading its children.
 */

/**
 * @param {Int32Array} parent
 * @param {number} parents the number of possible parents
 * @returns {Children}
 */
export function childrenOf(parent, parents = parent.length) {
  const count = parent.length;
  const start = new Int32Array(parents + 2);
  for (let row = 0; row < count; row++) start[parent[row] + 2]++;
  for (let place = 1; place < start.length; place++) start[place] += start[place - 1];
  const next = start.slice();
  const list = new Int32Array(count);
  for (let row = 0; row < count; row++) list[next[parent[row] + 1]++] = row;
  return { start, list };
}

/**
 * Sort the children of a row only when they are needed, because few rows are open.
 * @param {Children} children
 * @param {ArrayLike<number>} key
 * @param {boolean} descending
 * @returns {Children}
 */
export function sorted({ start, list: before }, key, descending) {
  const list = before.slice();
  const done = new Uint8Array(start.length);
  /** @param {number} row */
  const sort = (row) => {
    if (done[row + 1]) return;
    done[row + 1] = 1;
    sortRows(list.subarray(start[row + 1], start[row + 2]), key, descending);
  };
  return { start, list, sort };
}

/**
 * Mark rows and all rows above them.
 * @param {Int32Array} rows
 * @param {Int32Array} parent
 * @returns {Uint8Array}
 */
export function withAncestors(rows, parent) {
  const marked = new Uint8Array(parent.length);
  for (let at = 0; at < rows.length; at++) {
    for (let row = rows[at]; row >= 0 && !marked[row]; row = parent[row]) marked[row] = 1;
  }
  return marked;
}

/**
 * List the rows that are kept and below open rows only.
 * @param {Children} children
 * @param {Uint8Array} open
 * @param {Uint8Array | null} kept
 * @returns {Int32Array}
 */
export function listedRows({ start, list, sort }, open, kept) {
  sort?.(-1);
  const rows = new Int32Array(list.length);
  /** @type {number[]} */
  const ends = [start[1]];
  /** @type {number[]} */
  const places = [start[0]];
  let count = 0;
  while (places.length) {
    const last = places.length - 1;
    if (places[last] >= ends[last]) {
      places.pop();
      ends.pop();
      continue;
    }
    const row = list[places[last]++];
    if (kept && !kept[row]) continue;
    rows[count++] = row;
    if (open[row] && start[row + 2] > start[row + 1]) {
      sort?.(row);
      places.push(start[row + 1]);
      ends.push(start[row + 2]);
    }
  }
  return rows.subarray(0, count);
}

/** The places of rows among their kept siblings, counted for all children of a row at once. */
export class Siblings {
  /**
   * @param {Children} children
   * @param {Int32Array} parent
   * @param {Uint8Array | null} kept
   */
  constructor(children, parent, kept) {
    this.children = children;
    this.parent = parent;
    this.kept = kept;
    this.places = new Int32Array(parent.length);
    /** @type {Map<number, number>} */
    this.sizes = new Map();
  }

  /**
   * @param {number} row
   * @returns {[number, number]} its place, from 1, and the number of siblings
   */
  of(row) {
    const { places, sizes } = this;
    const above = this.parent[row];
    const size = sizes.get(above) ?? this.count(above);
    sizes.set(above, size);
    return [places[row], size];
  }

  /** @param {number} above */
  count(above) {
    const { kept, places } = this;
    const { start, list } = this.children;
    let size = 0;
    for (let at = start[above + 1]; at < start[above + 2]; at++) {
      if (!kept || kept[list[at]]) places[list[at]] = ++size;
    }
    return size;
  }
}

/**
 * Where totals overlap, only what is a row's own adds up: keep rows below those of whose own they
 * are a part, and let all others stand alone; what is the root's own is a part beside them.
 * @param {Int32Array} parent
 * @param {ArrayLike<number>} own
 * @returns {Int32Array}
 */
export function parentsByOwn(parent, own) {
  return parent.map((above) => (parent[above] >= 0 && own[above] > 0 ? above : -1));
}
