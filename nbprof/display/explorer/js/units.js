/** Write numbers as `nbprof/units.py` does; a test compares both. */

export const NOT_RECORDED = "n/a";

/**
 * Write two decimals; exact halves round to even, as in Python.
 * @param {number} value
 */
function fixed(value) {
  const eighths = value * 8;
  const down = eighths % 8 === 1 || eighths % 8 === 5;
  return (down ? Math.floor(value * 100) / 100 : value).toFixed(2);
}

/** @param {number} micros */
function formatMicros(micros) {
  if (micros < 1e3) return Number.isInteger(micros) ? `${micros}us` : `${fixed(micros)}us`;
  return micros < 1e6 ? `${fixed(micros / 1e3)}ms` : `${fixed(micros / 1e6)}sec`;
}

/** @param {number} size */
function formatBytes(size) {
  if (size < 1e3) return `${size % 2 === 0.5 ? Math.floor(size) : Math.round(size)}B`;
  return size < 1e6 ? `${fixed(size / 1e3)}KB` : `${fixed(size / 1e6)}MB`;
}

/** @param {number} count */
function formatCount(count) {
  if (count < 1e3) return String(Number(count.toPrecision(4)));
  if (count < 1e6) return `${fixed(count / 1e3)}k`;
  return count < 1e9 ? `${fixed(count / 1e6)}m` : `${fixed(count / 1e9)}b`;
}

/**
 * Write a whole number with commas.
 * @param {number} count
 */
export function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** @type {Record<string, (value: number) => string>} */
const FORMATS = { micros: formatMicros, bytes: formatBytes, count: formatCount };

/**
 * Write a number in its unit.
 * @param {number} value
 * @param {string} unit
 */
export function format(value, unit) {
  return Number.isNaN(value) ? NOT_RECORDED : FORMATS[unit](value);
}

/** @type {Record<string, Record<string, number>>} */
const FACTORS = {
  micros: { "": 1, us: 1, µs: 1, ms: 1e3, s: 1e6, sec: 1e6 },
  bytes: { "": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9 },
  count: { "": 1, k: 1e3, m: 1e6, b: 1e9 },
};

/**
 * Read `1.5ms`, `20 MB`, `3k` or `5%` (of the whole); null if the text is none of these.
 * @param {string} text
 * @param {string} unit
 * @param {number | null} whole
 * @returns {number | null}
 */
export function parseAmount(text, unit, whole) {
  const found = /^\s*(\d+\.?\d*|\.\d+)\s*(%|[a-zµ]*)\s*$/i.exec(text);
  if (!found) return null;
  if (found[2] === "%") return whole === null ? null : (Number(found[1]) * whole) / 100;
  const factor = FACTORS[unit][found[2].toLowerCase()];
  return factor === undefined ? null : Number(found[1]) * factor;
}

/**
 * Write a share in percent; nothing if the number or the whole is unknown or zero.
 * @param {number} value
 * @param {number | null} whole
 */
export function share(value, whole) {
  if (whole === null || !(value > 0)) return "";
  return `${((100 * value) / whole).toFixed(1)}%`;
}
