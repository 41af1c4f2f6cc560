/** The state of one view: order, filters, open rows, shown columns, selection. */

import { childrenOf, listedRows, Siblings, sorted, withAncestors } from "./tree.js";

export const NAME = "name";
/** A row with more than this share of the whole is on the hot path. */
const HOT = 0.5;
/** Open the hot path until this many rows are shown. */
const AT_FIRST = 12;

/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_table.js").Column} Column */

export class ViewState {
  /** @param {Table} table */
  constructor(table) {
    this.table = table;
    this.children = childrenOf(table.parent);
    this.order = this.children;
    /** @type {{key: string, descending: boolean} | null} */
    this.sort = null;
    this.search = "";
    this.regex = false;
    /** @type {{key: string, least: number, text: string} | null} */
    this.minimum = null;
    this.open = new Uint8Array(table.rows);
    /** @type {Uint8Array | null} the rows that match the search */
    this.matching = null;
    /** @type {Uint8Array | null} the rows that no filter hides, and those above them */
    this.kept = null;
    /** @type {Uint8Array | null} the rows that are open while there is a search */
    this.unfolded = null;
    /** Whether the numbers are averages over steps. */
    this.perStep = false;
    /** @type {Uint8Array | null} the rows that ran in the chosen stretch of time */
    this.inRange = null;
    /** The number of rows that match the search but did not run in that stretch. */
    this.outside = 0;
    /** @type {import("./tree.js").Children | null} */
    this.byName = null;
    /** The number of rows that match the search. */
    this.found = table.rows;
    this.hidden = new Set(this.redundantColumns());
    /** @type {Set<number>} */
    this.selected = new Set();
    /** @type {Int32Array} the rows that the table lists, in order */
    this.rows = new Int32Array(0);
    /** @type {Siblings | null} */
    this.siblingPlaces = null;
    this.openHotPath();
    this.refresh();
  }

  /** @returns {Column | undefined} the column by which the report was ordered */
  get main() {
    const { columns, options } = this.table;
    const shared = columns.filter((column) => column.wholeShipped);
    const wanted = shared.find((column) => column.column === options.order_by);
    return wanted ?? shared[0] ?? columns.find((column) => column.metric);
  }

  /**
   * List columns to hide at first: those not selected that are zero or repeat another, and in
   * trees the rows' own numbers of all but the leading column.
   * @returns {string[]}
   */
  redundantColumns() {
    const { columns, tree } = this.table;
    const main = this.main;
    return columns
      .filter((column, place) => {
        if (tree && column.role === "self" && column.column !== main?.column) return true;
        if (!column.brought) return false;
        const same = columns.slice(0, place).some((before) => before.place === column.place);
        return same || !column.values.some((value) => value > 0);
      })
      .map((column) => column.key);
  }

  /** Open the root and, from there, the rows that most of the main metric is in. */
  openHotPath() {
    const { rows, tree } = this.table;
    const main = this.main;
    if (!tree || !rows) return;
    const { start, list } = this.children;
    let row = list[0];
    for (let shown = 1; shown < AT_FIRST && row !== undefined; ) {
      this.open[row] = 1;
      const below = list.subarray(start[row + 1], start[row + 2]);
      shown += below.length;
      const least = HOT * (main?.whole ?? Infinity);
      row = /** @type {number} */ (below.find((child) => (main?.values[child] ?? 0) > least));
    }
  }

  refresh() {
    this.siblingPlaces = null;
    this.rows = listedRows(this.order, this.unfolded ?? this.open, this.kept);
  }

  /** @returns {Column[]} the shown columns; the one by which the report was ordered leads */
  get columns() {
    const shown = this.table.columns.filter((column) => !this.hidden.has(column.key));
    const leads = this.main?.column;
    const first = shown.filter((column) => column.column === leads);
    return [...first, ...shown.filter((column) => column.column !== leads)];
  }

  /**
   * Sort by a column: heaviest first, then lightest first, then as reported; texts begin with A to Z.
   * @param {string} key
   */
  cycleSort(key) {
    const descending = key !== NAME && this.table.column(key)?.role !== "label";
    if (this.sort?.key !== key) this.setSort(key, descending);
    else if (this.sort.descending === descending) this.setSort(key, !descending);
    else this.setSort(null, false);
  }

  /**
   * @param {string | null} key
   * @param {boolean} descending
   */
  setSort(key, descending) {
    this.sort = key === null ? null : { key, descending };
    this.order = key === null ? this.children : this.inOrder(key, descending);
    this.refresh();
  }

  /**
   * @param {string} key
   * @param {boolean} descending
   */
  inOrder(key, descending) {
    const { table, children } = this;
    const column = key === NAME ? null : table.column(key);
    if (column?.metric) return sorted(children, column.values, descending);
    const codes = column?.values ?? table.nameCodes;
    const { ranks } = table.dictionary;
    const places = new Int32Array(codes.length);
    for (let row = 0; row < places.length; row++) places[row] = ranks[codes[row]];
    return sorted(children, places, descending);
  }

  /**
   * Keep the rows whose names contain the text, and those above.
   * @param {string} text
   * @param {boolean} regex
   * @returns {string} what is wrong with the text; empty if nothing is
   */
  setSearch(text, regex) {
    /** @type {RegExp | null} */
    let pattern = null;
    if (regex) {
      try {
        pattern = new RegExp(text, "i");
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    }
    this.search = text;
    this.regex = regex;
    this.filter(pattern);
    return "";
  }

  /**
   * @param {string} key
   * @param {number | null} least
   * @param {string} text
   */
  setMinimum(key, least, text) {
    this.minimum = least === null ? null : { key, least, text };
    this.filter(this.regex ? new RegExp(this.search, "i") : null);
  }

  /**
   * Filter and sort again after the numbers changed, the heaviest rows first.
   * @param {Uint8Array | null} ran the rows that ran in a stretch of time; null keeps all
   * @param {boolean} shipped whether the numbers are the shipped ones, whose order is the report's
   */
  setNumbers(ran, shipped) {
    this.inRange = ran && withAncestors(this.everyRow.filter((row) => ran[row]), this.table.parent);
    const main = shipped ? undefined : this.main;
    if (this.sort) this.order = this.inOrder(this.sort.key, this.sort.descending);
    else this.order = main ? this.inOrder(main.key, true) : this.children;
    this.filter(this.regex ? new RegExp(this.search, "i") : null);
  }

  /** @param {RegExp | null} pattern */
  filter(pattern) {
    const { table, search, minimum, inRange } = this;
    this.matching = this.kept = this.unfolded = null;
    this.outside = 0;
    this.found = table.rows;
    if (search || minimum || inRange) {
      const named = search ? this.named(pattern) : this.everyRow;
      const ran = inRange ? named.filter((row) => inRange[row]) : named;
      const values = minimum && table.column(minimum.key)?.values;
      // Rows with unknown numbers stay.
      const rows = values ? ran.filter((row) => !(values[row] < minimum.least)) : ran;
      this.kept = withAncestors(rows, table.parent);
      if (search) {
        this.outside = named.length - ran.length;
        this.found = rows.length;
        this.matching = new Uint8Array(table.rows);
        for (let at = 0; at < rows.length; at++) this.matching[rows[at]] = 1;
        this.unfolded = this.kept;
      }
    }
    this.refresh();
  }

  /** Build what a search needs. */
  prepare() {
    this.table.dictionary.prepare();
    return this.rowsByName;
  }

  get everyRow() {
    return Int32Array.from(this.table.parent, (_, row) => row);
  }

  /** @returns {import("./tree.js").Children} the rows of each name, as if they were its children */
  get rowsByName() {
    this.byName ??= childrenOf(this.table.nameCodes, this.table.strings.length);
    return this.byName;
  }

  /**
   * @param {RegExp | null} pattern
   * @returns {Int32Array} the rows whose names match it, or contain the text searched for
   */
  named(pattern) {
    const { start, list } = this.rowsByName;
    const names = pattern ? this.matchingNames(pattern) : this.table.dictionary.containing(this.search);
    const rows = new Int32Array(list.length);
    let count = 0;
    for (let place = 0; place < names.length; place++) {
      const end = start[names[place] + 2];
      for (let at = start[names[place] + 1]; at < end; at++) rows[count++] = list[at];
    }
    return rows.subarray(0, count);
  }

  /**
   * @param {RegExp} pattern
   * @returns {number[]} the names in this view that match
   */
  matchingNames(pattern) {
    const { strings } = this.table;
    const { start } = this.rowsByName;
    /** @type {number[]} */
    const found = [];
    for (let name = 0; name < strings.length; name++) {
      if (start[name + 2] > start[name + 1] && pattern.test(strings[name])) found.push(name);
    }
    return found;
  }

  /** @param {number} row */
  hasChildren(row) {
    return this.order.start[row + 2] > this.order.start[row + 1];
  }

  /** @param {number} row */
  isOpen(row) {
    return (this.unfolded ?? this.open)[row] === 1;
  }

  /**
   * @param {number} row
   * @param {boolean} open
   */
  setOpen(row, open) {
    if (this.unfolded === this.kept && this.unfolded) this.unfolded = this.unfolded.slice();
    (this.unfolded ?? this.open)[row] = Number(open);
    this.refresh();
  }

  /**
   * Open or close a row and all below it; -1 stands for all rows.
   * @param {number} row
   * @param {boolean} open
   */
  setOpenBelow(row, open) {
    const { parent } = this.table;
    if (this.unfolded) this.unfolded = this.unfolded.slice();
    const target = this.unfolded ?? this.open;
    const inside = new Uint8Array(parent.length);
    for (let place = 0; place < parent.length; place++) {
      inside[place] = Number(row < 0 || place === row || (parent[place] >= 0 && inside[parent[place]]));
      if (inside[place]) target[place] = Number(open);
    }
    this.refresh();
  }

  /**
   * Open or close all rows; closing leaves the root of a tree open.
   * @param {boolean} open
   */
  setOpenAll(open) {
    this.setOpenBelow(-1, open);
    if (!open && this.table.tree && this.table.rows) this.setOpen(0, true);
  }

  /**
   * Open what is above a row.
   * @param {number} row
   * @returns {number} its place among the listed rows, -1 if a filter hides it
   */
  reveal(row) {
    for (let above = this.table.parent[row]; above >= 0; above = this.table.parent[above]) {
      if (!this.isOpen(above)) this.setOpen(above, true);
    }
    return this.rows.indexOf(row);
  }

  /**
   * @param {number} row
   * @returns {[number, number]} its place among its siblings, from 1, and their number
   */
  siblings(row) {
    this.siblingPlaces ??= new Siblings(this.order, this.table.parent, this.kept);
    return this.siblingPlaces.of(row);
  }
}

/**
 * @param {Uint8Array} marked
 * @returns {number} the number of marked rows
 */
export function countOf(marked) {
  let count = 0;
  for (let row = 0; row < marked.length; row++) count += marked[row];
  return count;
}
