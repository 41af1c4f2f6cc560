/** The samples of a run's memory, and the lines, steps and ops that ran. */

/**
 * @typedef {object} Mark
 * @property {string} kind line, step or op
 * @property {string} label
 * @property {string} short what to write where the label does not fit
 * @property {number} start in seconds
 * @property {number | null} end
 * @property {number | null} bytes
 */
/**
 * What the kernel sends besides the samples, which are buffers.
 * @typedef {object} Described
 * @property {number} seconds the duration of the run
 * @property {number} peak
 * @property {boolean} exact
 * @property {Mark[]} marks in the order of their start
 */
/** Smallest range of the vertical axis in bytes. */
const LEAST_RISE = 8 * 2 ** 20;

/**
 * Write a size as `format_mebibytes` in Python does.
 * @param {number} size
 */
export function mebibytes(size) {
  return `${(size / 2 ** 20).toFixed(1)} MiB`;
}

/**
 * Write a time as `format_seconds` in Python does.
 * @param {number} seconds
 */
export function moment(seconds) {
  if (seconds < 999.5e-6) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 0.9995) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  return `${seconds.toFixed(2)} s`;
}

/**
 * Return about `wanted` round numbers at equal distances.
 * @param {number} from
 * @param {number} to
 * @param {number} wanted
 */
export function ticks(from, to, wanted) {
  const rough = (to - from) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const found = [];
  for (let at = Math.ceil(from / step); at * step <= to; at++) found.push(at * step);
  return found;
}

export class Samples {
  /**
   * @param {Described} described
   * @param {Float64Array} seconds
   * @param {Float64Array} resident
   * @param {Float64Array} most since the sample before
   * @param {Uint8Array} gap
   */
  constructor(described, seconds, resident, most, gap) {
    this.described = described;
    this.seconds = seconds;
    this.resident = resident;
    this.most = most;
    this.gap = gap;
    this.low = resident.reduce((least, size) => Math.min(least, size), Infinity);
    this.high = Math.max(described.peak, this.low + LEAST_RISE);
    this.end = Math.max(described.seconds, seconds[seconds.length - 1]);
    this.highest = most.indexOf(most.reduce((high, size) => Math.max(high, size), -Infinity));
  }

  /**
   * @param {number} time
   * @returns {number} the nearest sample
   */
  nearest(time) {
    let [low, high] = [0, this.seconds.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.seconds[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low > 0 && time - this.seconds[low - 1] < this.seconds[low] - time ? low - 1 : low;
  }

  /**
   * Return what ran since the sample before: the last line, and the steps and ops that overlap.
   * @param {number} at
   * @returns {Mark[]}
   */
  running(at) {
    const [from, to] = [at ? this.seconds[at - 1] : 0, this.seconds[at]];
    /** @type {Mark | null} */
    let line = null;
    /** @type {Mark[]} */
    const others = [];
    for (const mark of this.described.marks) {
      if (mark.start > to) break;
      if (mark.kind === "line") line = mark;
      else if ((mark.end ?? mark.start) >= from) others.push(mark);
    }
    others.sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
    return line ? [line, ...others] : others;
  }

  /**
   * @param {number} at a sample
   * @returns {string} what was held there, and what ran
   */
  describe(at) {
    const { seconds, resident, most, gap } = this;
    const rose = at > 0 && most[at] > Math.max(resident[at], resident[at - 1]);
    const inside = rose ? `, up to ${mebibytes(most[at])} since the sample before` : "";
    const unseen = gap[at] ? ", no sample was possible before it" : "";
    const names = this.running(at).map(({ label }) => label);
    const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
    const what = names.length ? `; ${names.slice(0, 3).join(", ")}${more}` : "";
    return `${moment(seconds[at])}: ${mebibytes(resident[at])} held${inside}${unseen}${what}`;
  }
}
