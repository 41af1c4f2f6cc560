/** The tree as arrays: children by parent, their order, which rows are kept, which are seen. */

import { inOrderOf } from "./order.js";

/**
 * @typedef {{start: Int32Array, list: Int32Array}} Children
 * The children of row r are list[start[r + 1]] to list[start[r + 2] - 1]; those without a parent
 * are the children of -1.
 */

/**
 * @param {Int32Array} parent
 * @returns {Children}
 */
export function childrenOf(parent) {
  const count = parent.length;
  const start = new Int32Array(count + 2);
  for (let row = 0; row < count; row++) start[parent[row] + 2]++;
  for (let place = 1; place < start.length; place++) start[place] += start[place - 1];
  const next = start.slice();
  const list = new Int32Array(count);
  for (let row = 0; row < count; row++) list[next[parent[row] + 1]++] = row;
  return { start, list };
}

/**
 * Sort the children of every row by numbers; what is not known comes last, equal ones keep their order.
 * @param {Children} children
 * @param {ArrayLike<number>} key
 * @param {boolean} descending
 * @returns {Children}
 */
export function sorted({ start, list: before }, key, descending) {
  const placeAbove = new Int32Array(before.length);
  for (let place = 0; place < start.length - 1; place++) {
    for (let at = start[place]; at < start[place + 1]; at++) placeAbove[before[at]] = place;
  }
  const next = start.slice();
  const list = new Int32Array(before.length);
  const rows = inOrderOf(key, descending);
  for (let at = 0; at < rows.length; at++) list[next[placeAbove[rows[at]]]++] = rows[at];
  return { start, list };
}

/**
 * Mark every row above a marked one, too.
 * @param {Uint8Array} marked
 * @param {Int32Array} parent
 */
export function markAncestors(marked, parent) {
  for (let row = marked.length - 1; row >= 0; row--) {
    if (marked[row] && parent[row] >= 0) marked[parent[row]] = 1;
  }
}

/**
 * List the rows that are seen: kept ones below open ones.
 * @param {Children} children
 * @param {Uint8Array} open
 * @param {Uint8Array | null} kept
 * @returns {Int32Array}
 */
export function seen({ start, list }, open, kept) {
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
      places.push(start[row + 1]);
      ends.push(start[row + 2]);
    }
  }
  return rows.subarray(0, count);
}

/** The places of rows among their kept siblings, counted for all that are below a row at once. */
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
   * Give the place of a row, from 1, and how many siblings there are.
   * @param {number} row
   * @returns {[number, number]}
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
