/** The tree as arrays: children by parent, their order, which rows are kept, which are seen. */

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
 * Sort the children of every row.
 * @param {Children} children
 * @param {(a: number, b: number) => number} compare
 * @returns {Children}
 */
export function sortedWith({ start, list: before }, compare) {
  const list = before.slice();
  for (let place = 0; place < start.length - 1; place++) {
    const end = start[place + 1];
    if (end - start[place] > 1) list.subarray(start[place], end).sort(compare);
  }
  return { start, list };
}

/**
 * Sort by numbers; what is not known comes last, equal ones keep their order.
 * @param {Children} children
 * @param {ArrayLike<number>} key
 * @param {boolean} descending
 * @returns {Children}
 */
export function sorted(children, key, descending) {
  const sign = descending ? -1 : 1;
  return sortedWith(children, (a, b) => {
    const x = key[a];
    const y = key[b];
    if (x === y) return a - b;
    if (x !== x) return y !== y ? a - b : 1;
    return y !== y ? -1 : sign * (x - y);
  });
}

/**
 * Sort by texts, in the order of the alphabet.
 * @param {Children} children
 * @param {ArrayLike<number>} codes
 * @param {string[]} strings
 * @param {boolean} descending
 * @returns {Children}
 */
export function sortedByText(children, codes, strings, descending) {
  const sign = descending ? -1 : 1;
  return sortedWith(children, (a, b) => {
    const x = strings[codes[a]];
    const y = strings[codes[b]];
    return x === y ? a - b : x < y ? -sign : sign;
  });
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

/**
 * Give the place of a row among its kept siblings, from 1, and how many there are.
 * @param {Children} children
 * @param {number} row
 * @param {number} parent
 * @param {Uint8Array | null} kept
 * @returns {[number, number]}
 */
export function placeAmongSiblings({ start, list }, row, parent, kept) {
  const first = start[parent + 1];
  const end = start[parent + 2];
  if (!kept) {
    const found = list.subarray(first, end).indexOf(row);
    return [found + 1, end - first];
  }
  let place = 0;
  let size = 0;
  for (let i = first; i < end; i++) {
    if (!kept[list[i]]) continue;
    size++;
    if (list[i] === row) place = size;
  }
  return [place, size];
}
