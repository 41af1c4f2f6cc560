/** The events over time, and the numbers of a view for a stretch of it. */

import { numbers } from "./data.js";

/** @typedef {import("./data.js").Packed} Packed */
/** @typedef {import("./data.js").Table} Table */
/**
 * @typedef {{device: string, micros: Packed, bytes: Packed,
 *   peak: {micros: number, live_bytes: number}}} PackedMemory
 * @typedef {{of: number, events: number, lanes: string[], start: Packed, micros: Packed,
 *   lane: Packed, names: Packed, types: Packed,
 *   metrics: Record<string, Packed>, steps: [number, number, string][],
 *   memory: PackedMemory | null}} PackedTimeline
 */

/** Which of an event's texts is a row's name, by view; other views do not go by nodes. */
/** @type {Record<string, "names" | "types">} */
const ROWS_BY = { op: "types", scope: "names", graph: "names" };
const CLOSE = 1e-6;

export class Events {
  /**
   * @param {PackedTimeline} packed
   * @param {string[]} strings
   * @param {Uint8Array[]} buffers
   */
  constructor(packed, strings, buffers) {
    this.strings = strings;
    this.of = packed.of;
    this.lanes = packed.lanes;
    this.steps = packed.steps;
    this.start = numbers(packed.start, buffers);
    this.micros = numbers(packed.micros, buffers);
    this.lane = numbers(packed.lane, buffers);
    this.names = numbers(packed.names, buffers);
    this.types = numbers(packed.types, buffers);
    /** @type {Map<string, Float64Array>} */
    this.metrics = new Map();
    for (const [name, one] of Object.entries(packed.metrics)) {
      this.metrics.set(name, numbers(one, buffers));
    }
    this.memory = packed.memory && {
      device: packed.memory.device,
      peak: packed.memory.peak,
      micros: numbers(packed.memory.micros, buffers),
      bytes: numbers(packed.memory.bytes, buffers),
    };
    this.end = 0;
    for (let i = 0; i < this.count; i++) {
      this.end = Math.max(this.end, this.start[i] + this.micros[i]);
    }
    for (const [start, micros] of this.steps) this.end = Math.max(this.end, start + micros);
    /** @type {WeakMap<Table, boolean>} */
    this.checked = new WeakMap();
  }

  get count() {
    return this.start.length;
  }

  /**
   * Give the row of each event, -1: none.
   * @param {Table} table
   * @returns {Int32Array | null}
   */
  rowsIn(table) {
    const by = ROWS_BY[table.name];
    if (!by) return null;
    /** @type {Map<number, number>} */
    const row = new Map();
    table.nameCodes.forEach((code, place) => row.set(code, place));
    return Int32Array.from(this[by], (code) => row.get(code) ?? -1);
  }

  /**
   * Add the events that began in [from, to) up: for every metric each row's own, and the total.
   * @param {Table} table
   * @param {number} from
   * @param {number} to
   */
  sums(table, from, to) {
    const rows = this.rowsIn(table);
    if (!rows || !this.metrics.size) return null;
    /** @type {Map<string, Float64Array>} */
    const found = new Map();
    const there = new Uint8Array(table.rows);
    for (const [name, values] of this.metrics) {
      // Not recorded is never 0.
      if (!values.some((value) => value === value)) continue;
      const own = new Float64Array(table.rows);
      for (let i = 0; i < rows.length; i++) {
        if (rows[i] < 0 || this.start[i] < from || this.start[i] >= to) continue;
        there[rows[i]] = 1;
        if (values[i] === values[i]) own[rows[i]] += values[i];
      }
      const total = own.slice();
      for (let row = table.rows - 1; row >= 0; row--) {
        if (table.parent[row] >= 0) total[table.parent[row]] += total[row];
      }
      found.set(name, own).set(`total_${name}`, total);
    }
    return { found, there };
  }

  /**
   * Tell whether the events of all time add up to the numbers of this view, row by row.
   * @param {Table} table
   */
  addUpTo(table) {
    const known = this.checked.get(table);
    if (known !== undefined) return known;
    const all = this.sums(table, -Infinity, Infinity);
    const column = table.columns.find(({ key }) => all?.found.has(key) && key.endsWith("micros"));
    const checked = column ?? table.columns.find(({ key }) => all?.found.has(key));
    const mine = checked && all?.found.get(checked.key);
    const right = mine
      ? mine.every((value, row) => !(Math.abs(value - checked.shipped[row]) > CLOSE * (1 + value)))
      : false;
    this.checked.set(table, right);
    return right;
  }
}

/**
 * Show in a table only what began in [from, to); null: everything again. Gives the rows that ran.
 * @param {Events} events
 * @param {Table} table
 * @param {[number, number] | null} range
 * @returns {Uint8Array | null}
 */
export function restrict(events, table, range) {
  const made = range && events.addUpTo(table) ? events.sums(table, ...range) : null;
  for (const column of table.columns) {
    if (!column.metric) continue;
    const total = made?.found.get(`total_${column.metric}`);
    const whole = total && (table.tree ? total[0] : total.reduce((sum, one) => sum + one, 0));
    if (!made) column.setRange(null);
    else {
      const unknown = () => new Float64Array(table.rows).fill(NaN);
      column.setRange(made.found.get(column.key) ?? unknown(), whole);
    }
  }
  return made && made.there;
}
