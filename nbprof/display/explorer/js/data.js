/**
 * What Python packed, as columns: `packing.py` writes what is read here.
 *
 * @typedef {[buffer: number, type: "i8" | "i16" | "i32" | "f64" | "var", per?: number,
 *   sums?: "sums"]} Packed
 * @typedef {(place: number) => Uint8Array} Buffers
 * @typedef {{values: Float64Array, whole: number | null}} Ranged
 * @typedef {"total" | "self" | "label"} Role
 * @typedef {{column: string, key: string, metric?: string, title: string, role: Role,
 *   unit: string, brought: boolean}} Described
 * @typedef {[number, number | null, Packed]} PackedColumn what it has in common with those of
 *   other views, what 100 % is, and the values
 * @typedef {{row: Packed, steps?: Packed}} PackedPlaces
 * @typedef {{name: string, rows: number, of: number, tree?: boolean, short?: boolean,
 *   per_step?: boolean, names: Packed, parent?: Packed, source?: Packed, kind?: Packed,
 *   shape?: Packed, frame_rows?: Packed, columns: PackedColumn[],
 *   places?: PackedPlaces | null, options: Record<string, string>}} PackedView
 * @typedef {{headline: string, notes: string[], left_out: string[], strings: string[],
 *   columns: Described[],
 *   alike: Packed, views: PackedView[], first: number, buffers: string[], open: string[],
 *   complete: string, help: Record<string, string>,
 *   kinds: import("./kinds.js").PackedKinds | null,
 *   cells: {files: Packed, lines: Packed, texts: Packed} | null,
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
  const array = /** @type {{fromBase64?: (text: string) => Uint8Array}} */ (Uint8Array);
  if (array.fromBase64) return array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/**
 * Give the buffers of a page, each read when it is first looked at.
 * @param {string[]} texts
 * @returns {Buffers}
 */
export function buffersOf(texts) {
  /** @type {Uint8Array[]} */
  const read = [];
  return (place) => (read[place] ??= fromBase64(texts[place]));
}

/**
 * Read numbers of groups of 7 bits, the lowest first; 0 is what is not known, 1 is 0.
 * @param {Uint8Array} bytes
 * @param {number} per
 * @returns {Float64Array}
 */
function varied(bytes, per) {
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
    values[at] = value ? (value - 1) / per : NaN;
  }
  return values;
}

/**
 * @param {keyof typeof ARRAYS} type
 * @param {Uint8Array} bytes
 * @param {number} per
 * @returns {Float64Array}
 */
function fixedWidth(type, bytes, per) {
  const ArrayType = ARRAYS[type];
  // A view into a longer message may begin anywhere; a typed array may not.
  const aligned = bytes.byteOffset % ArrayType.BYTES_PER_ELEMENT ? bytes.slice() : bytes;
  const length = aligned.byteLength / ArrayType.BYTES_PER_ELEMENT;
  const memory = /** @type {ArrayBuffer} */ (aligned.buffer);
  const raw = new ArrayType(memory, aligned.byteOffset, length);
  if (raw instanceof Float64Array) return raw;
  const missing = MISSING[type];
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) values[i] = raw[i] === missing ? NaN : raw[i] / per;
  return values;
}

/**
 * Read a column of numbers; what is not known is NaN.
 * @param {Packed} packed
 * @param {Buffers} buffers
 * @returns {Float64Array}
 */
export function numbers([place, type, per = 1, sums], buffers) {
  const bytes = buffers(place);
  const parts = sums ? 1 : per;
  const values = type === "var" ? varied(bytes, parts) : fixedWidth(type, bytes, parts);
  if (!sums) return values;
  // Each is what is to be added to the one before; parts are whole only before they are divided.
  let sum = 0;
  return values.map((more) => (sum += more) / per);
}

/**
 * Put the texts together again: each begins like the one before.
 * @param {string[]} joined the letter between them, if there is one, and the ends of the texts
 * @param {Float64Array} alike how many letters
 * @returns {string[]}
 */
export function textsOf([letter, ...ends], alike) {
  const texts = letter && alike.length ? ends[0].split(letter) : ends;
  let before = "";
  for (let at = 0; at < alike.length; at++) {
    const same = alike[at];
    texts[at] = before = same ? before.slice(0, same) + texts[at] : texts[at];
  }
  return texts;
}

/** A column of a view, read when it is first looked at. */
export class Column {
  /**
   * @param {Described} described
   * @param {PackedColumn} packed
   * @param {string} help
   * @param {Buffers} buffers
   */
  constructor(described, [, whole, data], help, buffers) {
    this.key = described.key;
    this.metric = described.metric ?? "";
    this.column = described.column;
    this.title = described.title;
    this.help = help;
    this.role = described.role;
    this.unit = described.unit;
    this.wholeShipped = whole;
    this.brought = described.brought;
    this.place = data[0];
    /** @type {() => Float64Array} */
    this.read = () => numbers(data, buffers);
    /** @type {Float64Array | null} */
    this.known = null;
    /** @type {(() => Ranged) | null} */
    this.range = null;
    /** @type {Ranged | null} */
    this.ranged = null;
  }

  /** @returns {Ranged | null} the numbers that are shown instead of those that came */
  get other() {
    return this.range && (this.ranged ??= this.range());
  }

  /** @returns {Float64Array} the numbers, or for a label the entries of the dictionary */
  get values() {
    return this.other?.values ?? this.shipped;
  }

  /** @returns {Float64Array} the numbers of all the time */
  get shipped() {
    this.known ??= this.read();
    return this.known;
  }

  /** @returns {number | null} what 100 % is */
  get whole() {
    return this.wholeShipped === null ? null : this.other?.whole ?? this.wholeShipped;
  }

  /**
   * Show other numbers, those of a stretch of time; null: the shipped ones again.
   * @param {(() => Ranged) | null} range
   */
  setRange(range) {
    this.range = range;
    this.ranged = null;
  }
}

/** One view: rows in the order of the report, each after the row above it. */
export class Table {
  /**
   * @param {PackedView} packed
   * @param {Payload} payload
   * @param {import("./dictionary.js").Dictionary} dictionary
   * @param {Buffers} buffers
   */
  constructor(packed, { help, columns }, dictionary, buffers) {
    this.name = packed.name;
    this.doc = help[packed.name];
    this.rows = packed.rows;
    this.of = packed.of;
    this.tree = packed.tree ?? false;
    this.short = packed.short;
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
    this.columns = packed.columns.map((one) => {
      const described = columns[one[0]];
      return new Column(described, one, help[described.column], buffers);
    });
    this.frameRows = packed.frame_rows ? numbers(packed.frame_rows, buffers) : null;
    this.source = packed.source ? numbers(packed.source, buffers) : null;
    this.kind = packed.kind ? numbers(packed.kind, buffers) : null;
    this.shape = packed.shape ? numbers(packed.shape, buffers) : null;
    const { places } = packed;
    /** The row of each kind of op runs: -2 - r, where it is in the total of row r only. */
    this.kindRows = places ? new Int32Array(numbers(places.row, buffers)) : null;
    /** In how many steps the node of each kind ran. */
    this.kindSteps = places?.steps ? numbers(places.steps, buffers) : null;
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
