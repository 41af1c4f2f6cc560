/** Sort rows by numbers: few rows by comparison, many by radix sort. */

/** Fewer rows than this are sorted by comparison. */
const FEW = 2000;
const BITS_PER_DIGIT = 11;
const DIGITS = 2 ** BITS_PER_DIGIT;
const SIGN_BIT = 0x80000000;
const ALL_BITS = 0xffffffff;

/**
 * Sort ascending rows by their numbers, in place; unknown numbers come last, ties keep their order.
 * @param {Int32Array} rows
 * @param {ArrayLike<number>} key
 * @param {boolean} descending
 */
export function sortRows(rows, key, descending) {
  if (rows.length < FEW) {
    const sign = descending ? -1 : 1;
    rows.sort((a, b) => compare(key[a], key[b], sign) || a - b);
    return;
  }
  const before = rows.slice();
  const places = sortedPlaces(Float64Array.from(rows, (row) => key[row]), descending);
  for (let at = 0; at < rows.length; at++) rows[at] = before[places[at]];
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} sign
 */
function compare(x, y, sign) {
  if (x !== x || y !== y) return Number(x !== x) - Number(y !== y);
  return x < y ? -sign : x > y ? sign : 0;
}

/**
 * Return the places of numbers in sorted order.
 * @param {Float64Array} key
 * @param {boolean} descending
 * @returns {Int32Array}
 */
function sortedPlaces(key, descending) {
  const { low, high } = sortableBits(key, descending);
  let rows = new Int32Array(key.length);
  for (let row = 0; row < rows.length; row++) rows[row] = row;
  let spare = new Int32Array(key.length);
  for (const half of [low, high]) {
    for (let shift = 0; shift < 32; shift += BITS_PER_DIGIT) {
      if (sortByDigit(half, shift, rows, spare)) [rows, spare] = [spare, rows];
    }
  }
  return rows;
}

/**
 * Turn numbers into bits that sort as the numbers do.
 * @param {Float64Array} key
 * @param {boolean} descending
 */
function sortableBits(key, descending) {
  const low = new Uint32Array(key.length);
  const high = new Uint32Array(key.length);
  const number = new Float64Array(1);
  const halves = new Uint32Array(number.buffer);
  for (let row = 0; row < key.length; row++) {
    // Adding 0 turns -0 into 0, which has the same rank.
    number[0] = key[row] + 0;
    if (number[0] !== number[0]) {
      low[row] = high[row] = ALL_BITS;
      continue;
    }
    const flipped = halves[1] >= SIGN_BIT !== descending ? ALL_BITS : 0;
    low[row] = halves[0] ^ flipped;
    high[row] = halves[1] ^ flipped ^ (halves[1] >= SIGN_BIT ? 0 : SIGN_BIT);
  }
  return { low, high };
}

/**
 * Sort rows by one digit; return false, and do nothing, if it is the same in all.
 * @param {Uint32Array} half
 * @param {number} shift
 * @param {Int32Array} rows
 * @param {Int32Array} ordered receives the sorted rows
 * @returns {boolean}
 */
function sortByDigit(half, shift, rows, ordered) {
  const next = new Int32Array(DIGITS + 1);
  for (let row = 0; row < half.length; row++) next[((half[row] >>> shift) & (DIGITS - 1)) + 1]++;
  if (!half.length || next[((half[0] >>> shift) & (DIGITS - 1)) + 1] === half.length) return false;
  for (let digit = 1; digit < DIGITS; digit++) next[digit] += next[digit - 1];
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place];
    ordered[next[(half[row] >>> shift) & (DIGITS - 1)]++] = row;
  }
  return true;
}
