/** Which numbers the tables show: those of all the time, of a stretch of it, or per step. */

import { showSums } from "./run_kinds.js";
import { format } from "./units.js";

/** @typedef {import("./explorer_data.js").ExplorerData} ExplorerData */
/** @typedef {import("./run_kinds.js").Amounts} Amounts */
/** @typedef {import("./run_kinds.js").Sums} Sums */
/** @typedef {import("./timeline_data.js").Range} Range */
/** @typedef {import("./view_state.js").ViewState} ViewState */
/** @typedef {import("./view_table.js").Table} Table */

export class ShownNumbers {
  /**
   * @param {ExplorerData} data
   * @param {((range: Range) => Promise<Amounts>) | null} askKernel which has every op run
   */
  constructor(data, askKernel) {
    this.data = data;
    this.askKernel = askKernel;
    this.perStep = false;
    /** @type {Range | null} */
    this.range = null;
    /** @type {Amounts | null} of each kind in that range; null if unknown */
    this.amounts = null;
  }

  /** @param {Range | null} range whose amounts only the kernel knows exactly */
  needsKernel(range) {
    return range !== null && this.askKernel !== null && this.data.events?.bins;
  }

  /**
   * Choose a stretch of time; null is all of it.
   * @param {Range | null} range
   * @returns {Promise<boolean> | boolean} false if another was chosen before the kernel answered
   */
  setRange(range) {
    this.range = range;
    this.amounts = null;
    if (this.needsKernel(range)) return this.setRangeFromKernel(/** @type {Range} */ (range));
    if (range) this.amounts = this.data.events?.amounts(range) ?? null;
    return true;
  }

  /** @param {Range} range */
  async setRangeFromKernel(range) {
    const amounts = (await this.askKernel?.(range)) ?? null;
    if (this.range !== range) return false;
    this.amounts = amounts;
    return true;
  }

  /**
   * Show the numbers in the table of a view, and in those of another panel.
   * @param {ViewState} state
   * @param {Table[]} others
   */
  apply(state, others) {
    const sums = this.sumsOf(state.table);
    const ran = showSums(state.table, sums);
    for (const other of others) if (other !== state.table) showSums(other, this.sumsOf(other));
    state.perStep = this.perStep && sums !== null;
    state.setNumbers(this.perStep ? null : ran, sums === null);
  }

  /**
   * @param {Table} table
   * @returns {Sums | null} the sums to show instead of the shipped numbers
   */
  sumsOf(table) {
    const { kinds } = this.data;
    if (!kinds || !(this.perStep || this.amounts) || !kinds.addUpTo(table)) return null;
    if (this.perStep) return kinds.sums(table, kinds.all, true);
    return this.amounts && kinds.sums(table, this.amounts);
  }

  /**
   * @param {Table} table
   * @returns {boolean} whether averages over steps can be shown
   */
  canAverage(table) {
    return table.kindSteps !== null && this.data.kinds !== null;
  }

  /**
   * @param {Table} table
   * @returns {string} what the table shows of the chosen stretch of time
   */
  describeRange(table) {
    if (!this.range) return "";
    const ends = this.range.map((micros) => format(Math.round(micros), "micros")).join(" to ");
    if (this.perStep) return `per step covers the whole time; total shows ${ends}`;
    const exact = this.askKernel || this.data.events?.exact;
    const moved = exact ? "" : ", rounded to whole bins; view.explore() is exact";
    if (this.sumsOf(table)) return `the table shows what began from ${ends}${moved}`;
    const whole = "the table still shows the whole time";
    if (!this.amounts && this.askKernel) return `${whole}: there are too many kinds of op runs to add up`;
    if (!this.amounts) return `${whole}: not all op runs are here; view.explore() has them`;
    return `${whole}: the ${table.name} view, as it is filtered, cannot be limited to ${ends}`;
  }
}
