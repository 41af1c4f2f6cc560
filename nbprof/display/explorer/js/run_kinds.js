/**
 * Kinds of op runs: runs that count in the same rows of every view, with the same numbers. The
 * number of runs and the time of each kind add up to the numbers of any view.
 */

import { numbers } from "./packed_columns.js";

/** @typedef {import("./packed_columns.js").Packed} Packed */
/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_state.js").ViewState} ViewState */
/**
 * @typedef {{events: ArrayLike<number>, micros: ArrayLike<number>}} Amounts of each kind
 * @typedef {{of: keyof Amounts, each: Packed}} Weight how a metric adds up: amount times factor
 * @typedef {{names: Packed, types: Packed, kernels: Packed, fused: Packed, devices: Packed,
 *   events: Packed, micros: Packed, weights: Record<string, Weight>}} PackedKinds
 * @typedef {{own: Float64Array, total: Float64Array, whole: number}} Added
 * @typedef {{of: (metric: string) => Added | null, ran: Uint8Array, perStep: boolean}} Sums
 */

/** Largest relative difference allowed between a sum and the number that Python shipped. */
const SAME = 1e-6;
/** Metrics to compare with the shipped numbers, the best one first. */
const COMPARED = ["micros", "run_count"];

export class RunKinds {
  /**
   * @param {PackedKinds} packed
   * @param {string[]} strings
   * @param {import("./packed_columns.js").Buffers} buffers
   */
  constructor(packed, strings, buffers) {
    this.strings = strings;
    this.packed = packed;
    /** @type {Map<Packed, Float64Array>} */
    this.known = new Map();
    /** @type {(column: Packed) => Float64Array} reads a column when it is first needed */
    this.read = (column) => {
      const found = this.known.get(column) ?? numbers(column, buffers);
      this.known.set(column, found);
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
    return { events: this.read(this.packed.events), micros: this.read(this.packed.micros) };
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
   * @param {number} kind
   * @returns {string} its type, and what TensorFlow ran in its place
   */
  typeAndKernelOf(kind) {
    const kernel = this.strings[this.read(this.packed.kernels)[kind]];
    return this.typeOf(kind) + (kernel && `, ${kernel}`);
  }

  /**
   * @param {number} kind
   * @returns {boolean} whether it ran inside another op's kernel, for an unknown part of its time
   */
  isFused(kind) {
    return this.read(this.packed.fused)[kind] === 1;
  }

  /**
   * Add kinds up: for every metric of a view, each row's own and its total.
   * @param {Table} table
   * @param {Amounts} amounts
   * @param {boolean} [perStep] whether to divide by the number of steps in which a kind's node ran
   * @returns {Sums | null}
   */
  sums(table, amounts, perStep = false) {
    const rows = table.kindRows;
    const steps = perStep ? table.kindSteps : null;
    if (!rows || (perStep && !steps)) return null;
    const ran = new Uint8Array(table.rows);
    const { events } = amounts;
    for (let kind = 0; kind < rows.length; kind++) if (events[kind]) ran[rowOf(rows[kind])] = 1;
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
    return { of, ran, perStep };
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
    const weight = this.packed.weights[metric];
    if (!weight) return null;
    const each = this.read(weight.each);
    const amount = amounts[weight.of];
    const { events } = amounts;
    const sum = new TreeSum(table);
    for (let kind = 0; kind < rows.length; kind++) {
      const value = each[kind] * amount[kind];
      if (events[kind]) sum.add(rows[kind], steps ? value / steps[kind] : value);
    }
    return sum.finish();
  }

  /**
   * Return whether all runs add up to the shipped numbers of a view, row by row.
   * @param {Table} table
   * @returns {boolean}
   */
  addUpTo(table) {
    const known = this.checked.get(table);
    if (known !== undefined) return known;
    const metrics = table.columns.map(({ metric }) => metric);
    const compared = [...COMPARED, ...metrics].find((name) => metrics.includes(name)) ?? "";
    const added = this.sums(table, this.all)?.of(compared);
    const right =
      !!added &&
      table.columns.every(({ metric, role, shipped }) => {
        const mine = role === "total" ? added.total : added.own;
        return metric !== compared || mine.every((value, row) => isSameNumber(value, shipped[row]));
      });
    this.checked.set(table, right);
    return right;
  }
}

/**
 * @param {number} place of a kind among the rows of a view
 * @returns {number} the row in whose total it counts, -1 if in none
 */
export const rowOf = (place) => (place < -1 ? -2 - place : place);

/**
 * @param {number} one
 * @param {number} other
 */
const isSameNumber = (one, other) => !(Math.abs(one - other) > SAME * (1 + Math.abs(one)));

const UNKNOWN_SEEN = 1;
const KNOWN_SEEN = 2;

/** Sums of numbers by row; unknown numbers are skipped, a sum of only unknown ones is unknown. */
class TreeSum {
  /** @param {Table} table */
  constructor(table) {
    this.table = table;
    this.whole = 0;
    this.own = new Float64Array(table.rows);
    this.total = new Float64Array(table.rows);
    this.ownSeen = new Uint8Array(table.rows);
    this.totalSeen = new Uint8Array(table.rows);
  }

  /**
   * @param {number} place of a kind
   * @param {number} value
   */
  add(place, value) {
    const known = value === value;
    const seen = known ? KNOWN_SEEN : UNKNOWN_SEEN;
    if (known) this.whole += value;
    const row = rowOf(place);
    if (row < 0) return;
    this.totalSeen[row] |= seen;
    if (known) this.total[row] += value;
    if (place < 0) return;
    this.ownSeen[row] |= seen;
    if (known) this.own[row] += value;
  }

  /** @returns {Added} */
  finish() {
    const { own, total, ownSeen, totalSeen, table } = this;
    for (let row = table.rows - 1; row > 0; row--) {
      const above = table.parent[row];
      if (above < 0) continue;
      total[above] += total[row];
      totalSeen[above] |= totalSeen[row];
    }
    for (let row = 0; row < table.rows; row++) {
      if (ownSeen[row] === UNKNOWN_SEEN) own[row] = NaN;
      if (totalSeen[row] === UNKNOWN_SEEN) total[row] = NaN;
    }
    return { own, total, whole: this.whole };
  }
}

/**
 * Show sums in a table, or with null the shipped numbers; return the rows that ran.
 * @param {Table} table
 * @param {Sums | null} sums
 * @returns {Uint8Array | null}
 */
export function showSums(table, sums) {
  for (const column of table.columns) {
    const { metric, role } = column;
    const lasts = column.lasting || (column.atOneMoment && sums?.perStep);
    if (!sums || !metric || lasts) column.setReplacement(null);
    else {
      column.setReplacement(() => {
        const added = sums.of(metric);
        if (!added) return { values: new Float64Array(table.rows).fill(NaN), whole: null };
        const values = role === "total" ? added.total : added.own;
        // A row without a number of its own has none in a stretch of time, either.
        for (let row = 0; row < table.rows; row++) {
          if (column.shipped[row] !== column.shipped[row]) values[row] = NaN;
        }
        return { values, whole: added.whole };
      });
    }
  }
  return sums && sums.ran;
}

/**
 * @param {ViewState} state
 * @returns {Uint8Array | null} a mark for each kind that counts in or below a selected row
 */
export function selectedKinds({ table, selected }) {
  const { kindRows } = table;
  if (!selected.size || !kindRows) return null;
  const inside = new Uint8Array(table.rows);
  for (let row = 0; row < table.rows; row++) {
    inside[row] = Number(selected.has(row) || (table.parent[row] >= 0 && inside[table.parent[row]]));
  }
  return Uint8Array.from(kindRows, (place) => inside[rowOf(place)] ?? 0);
}
