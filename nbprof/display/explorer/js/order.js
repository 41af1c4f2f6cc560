/** Rows in the order of numbers: few by comparing, many by the bits of the numbers, some at a time. */

const FEW = 2000;
const BITS = 11;
const DIGITS = 2 ** BITS;
const SIGN = 0x80000000;
const LAST = 0xffffffff;

/**
 * Bring rows, which ascend, in the order of their numbers; what is not known comes last, equal ones
 * keep their order.
 * @param {Int32Array} rows
 * @param {ArrayLike<number>} key
 * @param {boolean} descending
 */
export function bringInOrder(rows, key, descending) {
  if (rows.length < FEW) {
    const sign = descending ? -1 : 1;
    rows.sort((a, b) => compared(key[a], key[b], sign) || a - b);
    return;
  }
  const before = rows.slice();
  const places = inOrderOf(Float64Array.from(rows, (row) => key[row]), descending);
  for (let at = 0; at < rows.length; at++) rows[at] = before[places[at]];
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} sign
 */
function compared(x, y, sign) {
  if (x !== x || y !== y) return Number(x !== x) - Number(y !== y);
  return x < y ? -sign : x > y ? sign : 0;
}

/**
 * Give the places of numbers in their order.
 * @param {Float64Array} key
 * @param {boolean} descending
 * @returns {Int32Array}
 */
function inOrderOf(key, descending) {
  const { low, high } = bitsOf(key, descending);
  let rows = new Int32Array(key.length);
  for (let row = 0; row < rows.length; row++) rows[row] = row;
  let spare = new Int32Array(key.length);
  for (const half of [low, high]) {
    for (let shift = 0; shift < 32; shift += BITS) {
      if (byDigit(half, shift, rows, spare)) [rows, spare] = [spare, rows];
    }
  }
  return rows;
}

/**
 * Make bits that are in order when the numbers are.
 * @param {Float64Array} key
 * @param {boolean} descending
 */
function bitsOf(key, descending) {
  const low = new Uint32Array(key.length);
  const high = new Uint32Array(key.length);
  const number = new Float64Array(1);
  const halves = new Uint32Array(number.buffer);
  for (let row = 0; row < key.length; row++) {
    // There is a zero below zero, which is the same.
    number[0] = key[row] + 0;
    if (number[0] !== number[0]) {
      low[row] = high[row] = LAST;
      continue;
    }
    const turned = halves[1] >= SIGN !== descending ? LAST : 0;
    low[row] = halves[0] ^ turned;
    high[row] = halves[1] ^ turned ^ (halves[1] >= SIGN ? 0 : SIGN);
  }
  return { low, high };
}

/**
 * Put rows in the order of one digit; false: it is the same in all.
 * @param {Uint32Array} half
 * @param {number} shift
 * @param {Int32Array} rows
 * @param {Int32Array} ordered is filled
 * @returns {boolean}
 */
function byDigit(half, shift, rows, ordered) {
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
