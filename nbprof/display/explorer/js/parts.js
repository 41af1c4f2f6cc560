/** The parts of an explorer, linked: what is done in one is seen in the others. */

import { afterPaint, button, element, ownKeys } from "./dom.js";
import { Flame } from "./flame.js";
import { showSums } from "./kinds.js";
import { Source } from "./source.js";
import { TreeTable } from "./table.js";
import { asTable, magicLine } from "./texts.js";
import { Timeline } from "./timeline.js";
import { Toolbar } from "./toolbar.js";
import { format } from "./units.js";
import { ViewState } from "./view_state.js";

/** @typedef {import("./payload.js").Data} Data */
/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./kinds.js").Amounts} Amounts */
/** @typedef {import("./kinds.js").Sums} Sums */
/** @typedef {import("./timeline_data.js").Events} Events */
/** @typedef {import("./timeline_data.js").Range} Range */
/**
 * @typedef {{view: number, per_step: boolean, rows: number[], line: string,
 *   range: Range | null}} Selection
 * @typedef {{element: HTMLElement, draw: () => void}} Panel
 */

/** Milliseconds, after which nobody waits for anything else. */
const QUIET = 200;

export class Explorer {
  /**
   * @param {Data} data
   * @param {(selection: Selection) => void} told
   * @param {((range: Range) => Promise<Amounts>) | null} ask the kernel, which has every op run
   */
  constructor(data, told, ask) {
    this.data = data;
    this.ask = ask;
    /** @type {Range | null} */
    this.range = null;
    /** @type {Amounts | null} how often each kind ran in it */
    this.amounts = null;
    this.perStep = false;
    this.told = told;
    this.place = data.first;
    this.closed = false;
    /** Whether the one who listens does not know yet what was done. */
    this.untold = false;
    /** The table is seen before the others follow it. */
    this.follow = afterPaint(() => {
      if (this.closed) return;
      this.flame.draw();
      this.light();
      if (this.untold) this.tell();
    });
    /** @type {(ViewState | undefined)[]} */
    this.states = [];
    this.table = new TreeTable((change) => this.changed(change), {
      find: () => this.toolbar.input.focus(),
      copy: () => this.copyRows(),
    });
    this.flame = new Flame(data.kinds, (row) => this.chosen(row));
    this.toolbar = new Toolbar(data, {
      view: (place) => this.show(place),
      perStep: (is) => {
        this.perStep = is;
        this.show(this.place);
      },
      search: (text, regex) => this.search(text, regex),
      minimum: (key, least, text) => {
        this.state.setMinimum(key, least, text);
        this.rowsChanged();
      },
      columns: () => this.table.refreshColumns(),
      openAll: (open) => {
        this.state.setOpenBelow(-1, open);
        if (!open && this.state.table.tree && this.state.table.rows) this.state.setOpen(0, true);
        this.rowsChanged();
      },
      copyRows: () => this.copyRows(),
      saveRows: () => this.saveRows(),
      copyLine: () => this.copy(magicLine(this.state), "the line is copied"),
    });
    this.timeline = data.events && this.newTimeline(data.events);
    this.panelButton("Flame", this.flame);
    if (this.timeline) this.panelButton("Timeline", this.timeline);
    this.source = this.newSource();
    if (this.source) this.panelButton("Source", this.source);
    this.element = ownKeys(
      "nbx",
      ...(data.headline ? [element("p", { class: "nbx-line" }, data.headline)] : []),
      ...data.notes.map((note) => element("p", { class: "nbx-line nbx-note" }, `note: ${note}`)),
      ...[this.toolbar.element, ...(this.timeline ? [this.timeline.element] : [])],
      ...[this.flame.element, ...(this.source ? [this.source.element] : []), this.table.grid],
      ...(data.complete ? [element("p", { class: "nbx-line nbx-note" }, data.complete)] : []),
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.bring(data.first);
    // The first search, and the first stretch of time, are to be as fast as the others.
    setTimeout(() => this.closed || this.state.prepare(), QUIET);
    setTimeout(() => this.closed || data.kinds?.addUpTo(this.state.table), 2 * QUIET);
  }

  /** @returns {ViewState} */
  get state() {
    return (this.states[this.place] ??= new ViewState(this.data.table(this.place)));
  }

  /**
   * @param {string} name
   * @param {Panel} panel
   */
  panelButton(name, panel) {
    const shown = this.data.open.includes(name.toLowerCase());
    panel.element.hidden = !shown;
    const made = button(name, `show or hide the ${name.toLowerCase()}`, () => {
      panel.element.hidden = !panel.element.hidden;
      this.toolbar.press(made, !panel.element.hidden);
      panel.draw();
    });
    this.toolbar.press(made, shown);
    this.toolbar.panels.append(made);
  }

  /**
   * @param {Events} events
   * @returns {Timeline}
   */
  newTimeline(events) {
    return new Timeline(events, {
      range: (range) => this.setRange(events, range),
      event: (event) => {
        const place = this.state.table.kindRows?.[events.kind[event]] ?? -1;
        const row = place < -1 ? -2 - place : place;
        if (row >= 0) this.chosen(row);
      },
    });
  }

  /**
   * @param {Events} events
   * @param {Range | null} range
   */
  async setRange(events, range) {
    this.range = range;
    this.amounts = null;
    if (range && this.ask && events.bins) {
      this.timeline?.tell("the kernel adds it up …");
      const amounts = await this.ask(range);
      if (this.range !== range) return;
      this.amounts = amounts;
    } else if (range) this.amounts = events.amounts(range);
    this.show(this.place);
  }

  /** @returns {Source | null} the lines, where the code view is among the views and has some */
  newSource() {
    const code = this.data.views.findIndex((view) => view.name === "code" && !view.per_step);
    if (code < 0) return null;
    const made = new Source(this.data.table(code), this.data.cells, (rows) => {
      if (this.place !== code) this.show(code);
      this.table.reveal(rows[0]);
      rows.slice(1).forEach((row) => this.state.reveal(row));
      this.state.selected = new Set(rows);
      this.table.refreshRows();
      this.changed("selection");
    });
    return made.lines.length ? made : null;
  }

  /** Show the numbers of the chosen stretch of time, or of a step, where they are known. */
  applyNumbers() {
    const { state, range, source } = this;
    const sums = this.sumsOf(state.table);
    const ran = showSums(state.table, sums);
    if (source) {
      if (source.table !== state.table) showSums(source.table, this.sumsOf(source.table));
      source.draw();
    }
    state.perStep = this.perStep && sums !== null;
    state.setNumbers(this.perStep ? null : ran, sums === null);
    this.timeline?.tell(range ? this.aboutRange(range, sums !== null) : "");
  }

  /**
   * @param {Table} table
   * @returns {Sums | null} other numbers than those that came
   */
  sumsOf(table) {
    const { kinds } = this.data;
    if (!kinds || !(this.perStep || this.amounts) || !kinds.addUpTo(table)) return null;
    if (this.perStep) return kinds.sums(table, kinds.all, true);
    return this.amounts && kinds.sums(table, this.amounts);
  }

  /**
   * @param {Range} range
   * @param {boolean} done
   * @returns {string}
   */
  aboutRange(range, done) {
    const ends = range.map((micros) => format(Math.round(micros), "micros")).join(" to ");
    if (this.perStep) return `per step is of the whole time; the total can be cut to ${ends}`;
    const exact = this.ask || this.data.events?.exact;
    const moved = exact ? "" : ", whole parts of the time; view.explore() cuts exactly";
    if (done) return `the table shows what began from ${ends}${moved}`;
    const whole = "the table still shows the whole time";
    if (!this.amounts && this.ask) return `${whole}: there are too many kinds of op runs to add up`;
    if (!this.amounts) return `${whole}: not all op runs are here; view.explore() has them`;
    return `${whole}: the ${this.state.table.name} view, as it is filtered, cannot be cut to ${ends}`;
  }

  /** Whether the average over steps can be shown. */
  get canAverage() {
    return this.state.table.kindSteps !== null && this.data.kinds !== null;
  }

  /** @returns {Uint8Array | null} the kinds of op runs of the selected rows and those below them */
  get lit() {
    const { table, selected } = this.state;
    const { kindRows } = table;
    if (!selected.size || !kindRows) return null;
    const inside = new Uint8Array(table.rows);
    for (let row = 0; row < table.rows; row++) {
      inside[row] = Number(selected.has(row) || (table.parent[row] >= 0 && inside[table.parent[row]]));
    }
    const lit = new Uint8Array(kindRows.length);
    for (let kind = 0; kind < lit.length; kind++) {
      lit[kind] = inside[kindRows[kind] < -1 ? -2 - kindRows[kind] : kindRows[kind]] ?? 0;
    }
    return lit;
  }

  /** @param {number} place of a view */
  show(place) {
    this.bring(place);
    this.follow();
  }

  /** @param {number} place of a view, whose table is shown before all else */
  bring(place) {
    this.place = place;
    this.applyNumbers();
    this.table.show(this.state);
    this.toolbar.show(place, this.state, this.canAverage);
    this.flame.show(this.state);
    this.tell();
  }

  /**
   * @param {string} text
   * @param {boolean} regex
   * @returns {string}
   */
  search(text, regex) {
    const wrong = this.state.setSearch(text, regex);
    if (!wrong) this.rowsChanged();
    return wrong;
  }

  rowsChanged() {
    this.table.scrollTo(0);
    this.table.refreshRows();
    this.toolbar.tell(this.state);
    this.changed("rows");
  }

  /** @param {import("./table.js").Change} change */
  changed(change) {
    if (change === "selection") {
      this.toolbar.tell(this.state);
      this.tell();
    } else this.untold = true;
    this.follow();
  }

  /** @param {number} row chosen in the flame */
  chosen(row) {
    this.table.reveal(row);
    this.changed("selection");
  }

  /** Show in the timeline and in the source what is selected. */
  light() {
    const { lit, source } = this;
    this.timeline?.light(lit);
    if (source?.table === this.state.table) source.mark(this.state.selected, null);
    else source?.mark(new Set(), lit);
  }

  tell() {
    this.untold = false;
    const { frameRows } = this.state.table;
    const rows = [...this.state.selected].sort((a, b) => a - b);
    this.told({
      view: this.place,
      per_step: this.state.perStep,
      rows: frameRows ? rows.map((row) => frameRows[row]) : rows,
      line: magicLine(this.state),
      range: this.range,
    });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    // The notebook has its own meaning for single keys.
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    if (event.key === "z" && event.target === this.table.grid && !event.ctrlKey) {
      this.flame.zoom(this.state.rows[Math.max(this.table.active.place, 0)]);
    }
    if (event.key === "Escape" && event.target === this.toolbar.input) this.table.grid.focus();
  }

  copyRows() {
    const { selected, rows } = this.state;
    const chosen = selected.size ? rows.filter((row) => selected.has(row)) : rows;
    this.copy(asTable(this.state, chosen, "\t"), `${chosen.length} rows are copied`);
  }

  saveRows() {
    const file = new Blob([asTable(this.state, this.state.rows, ",")], { type: "text/csv" });
    const address = URL.createObjectURL(file);
    const link = element("a", { href: address, download: `nbprof-${this.state.table.name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    this.toolbar.status.textContent = `${this.state.rows.length} rows are saved`;
  }

  /**
   * @param {string} text
   * @param {string} done
   */
  async copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages from disk and frames may not have the clipboard; the old way works there.
      const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { class: "nbx-hidden" }));
      area.value = text;
      this.element.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      this.table.grid.focus();
    }
    this.toolbar.status.textContent = done;
  }

  close() {
    this.closed = true;
    this.table.close();
    this.flame.close();
    this.timeline?.close();
    this.element.remove();
    this.states = [];
  }
}
