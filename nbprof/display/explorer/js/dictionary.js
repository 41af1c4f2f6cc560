/** The texts of an explorer: searched and sorted as a whole. */

/** Ends words, so that joined texts have the same lower case as single ones. */
const SEPARATOR = "\n";

export class Dictionary {
  /** @param {string[]} strings all different */
  constructor(strings) {
    this.strings = strings;
    /** All texts in lower case, joined: searching one long text is much faster. */
    this.joined = "";
    /** @type {Int32Array | null} where each text ends in it */
    this.ends = null;
    /** @type {Int32Array | null} see `ranks` */
    this.ranked = null;
  }

  /** Build what a search needs. */
  prepare() {
    if (this.ends) return;
    const { strings } = this;
    const whole = strings.join(SEPARATOR);
    this.joined = whole.toLowerCase();
    // Some characters become two in lower case.
    const same = this.joined.length === whole.length;
    this.ends = new Int32Array(strings.length);
    for (let code = 0, end = 0; code < strings.length; code++, end += SEPARATOR.length) {
      end += (same ? strings[code] : strings[code].toLowerCase()).length;
      this.ends[code] = end;
    }
  }

  /**
   * List the texts that contain another, ignoring case.
   * @param {string} text not empty
   * @returns {number[]}
   */
  containing(text) {
    this.prepare();
    const { joined } = this;
    const ends = /** @type {Int32Array} */ (this.ends);
    const wanted = text.toLowerCase();
    /** @type {number[]} */
    const found = [];
    let code = 0;
    for (let at = joined.indexOf(wanted); at >= 0; at = joined.indexOf(wanted, at)) {
      while (ends[code] < at) code++;
      if (at + wanted.length <= ends[code]) {
        found.push(code);
        at = ends[code];
      } else at++; // a match across two texts
    }
    return found;
  }

  /** @returns {Int32Array} the place of each text in alphabetical order */
  get ranks() {
    if (this.ranked) return this.ranked;
    const { strings } = this;
    // Texts come as a few sorted runs; plain arrays, unlike typed ones, merge those quickly.
    const codes = Array.from(strings, (_, code) => code);
    codes.sort((a, b) => (strings[a] < strings[b] ? -1 : 1));
    this.ranked = new Int32Array(strings.length);
    for (let rank = 0; rank < codes.length; rank++) this.ranked[codes[rank]] = rank;
    return this.ranked;
  }
}
