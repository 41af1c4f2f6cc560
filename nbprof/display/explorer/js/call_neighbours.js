/** Who called a row's function, and what it called: from a tree of calls, or from a graph of them. */

import { numbers } from "./packed_columns.js";

/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_table.js").Column} Column */
/** @typedef {import("./packed_columns.js").Packed} Packed */
/**
 * `row` is where it is in the table, -1 if nowhere; `calls` is NaN where calls are not counted.
 * @typedef {{name: string, row: number, value: number, calls: number}} Party
 * @typedef {Party & {unit: string, callers: Party[], callees: Party[]}} Neighbours
 * @typedef {{names: Packed, calls: Packed, micros: Packed, caller: Packed, callee: Packed,
 *   edge_calls: Packed, edge_micros: Packed}} PackedCalls
 */

/**
 * Add up the rows that have the same name as this one; what is below such a row counts once.
 * @param {Table} table a tree
 * @param {Column} column
 * @param {number} row
 * @returns {Neighbours}
 */
export function neighboursInTree(table, column, row) {
  const { nameCodes: names, parent } = table;
  const { values, unit } = column;
  const focus = names[row];
  const [callers, callees] = [new Parties(table), new Parties(table)];
  let value = 0;
  /** @type {(row: number, below: number | undefined) => boolean} whether it repeats a row above it */
  const repeats = (row, below) => {
    for (let up = parent[row]; up >= 0; up = parent[up]) {
      if (names[up] === names[row] && (below === undefined || names[parent[up]] === below)) return true;
    }
    return false;
  };
  for (let at = 0; at < table.rows; at++) {
    const above = parent[at];
    if (names[at] === focus && !repeats(at, undefined)) {
      value += values[at] || 0;
      if (above >= 0) callers.add(above, values[at]);
    }
    if (above >= 0 && names[above] === focus && !repeats(at, focus)) callees.add(at, values[at]);
  }
  const name = table.nameOf(row);
  return { name, row, value, calls: NaN, unit, callers: callers.listed(), callees: callees.listed() };
}

/** Rows added up by name; each name has the row that counts most. */
class Parties {
  /** @param {Table} table */
  constructor(table) {
    this.table = table;
    /** @type {Map<number, {party: Party, most: number}>} */
    this.found = new Map();
  }

  /**
   * @param {number} row
   * @param {number} value
   */
  add(row, value) {
    const { nameCodes } = this.table;
    const fresh = { party: { name: this.table.nameOf(row), row, value: 0, calls: NaN }, most: -1 };
    const known = this.found.get(nameCodes[row]) ?? fresh;
    this.found.set(nameCodes[row], known);
    known.party.value += value || 0;
    if (!(value > known.most)) return;
    known.party.row = row;
    known.most = value;
  }

  listed() {
    return heaviestFirst([...this.found.values()].map(({ party }) => party));
  }
}

/** @param {Party[]} parties */
function heaviestFirst(parties) {
  return parties.sort((a, b) => b.value - a.value || a.name.localeCompare(b.name));
}

/** The functions that were called and their calls of each other, as `packed_calls.py` ships them. */
export class CallGraph {
  /**
   * @param {PackedCalls} packed
   * @param {string[]} strings
   * @param {import("./packed_columns.js").Buffers} buffers
   */
  constructor(packed, strings, buffers) {
    this.strings = strings;
    const read = (/** @type {keyof PackedCalls} */ key) => numbers(packed[key], buffers);
    this.functions = { names: read("names"), calls: read("calls"), micros: read("micros") };
    this.edges = { caller: read("caller"), callee: read("callee"), calls: read("edge_calls") };
    this.micros = read("edge_micros");
  }

  /**
   * @param {Table} table whose rows are functions
   * @param {number} row
   * @returns {Neighbours | null}
   */
  neighbours(table, row) {
    const { names, calls, micros } = this.functions;
    const rows = table.functions ?? new Float64Array(0);
    // A row below a function is about the function.
    while (rows[row] < 0 && table.parent[row] >= 0) row = table.parent[row];
    const focus = rows[row];
    if (!(focus >= 0)) return null;
    /** @type {(of: number, value: number, calls: number) => Party} */
    const party = (of, value, calls) => {
      const place = rows.indexOf(of);
      return { name: place < 0 ? this.strings[names[of]] : table.nameOf(place), row: place, value, calls };
    };
    /** @type {(from: ArrayLike<number>, to: ArrayLike<number>) => Party[]} */
    const along = (from, to) => {
      /** @type {Party[]} */
      const found = [];
      for (let edge = 0; edge < from.length; edge++) {
        if (from[edge] === focus) found.push(party(to[edge], this.micros[edge], this.edges.calls[edge]));
      }
      return heaviestFirst(found);
    };
    const { caller, callee } = this.edges;
    const own = party(focus, micros[focus], calls[focus]);
    return { ...own, unit: "micros", callers: along(callee, caller), callees: along(caller, callee) };
  }
}
