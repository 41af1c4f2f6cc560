/**
 * What Python packed, as columns: `packing.py` writes what is read here.
 *
 * @typedef {{buffer: number, type: "i8" | "i16" | "i32" | "f64", per: number}} Packed
 * @typedef {"total" | "self" | "label"} Role
 * @typedef {{column: string, key: string, metric?: string, title: string, role: Role,
 *   unit: string, whole?: number | null, brought: boolean, data: Packed}} PackedColumn
 * @typedef {{name: string, rows: number, of: number, tree: boolean, short: boolean,
 *   per_step: boolean, names: Packed, parent?: Packed, source?: Packed, kind?: Packed,
 *   shape?: Packed, frame_rows?: Packed, columns: PackedColumn[],
 *   options: Record<string, string>}} PackedView
 * @typedef {{headline: string, notes: string[], left_out: string[], strings: string[],
 *   views: PackedView[], first: number, buffers: string[], open: string[], complete: string,
 *   help: Record<string, string>,
 *   timeline: import("./timeline_data.js").PackedTimeline | null}} Payload
 */

const ARRAYS = { i8: Int8Array, i16: Int16Array, i32: Int32Array, f64: Float64Array };
const MISSING = { i8: -128, i16: -32768, i32: -2147483648, f64: NaN };

/**
 * Read base64, as it stands in a page.
 * @param {string} text
 * @returns {Uint8Array}
 */
export function fromBase64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/**
 * Read a column of numbers; what is not known is NaN.
 * @param {Packed} packed
 * @param {Uint8Array[]} buffers
 * @returns {Float64Array}
 */
export function numbers(packed, buffers) {
  const bytes = buffers[packed.buffer];
  const ArrayType = ARRAYS[packed.type];
  // A view into a longer message may begin anywhere; a typed array may not.
  const aligned = bytes.byteOffset % ArrayType.BYTES_PER_ELEMENT ? bytes.slice() : bytes;
  const length = aligned.byteLength / ArrayType.BYTES_PER_ELEMENT;
  const memory = /** @type {ArrayBuffer} */ (aligned.buffer);
  const raw = new ArrayType(memory, aligned.byteOffset, length);
  if (raw instanceof Float64Array) return raw;
  const missing = MISSING[packed.type];
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) values[i] = raw[i] === missing ? NaN : raw[i] / packed.per;
  return values;
}

/** A column of a view, read when it is first looked at. */
export class Column {
  /**
   * @param {PackedColumn} packed
   * @param {string} help
   * @param {Uint8Array[]} buffers
   */
  constructor(packed, help, buffers) {
    this.key = packed.key;
    this.metric = packed.metric ?? "";
    this.column = packed.column;
    this.title = packed.title;
    this.help = help;
    this.role = packed.role;
    this.unit = packed.unit;
    this.wholeShipped = packed.whole ?? null;
    this.brought = packed.brought;
    this.place = packed.data.buffer;
    /** @type {number | null} */
    this.wholeRanged = null;
    /** @type {() => Float64Array} */
    this.read = () => numbers(packed.data, buffers);
    /** @type {Float64Array | null} */
    this.known = null;
    /** @type {Float64Array | null} */
    this.ranged = null;
  }

  /** @returns {Float64Array} the numbers, or for a label the entries of the dictionary */
  get values() {
    return this.ranged ?? this.shipped;
  }

  /** @returns {Float64Array} the numbers of all the time */
  get shipped() {
    this.known ??= this.read();
    return this.known;
  }

  /** @returns {number | null} what 100 % is */
  get whole() {
    return this.wholeShipped === null ? null : this.wholeRanged ?? this.wholeShipped;
  }

  /**
   * Show other numbers, those of a stretch of time; null: the shipped ones again.
   * @param {Float64Array | null} values
   * @param {number} [whole]
   */
  setRange(values, whole) {
    this.ranged = values;
    this.wholeRanged = values && whole ? whole : null;
  }
}

/** One view: rows in the order of the report, each after the row above it. */
export class Table {
  /**
   * @param {PackedView} packed
   * @param {Payload} payload
   * @param {Uint8Array[]} buffers
   */
  constructor(packed, { strings, help }, buffers) {
    this.name = packed.name;
    this.doc = help[packed.name];
    this.rows = packed.rows;
    this.of = packed.of;
    this.tree = packed.tree;
    this.short = packed.short;
    this.options = packed.options;
    this.perStep = packed.per_step;
    this.strings = strings;
    this.nameCodes = Int32Array.from(numbers(packed.names, buffers));
    this.parent = packed.parent
      ? Int32Array.from(numbers(packed.parent, buffers))
      : new Int32Array(packed.rows).fill(-1);
    this.depth = new Int32Array(packed.rows);
    for (let row = 0; row < packed.rows; row++) {
      this.depth[row] = this.parent[row] < 0 ? 0 : this.depth[this.parent[row]] + 1;
    }
    this.columns = packed.columns.map((one) => new Column(one, help[one.column], buffers));
    this.frameRows = packed.frame_rows ? numbers(packed.frame_rows, buffers) : null;
    this.source = packed.source ? numbers(packed.source, buffers) : null;
    this.kind = packed.kind ? numbers(packed.kind, buffers) : null;
    this.shape = packed.shape ? numbers(packed.shape, buffers) : null;
  }

  /** @param {number} row */
  nameOf(row) {
    return this.strings[this.nameCodes[row]];
  }

  /**
   * The name without what the row above already says.
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
   * What stands beside the name: a line's source, a layer's class, a variable's shape.
   * @param {number} row
   */
  beside(row) {
    const texts = [this.source, this.kind, this.shape];
    return texts.map((codes) => (codes ? this.strings[codes[row]] : "")).filter(Boolean).join("  ");
  }

  /** @param {string} key */
  column(key) {
    return this.columns.find((column) => column.key === key);
  }
}

/** Everything one explorer shows. */
export class Data {
  /**
   * @param {Payload} payload
   * @param {Uint8Array[]} buffers
   */
  constructor(payload, buffers) {
    this.headline = payload.headline;
    this.notes = payload.notes;
    this.leftOut = payload.left_out;
    this.complete = payload.complete;
    this.open = payload.open;
    this.first = payload.first;
    this.help = payload.help;
    this.views = payload.views;
    /** @type {(Table | undefined)[]} */
    this.tables = [];
    /** @type {(place: number) => Table} */
    this.read = (place) => new Table(payload.views[place], payload, buffers);
  }

  /**
   * @param {number} place
   * @returns {Table}
   */
  table(place) {
    return (this.tables[place] ??= this.read(place));
  }
}
