/** Rows in the order of numbers: sorted by the bits of the numbers, some at a time. */

const BITS = 11;
const DIGITS = 2 ** BITS;
const SIGN = 0x80000000;
const LAST = 0xffffffff;

/**
 * Give the rows in the order of their numbers; what is not known comes last, equal ones keep their order.
 * @param {ArrayLike<number>} key
 * @param {boolean} descending
 * @returns {Int32Array}
 */
export function inOrderOf(key, descending) {
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
 * @param {ArrayLike<number>} key
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
