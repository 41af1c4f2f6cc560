/** The texts of an explorer, searched and put in order as a whole; for that, made ready once. */

/** A letter that ends words, so that texts are lowered together as each would be alone. */
const BETWEEN = "\n";

export class Dictionary {
  /** @param {string[]} strings all different */
  constructor(strings) {
    this.strings = strings;
    /** All of them in lower case, joined: one long text is searched much faster than many. */
    this.joined = "";
    /** @type {Int32Array | null} where each ends in it */
    this.ends = null;
    /** @type {Int32Array | null} */
    this.ranked = null;
  }

  /** Get ready for a search. */
  prepare() {
    if (this.ends) return;
    const { strings } = this;
    const whole = strings.join(BETWEEN);
    this.joined = whole.toLowerCase();
    // Some letters become two.
    const same = this.joined.length === whole.length;
    this.ends = new Int32Array(strings.length);
    for (let code = 0, end = 0; code < strings.length; code++, end += BETWEEN.length) {
      end += (same ? strings[code] : strings[code].toLowerCase()).length;
      this.ends[code] = end;
    }
  }

  /**
   * List the texts that have another inside, be the letters large or small.
   * @param {string} text not empty
   * @returns {number[]}
   */
  having(text) {
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
      } else at++; // it goes over the end
    }
    return found;
  }

  /** @returns {Int32Array} the place of each text in the order of the alphabet */
  get ranks() {
    if (this.ranked) return this.ranked;
    const { strings } = this;
    // They come as some ordered runs, which an array, unlike a typed one, is quick to merge.
    const codes = Array.from(strings, (_, code) => code);
    codes.sort((a, b) => (strings[a] < strings[b] ? -1 : 1));
    this.ranked = new Int32Array(strings.length);
    for (let rank = 0; rank < codes.length; rank++) this.ranked[codes[rank]] = rank;
    return this.ranked;
  }
}
