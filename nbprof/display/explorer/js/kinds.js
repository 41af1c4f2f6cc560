/**
 * The kinds of op runs: runs that count in the same rows of every view, with the same numbers. How
 * often each kind ran, and for how long, gives the numbers of any view for a part of the time.
 */

import { numbers } from "./data.js";

/** @typedef {import("./data.js").Packed} Packed */
/** @typedef {import("./data.js").Table} Table */
/**
 * @typedef {{events: Packed, names: Packed, types: Packed, devices: Packed,
 *   runs: Packed, accelerator: Packed,
 *   ns: Packed, metrics: Record<string, Packed>}} PackedKinds
 * @typedef {{events: ArrayLike<number>, ns: ArrayLike<number>}} Amounts of each kind
 * @typedef {{own: Float64Array, total: Float64Array, whole: number}} Added
 * @typedef {{of: (metric: string) => Added | null, there: Uint8Array}} Sums
 */

const CLOSE = 1e-6;
/** What is not added up in the same way as one of these is not at all. */
const CHECKED = ["micros", "run_count"];
/** These do not change with time. */
const LASTING = ["params", "defined_count"];
const OF_ALL = " (of the whole cell, also where a stretch of time is chosen)";

export class Kinds {
  /**
   * @param {PackedKinds} packed
   * @param {string[]} strings
   * @param {import("./data.js").Buffers} buffers
   */
  constructor(packed, strings, buffers) {
    this.strings = strings;
    this.packed = packed;
    /** @type {Map<Packed, Float64Array>} */
    this.known = new Map();
    /** @type {(one: Packed) => Float64Array} reads numbers when they are first looked at */
    this.read = (one) => {
      const found = this.known.get(one) ?? numbers(one, buffers);
      this.known.set(one, found);
      return found;
    };
    /** @type {WeakMap<Table, boolean>} */
    this.checked = new WeakMap();
  }

  get count() {
    return this.types.length;
  }

  get names() {
    return this.read(this.packed.names);
  }

  get types() {
    return this.read(this.packed.types);
  }

  get devices() {
    return this.read(this.packed.devices);
  }

  /** @returns {Amounts} of all the time */
  get all() {
    return { events: this.read(this.packed.events), ns: this.read(this.packed.ns) };
  }

  /** @param {number} kind */
  nameOf(kind) {
    return this.strings[this.names[kind]];
  }

  /** @param {number} kind */
  typeOf(kind) {
    return this.strings[this.types[kind]];
  }

  /**
   * Give the function from a kind to what its runs have of a metric.
   * @param {string} metric
   * @param {Amounts} amounts
   * @returns {((kind: number) => number) | null}
   */
  amountOf(metric, { events, ns }) {
    const { packed } = this;
    if (packed.metrics[metric]) {
      const each = this.read(packed.metrics[metric]);
      return (kind) => each[kind] * events[kind];
    }
    const [runs, accelerator] = [this.read(packed.runs), this.read(packed.accelerator)];
    if (metric === "micros") return (kind) => ns[kind] / 1e3;
    if (metric === "accelerator_micros") return (kind) => (accelerator[kind] ? ns[kind] / 1e3 : 0);
    if (metric === "cpu_micros") return (kind) => (accelerator[kind] ? 0 : ns[kind] / 1e3);
    return metric === "run_count" ? (kind) => runs[kind] * events[kind] : null;
  }

  /**
   * Add kinds up: for every metric of a view each row's own, and the total.
   * @param {Table} table
   * @param {Amounts} amounts
   * @param {boolean} [perStep] whether to divide by the steps in which the node of a kind ran
   * @returns {Sums | null}
   */
  sums(table, amounts, perStep = false) {
    const rows = table.kindRows;
    const steps = perStep ? table.kindSteps : null;
    if (!rows || (perStep && !steps)) return null;
    const there = new Uint8Array(table.rows);
    const { events } = amounts;
    for (let kind = 0; kind < rows.length; kind++) if (events[kind]) there[rowOf(rows[kind])] = 1;
    /** @type {Map<string, Added | null>} */
    const known = new Map();
    /** @type {(metric: string) => Added | null} */
    const of = (metric) => {
      let added = known.get(metric);
      if (added === undefined) {
        added = this.addUp(table, rows, amounts, metric, steps);
        known.set(metric, added);
      }
      return added;
    };
    return { of, there };
  }

  /**
   * @param {Table} table
   * @param {Int32Array} rows of the kinds
   * @param {Amounts} amounts
   * @param {string} metric
   * @param {Float64Array | null} steps
   * @returns {Added | null}
   */
  addUp(table, rows, amounts, metric, steps) {
    const amount = this.amountOf(metric, amounts);
    if (!amount) return null;
    const adding = new Adding(table);
    const { events } = amounts;
    for (let kind = 0; kind < rows.length; kind++) {
      if (events[kind]) adding.add(rows[kind], steps ? amount(kind) / steps[kind] : amount(kind));
    }
    return adding.added();
  }

  /**
   * Tell whether all runs add up to the numbers of this view, row by row.
   * @param {Table} table
   * @returns {boolean}
   */
  addUpTo(table) {
    const known = this.checked.get(table);
    if (known !== undefined) return known;
    const metrics = table.columns.map(({ metric }) => metric);
    const checked = [...CHECKED, ...metrics].find((name) => metrics.includes(name)) ?? "";
    const added = this.sums(table, this.all)?.of(checked);
    const right =
      !!added &&
      table.columns.every(({ metric, role, shipped }) => {
        const mine = role === "total" ? added.total : added.own;
        return metric !== checked || mine.every((value, row) => near(value, shipped[row]));
      });
    this.checked.set(table, right);
    return right;
  }
}

/** @param {number} place */
const rowOf = (place) => (place < -1 ? -2 - place : place);

/**
 * @param {number} one
 * @param {number} other
 */
const near = (one, other) => !(Math.abs(one - other) > CLOSE * (1 + Math.abs(one)));

/** Numbers on the way to their rows; what is not known is left out, unless nothing is known. */
class Adding {
  /** @param {Table} table */
  constructor(table) {
    this.table = table;
    this.whole = 0;
    this.own = new Float64Array(table.rows);
    this.total = new Float64Array(table.rows);
    /** 1: something is not known, 2: something is. */
    this.ownKnown = new Uint8Array(table.rows);
    this.totalKnown = new Uint8Array(table.rows);
  }

  /**
   * @param {number} place of a kind
   * @param {number} value
   */
  add(place, value) {
    const known = value === value;
    if (known) this.whole += value;
    const row = rowOf(place);
    if (row < 0) return;
    this.totalKnown[row] |= known ? 2 : 1;
    if (known) this.total[row] += value;
    if (place < 0) return;
    this.ownKnown[row] |= known ? 2 : 1;
    if (known) this.own[row] += value;
  }

  /** @returns {Added} */
  added() {
    const { own, total, ownKnown, totalKnown, table } = this;
    for (let row = table.rows - 1; row > 0; row--) {
      const above = table.parent[row];
      if (above < 0) continue;
      total[above] += total[row];
      totalKnown[above] |= totalKnown[row];
    }
    for (let row = 0; row < table.rows; row++) {
      if (ownKnown[row] === 1) own[row] = NaN;
      if (totalKnown[row] === 1) total[row] = NaN;
    }
    return { own, total, whole: this.whole };
  }
}

/**
 * Show other sums in a table; null: those of everything again. Gives the rows that ran.
 * @param {Table} table
 * @param {Sums | null} sums
 * @returns {Uint8Array | null}
 */
export function showSums(table, sums) {
  for (const column of table.columns) {
    const { metric, role } = column;
    if (LASTING.includes(metric) && !column.help.endsWith(OF_ALL)) column.help += OF_ALL;
    if (!sums || !metric || LASTING.includes(metric)) column.setRange(null);
    else {
      column.setRange(() => {
        const added = sums.of(metric);
        if (!added) return { values: new Float64Array(table.rows).fill(NaN), whole: null };
        const values = role === "total" ? added.total : added.own;
        // What does not count for itself does not in a part of the time, either.
        for (let row = 0; row < table.rows; row++) {
          if (column.shipped[row] !== column.shipped[row]) values[row] = NaN;
        }
        return { values, whole: added.whole };
      });
    }
  }
  return sums && sums.there;
}
