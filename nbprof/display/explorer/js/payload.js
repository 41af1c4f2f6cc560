/** Everything one explorer shows: the tables of its views, the kinds of op runs, the timeline. */

import { numbers, Table, textsOf } from "./data.js";
import { Dictionary } from "./dictionary.js";
import { Kinds } from "./kinds.js";
import { Events } from "./timeline_data.js";

/** @typedef {import("./data.js").Payload} Payload */

export class Data {
  /**
   * @param {Payload} payload
   * @param {import("./data.js").Buffers} buffers
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
    this.strings = textsOf(payload.strings, numbers(payload.alike, buffers));
    this.dictionary = new Dictionary(this.strings);
    this.kinds = payload.kinds && new Kinds(payload.kinds, this.strings, buffers);
    const { timeline, views, cells } = payload;
    const texts = cells && numbers(cells.texts, buffers);
    const lines = cells && numbers(cells.lines, buffers);
    /** @type {{file: string, line: number, text: string}[]} the source of the cells */
    this.cells = Array.from(cells ? numbers(cells.files, buffers) : [], (file, at) => {
      return { file: this.strings[file], line: lines?.[at] ?? 0, text: this.strings[texts?.[at] ?? 0] };
    });
    this.events =
      timeline && this.kinds && new Events(timeline, this.kinds, this.strings, buffers);
    /** @type {(Table | undefined)[]} */
    this.tables = [];
    /** @type {(place: number) => Table} */
    this.read = (place) => new Table(views[place], payload, this.dictionary, buffers);
  }

  /**
   * @param {number} place
   * @returns {Table}
   */
  table(place) {
    return (this.tables[place] ??= this.read(place));
  }
}
