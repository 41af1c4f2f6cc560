/** The tables of views: columns, rows and their parents, as `packed_view.py` describes them. */

import { numbers } from "./packed_columns.js";

/** @typedef {import("./packed_columns.js").Buffers} Buffers */
/** @typedef {import("./packed_columns.js").Packed} Packed */
/**
 * @typedef {{values: Float64Array, whole: number | null}} Replacement
 * @typedef {"total" | "self" | "label"} Role
 * @typedef {{column: string, key: string, metric?: string, title: string, help: string, role: Role,
 *   unit: string, brought: boolean, lasting?: boolean, at_one_moment?: boolean,
 *   whole?: number | null, data: Packed}} PackedColumn
 * @typedef {{name: string, doc: string, rows: number, of: number, tree?: boolean, short?: boolean,
 *   calls?: boolean, stated?: boolean,
 *   per_step?: boolean, names: Packed, parent?: Packed, beside: Record<string, Packed>,
 *   frame_rows?: Packed, lines?: {file: Packed, line: Packed},
 *   functions?: Packed, columns: PackedColumn[],
 *   places?: {row: Packed, steps?: Packed} | null, options: Record<string, string>}} PackedView
 */

const LASTS = " (of the whole cell, even if a time range is chosen)";

/** A column of a view; its numbers are read when they are first needed. */
export class Column {
  /**
   * @param {PackedColumn} packed
   * @param {Buffers} buffers
   */
  constructor(packed, buffers) {
    this.key = packed.key;
    this.metric = packed.metric ?? "";
    this.column = packed.column;
    this.title = packed.title;
    /** Whether the numbers are the same for every stretch of time. */
    this.lasting = packed.lasting ?? false;
    /** Whether the numbers are amounts at one moment, which are not divided by steps. */
    this.atOneMoment = packed.at_one_moment ?? false;
    this.help = packed.help + (this.lasting ? LASTS : "");
    this.role = packed.role;
    this.unit = packed.unit;
    /** The amount that is 100 % for the whole time; null if unknown, or if shares make no sense. */
    this.wholeShipped = packed.whole ?? null;
    /** Whether the column came along with another and was not selected itself. */
    this.brought = packed.brought;
    /** The buffer that holds the numbers; equal columns share one. */
    this.place = packed.data[0];
    /** @type {() => Float64Array} */
    this.read = () => numbers(packed.data, buffers);
    /** @type {Float64Array | null} */
    this.known = null;
    /** @type {(() => Replacement) | null} */
    this.replace = null;
    /** @type {Replacement | null} */
    this.replaced = null;
  }

  /** @returns {Replacement | null} the numbers shown instead of the shipped ones */
  get replacement() {
    return this.replace && (this.replaced ??= this.replace());
  }

  /** @returns {Float64Array} the numbers shown, or for a label the codes of the texts */
  get values() {
    return this.replacement?.values ?? this.shipped;
  }

  /** @returns {Float64Array} the numbers of all the time */
  get shipped() {
    this.known ??= this.read();
    return this.known;
  }

  /** @returns {number | null} the amount that is 100 % of the numbers shown */
  get whole() {
    return this.wholeShipped === null ? null : this.replacement?.whole ?? this.wholeShipped;
  }

  /**
   * Show other numbers, such as those of a stretch of time; null shows the shipped ones again.
   * @param {(() => Replacement) | null} replace
   */
  setReplacement(replace) {
    this.replace = replace;
    this.replaced = null;
  }
}

/** One view: rows in the order of the report, each after its parent. */
export class Table {
  /**
   * @param {PackedView} packed
   * @param {import("./dictionary.js").Dictionary} dictionary
   * @param {Buffers} buffers
   */
  constructor(packed, dictionary, buffers) {
    this.name = packed.name;
    this.doc = packed.doc;
    this.rows = packed.rows;
    /** The number of rows of the view; the lightest may not have been shipped. */
    this.of = packed.of;
    this.tree = packed.tree ?? false;
    this.short = packed.short;
    /** Whether totals are not sums of what is below, so that parts overlap. */
    this.overlaps = packed.stated ?? false;
    /** Whether a row called the rows below it. */
    this.calls = packed.calls ?? false;
    this.options = packed.options;
    this.dictionary = dictionary;
    this.strings = dictionary.strings;
    this.nameCodes = new Int32Array(numbers(packed.names, buffers));
    this.parent = packed.parent
      ? new Int32Array(numbers(packed.parent, buffers))
      : new Int32Array(packed.rows).fill(-1);
    this.depth = new Int32Array(packed.rows);
    for (let row = 0; row < packed.rows; row++) {
      this.depth[row] = this.parent[row] < 0 ? 0 : this.depth[this.parent[row]] + 1;
    }
    this.columns = packed.columns.map((column) => new Column(column, buffers));
    /** @type {(column?: Packed) => Float64Array | null} */
    const optional = (column) => (column ? numbers(column, buffers) : null);
    this.frameRows = optional(packed.frame_rows);
    /** For each row the function it shows, if rows are functions; -1 for none. */
    this.functions = optional(packed.functions);
    /** The codes of texts shown beside the names, such as the source of a line. */
    this.besideCodes = Object.values(packed.beside).map((column) => numbers(column, buffers));
    this.source = optional(packed.beside.source);
    const { places, lines } = packed;
    /** For each row the code of its file and its line, which is 0 if it has none of its own. */
    this.lines = lines ? { file: numbers(lines.file, buffers), line: numbers(lines.line, buffers) } : null;
    /** The row of each kind of op runs: -2 - r if it counts only in the total of row r. */
    this.kindRows = places ? new Int32Array(numbers(places.row, buffers)) : null;
    /** The number of steps in which the node of each kind ran. */
    this.kindSteps = optional(places?.steps);
  }

  /** @param {number} row */
  nameOf(row) {
    return this.strings[this.nameCodes[row]];
  }

  /**
   * Return the name without the part that the row above already shows.
   * @param {number} row
   */
  shortName(row) {
    const name = this.nameOf(row);
    const parent = this.parent[row];
    if (!this.short || parent < 0) return name;
    const above = `${this.nameOf(parent)}/`;
    return name.startsWith(above) ? name.slice(above.length) : name;
  }

  /**
   * Return what is shown beside the name: a line's source, a layer's class, a variable's shape.
   * @param {number} row
   */
  beside(row) {
    return this.besideCodes.map((codes) => this.strings[codes[row]]).filter(Boolean).join("  ");
  }

  /** @param {string} key */
  column(key) {
    return this.columns.find((column) => column.key === key);
  }
}
