/**
 * Columns of numbers as `buffer_store.py` packs them.
 *
 * @typedef {[buffer: number, type: "i8" | "i16" | "i32" | "f64" | "var", divisor?: number,
 *   deltas?: "deltas"]} Packed
 * @typedef {(place: number) => Uint8Array} Buffers
 */

const ARRAYS = { i8: Int8Array, i16: Int16Array, i32: Int32Array, f64: Float64Array };
const UNKNOWN = { i8: -128, i16: -32768, i32: -2147483648, f64: NaN };

/**
 * Read varints: groups of 7 bits, the lowest first. 0 stands for an unknown number, n + 1 for n.
 * @param {Uint8Array} bytes
 * @param {number} divisor
 * @returns {Float64Array}
 */
function varints(bytes, divisor) {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] < 128) count++;
  const values = new Float64Array(count);
  for (let i = 0, at = 0; at < count; at++) {
    let value = 0;
    let factor = 1;
    for (; bytes[i] >= 128; i++) {
      value += (bytes[i] - 128) * factor;
      factor *= 128;
    }
    value += bytes[i++] * factor;
    values[at] = value ? (value - 1) / divisor : NaN;
  }
  return values;
}

/**
 * @param {keyof typeof ARRAYS} type
 * @param {Uint8Array} bytes
 * @param {number} divisor
 * @returns {Float64Array}
 */
function fixedWidth(type, bytes, divisor) {
  const ArrayType = ARRAYS[type];
  // A buffer may begin anywhere in a longer one; a typed array must be aligned.
  const aligned = bytes.byteOffset % ArrayType.BYTES_PER_ELEMENT ? bytes.slice() : bytes;
  const length = aligned.byteLength / ArrayType.BYTES_PER_ELEMENT;
  const memory = /** @type {ArrayBuffer} */ (aligned.buffer);
  const raw = new ArrayType(memory, aligned.byteOffset, length);
  if (raw instanceof Float64Array) return raw;
  const unknown = UNKNOWN[type];
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) values[i] = raw[i] === unknown ? NaN : raw[i] / divisor;
  return values;
}

/**
 * Read a column of numbers; unknown ones are NaN.
 * @param {Packed} packed
 * @param {Buffers} buffers
 * @returns {Float64Array}
 */
export function numbers([place, type, divisor = 1, deltas], buffers) {
  const bytes = buffers(place);
  // Differences add up exactly only as whole numbers, so they are divided last.
  const first = deltas ? 1 : divisor;
  const values = type === "var" ? varints(bytes, first) : fixedWidth(type, bytes, first);
  if (!deltas) return values;
  let sum = 0;
  return values.map((difference) => (sum += difference) / divisor);
}

/**
 * Read the dictionary of texts from buffers, each of which holds a part of it as JSON.
 * @param {number[]} places of those buffers
 * @param {Buffers} buffers
 * @returns {string[]}
 */
export function dictionaryOf(places, buffers) {
  const decoder = new TextDecoder();
  return places.flatMap((place) => JSON.parse(decoder.decode(buffers(place))));
}
