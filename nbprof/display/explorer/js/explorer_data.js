/** Everything that one explorer shows: the tables of its views, the kinds of op runs, the timeline. */

import { CallGraph } from "./call_neighbours.js";
import { Dictionary } from "./dictionary.js";
import { dictionaryOf, numbers } from "./packed_columns.js";
import { RunKinds } from "./run_kinds.js";
import { Events } from "./timeline_data.js";
import { Table } from "./view_table.js";

/** @typedef {import("./packed_columns.js").Buffers} Buffers */
/** @typedef {import("./packed_columns.js").Packed} Packed */
/**
 * What a report says before its notes.
 * @typedef {{title: string, sentences: string[], heading: string[], rows: string[][]}} Lead
 */
/**
 * What `payload.py` describes.
 * @typedef {{headline: string, lead: Lead | null, notes: string[], missing: string,
 *   open: string[], first: number, strings: number[], views: import("./view_table.js").PackedView[],
 *   kinds: import("./run_kinds.js").PackedKinds | null,
 *   cells: {files: Packed, lines: Packed, texts: Packed} | null,
 *   calls: import("./call_neighbours.js").PackedCalls | null,
 *   timeline: import("./timeline_data.js").PackedTimeline | null}} Payload
 */

const JSON_LENGTH_BYTES = 4;

/**
 * Read the data of a page: the buffers, the payload as JSON, and its length.
 * @param {Uint8Array} bytes
 * @returns {{payload: Payload, buffers: Buffers}}
 */
export function readPage(bytes) {
  const end = bytes.length - JSON_LENGTH_BYTES;
  const length = new DataView(bytes.buffer, bytes.byteOffset + end).getUint32(0, true);
  const payload = JSON.parse(new TextDecoder().decode(bytes.subarray(end - length, end)));
  let start = 0;
  /** @type {Uint8Array[]} */
  const found = payload.sizes.map((/** @type {number} */ size) => bytes.subarray(start, (start += size)));
  return { payload, buffers: (place) => found[place] };
}

export class ExplorerData {
  /**
   * @param {Payload} payload
   * @param {Buffers} buffers
   */
  constructor(payload, buffers) {
    this.headline = payload.headline;
    this.lead = payload.lead;
    this.notes = payload.notes;
    this.missing = payload.missing;
    this.open = payload.open;
    this.first = payload.first;
    this.views = payload.views;
    this.strings = dictionaryOf(payload.strings, buffers);
    this.dictionary = new Dictionary(this.strings);
    const { timeline, views, kinds, calls } = payload;
    this.calls = calls && new CallGraph(calls, this.strings, buffers);
    this.kinds = kinds && new RunKinds(kinds, this.strings, buffers);
    this.events = timeline && this.kinds && new Events(timeline, this.kinds, this.strings, buffers);
    this.cells = this.readCells(payload, buffers);
    /** @type {(Table | undefined)[]} */
    this.tables = [];
    /** @type {(place: number) => Table} */
    this.read = (place) => new Table(views[place], this.dictionary, buffers);
  }

  /**
   * @param {Payload} payload
   * @param {Buffers} buffers
   * @returns {{file: string, line: number, text: string}[]} the source of the cells
   */
  readCells({ cells }, buffers) {
    if (!cells) return [];
    const [files, lines, texts] = [cells.files, cells.lines, cells.texts].map((packed) =>
      numbers(packed, buffers),
    );
    return Array.from(files, (file, at) => {
      return { file: this.strings[file], line: lines[at], text: this.strings[texts[at]] };
    });
  }

  /**
   * @param {number} place
   * @returns {Table}
   */
  table(place) {
    return (this.tables[place] ??= this.read(place));
  }
}
