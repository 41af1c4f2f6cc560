/** The explorer as a whole: its panels are linked, a choice in one shows in the others. */

import { Calls } from "./calls.js";
import { copyText, saveCsv } from "./clipboard.js";
import { afterPaint, element, ownKeys } from "./dom.js";
import { Flame } from "./flame.js";
import { leadElement } from "./lead.js";
import { rowOf, selectedKinds } from "./run_kinds.js";
import { ShownNumbers } from "./shown_numbers.js";
import { Source } from "./source.js";
import { TreeTable } from "./table.js";
import { magicLine, tableText } from "./text_export.js";
import { Timeline } from "./timeline.js";
import { Toolbar } from "./toolbar.js";
import { ViewState } from "./view_state.js";

/** @typedef {import("./explorer_data.js").ExplorerData} ExplorerData */
/** @typedef {import("./run_kinds.js").Amounts} Amounts */
/** @typedef {import("./timeline_data.js").Range} Range */
/**
 * @typedef {{view: number, per_step: boolean, rows: number[], line: string,
 *   range: Range | null}} Selection
 */

/** Milliseconds until a new explorer prepares for what the user may do next. */
const IDLE = 200;

export class Explorer {
  /**
   * @param {ExplorerData} data
   * @param {(selection: Selection) => void} report called with what is shown and selected
   * @param {((range: Range) => Promise<Amounts>) | null} askKernel
   */
  constructor(data, report, askKernel) {
    this.data = data;
    this.report = report;
    this.numbers = new ShownNumbers(data, askKernel);
    /** The place of the view that is shown. */
    this.place = data.first;
    /** @type {(ViewState | undefined)[]} */
    this.states = [];
    this.closed = false;
    /** Whether something changed that has not been reported. */
    this.unreported = false;
    /** The table is painted before the other panels follow it. */
    this.follow = afterPaint(() => this.updatePanels());
    this.table = new TreeTable((change) => this.changed(change), {
      find: () => this.toolbar.input.focus(),
      copy: () => this.copyRows(),
    });
    this.flame = new Flame(data.kinds, (row) => this.select(row));
    this.timeline = this.newTimeline();
    this.source = this.newSource();
    this.calls = this.newCalls();
    this.toolbar = this.newToolbar();
    this.element = this.arrange();
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.showTable(data.first);
    this.prepareWhenIdle();
  }

  newToolbar() {
    const toolbar = new Toolbar(this.data, {
      view: (place) => this.show(place),
      perStep: (perStep) => {
        this.numbers.perStep = perStep;
        this.show(this.place);
      },
      search: (text, regex) => this.search(text, regex),
      minimum: (key, least, text) => {
        this.state.setMinimum(key, least, text);
        this.rowsChanged();
      },
      columns: () => this.table.refreshColumns(),
      openAll: (open) => {
        this.state.setOpenAll(open);
        this.rowsChanged();
      },
      copyRows: () => this.copyRows(),
      saveRows: () => this.saveRows(),
      copyLine: () => this.copy(magicLine(this.state), "the line is copied"),
    });
    const { open } = this.data;
    toolbar.addPanel("Flame", this.flame, open);
    if (this.timeline) toolbar.addPanel("Timeline", this.timeline, open);
    if (this.source) toolbar.addPanel("Source", this.source, open);
    if (this.calls) toolbar.addPanel("Calls", this.calls, open);
    return toolbar;
  }

  /** @returns {Timeline | null} */
  newTimeline() {
    const { events } = this.data;
    if (!events) return null;
    return new Timeline(events, {
      range: (range) => this.setRange(range),
      event: (event) => {
        const row = rowOf(this.state.table.kindRows?.[events.kind[event]] ?? -1);
        if (row >= 0) this.select(row);
      },
    });
  }

  /** @returns {Source | null} null if no view has rows that are lines */
  newSource() {
    const { data } = this;
    const places = data.views.flatMap(({ lines, per_step }, place) => (lines && !per_step ? [place] : []));
    const source = new Source(
      places.map((place) => data.table(place)),
      data.cells,
      (table, rows) => this.selectRows(places.find((place) => data.table(place) === table) ?? 0, rows),
    );
    return source.hasLines ? source : null;
  }

  /** @returns {Calls | null} null if no view has rows that call each other */
  newCalls() {
    const { views, calls } = this.data;
    const shown = views.some((view) => view.calls || (view.functions && calls));
    return shown ? new Calls(calls, (row) => this.select(row)) : null;
  }

  /**
   * @param {number} place of a view
   * @param {number[]} rows
   */
  selectRows(place, rows) {
    if (this.place !== place) this.show(place);
    this.table.reveal(rows[0]);
    rows.slice(1).forEach((row) => this.state.reveal(row));
    this.state.selected = new Set(rows);
    this.table.refreshRows();
    this.changed("selection");
  }

  /** @returns {HTMLElement} all panels, from top to bottom */
  arrange() {
    const { headline, lead, notes, missing } = this.data;
    return ownKeys(
      "nbx",
      ...(headline ? [element("p", { class: "nbx-line" }, headline)] : []),
      ...(lead ? [leadElement(lead)] : []),
      ...notes.map((note) => element("p", { class: "nbx-line nbx-note" }, `note: ${note}`)),
      this.toolbar.element,
      ...(this.timeline ? [this.timeline.element] : []),
      this.flame.element,
      ...(this.source ? [this.source.element] : []),
      ...(this.calls ? [this.calls.element] : []),
      this.table.grid,
      ...(missing ? [element("p", { class: "nbx-line nbx-note" }, missing)] : []),
    );
  }

  /** Make the first search and the first stretch of time as fast as later ones. */
  prepareWhenIdle() {
    setTimeout(() => this.closed || this.state.prepare(), IDLE);
    setTimeout(() => this.closed || this.data.kinds?.addUpTo(this.state.table), 2 * IDLE);
  }

  /** @returns {ViewState} */
  get state() {
    return (this.states[this.place] ??= new ViewState(this.data.table(this.place)));
  }

  /** @param {number} place of a view */
  show(place) {
    this.showTable(place);
    this.follow();
  }

  /** @param {number} place of the view whose table is painted before everything else */
  showTable(place) {
    this.place = place;
    this.applyNumbers();
    const { state } = this;
    this.table.show(state);
    this.toolbar.show(place, state, this.numbers.canAverage(state.table));
    this.flame.show(state);
    this.calls?.show(state);
    this.reportSelection();
  }

  applyNumbers() {
    this.numbers.apply(this.state, this.source?.tables ?? []);
    this.source?.follow(this.state.table);
    this.source?.draw();
    this.timeline?.setStatus(this.numbers.describeRange(this.state.table));
  }

  /** @param {Range | null} range */
  async setRange(range) {
    const chosen = this.numbers.setRange(range);
    if (chosen !== true) {
      this.timeline?.setStatus("the kernel is adding it up …");
      if (!(await chosen)) return;
    }
    this.show(this.place);
  }

  /**
   * @param {string} text
   * @param {boolean} regex
   * @returns {string} what is wrong with the text; empty if nothing is
   */
  search(text, regex) {
    const wrong = this.state.setSearch(text, regex);
    if (!wrong) this.rowsChanged();
    return wrong;
  }

  rowsChanged() {
    this.table.scrollTo(0);
    this.table.refreshRows();
    this.toolbar.showStatus(this.state);
    this.changed("rows");
  }

  /** @param {import("./table.js").Change} change */
  changed(change) {
    if (change === "selection") {
      this.toolbar.showStatus(this.state);
      this.reportSelection();
    } else this.unreported = true;
    this.follow();
  }

  /** @param {number} row chosen in the flame or the timeline */
  select(row) {
    this.table.reveal(row);
    this.changed("selection");
  }

  updatePanels() {
    if (this.closed) return;
    this.flame.draw();
    this.calls?.draw();
    this.highlight();
    if (this.unreported) this.reportSelection();
  }

  /** Highlight what is selected in the timeline and in the source. */
  highlight() {
    const { source, state } = this;
    const kinds = selectedKinds(state);
    this.timeline?.highlight(kinds);
    source?.mark(state.table, state.selected, kinds);
  }

  reportSelection() {
    this.unreported = false;
    const { frameRows } = this.state.table;
    const rows = [...this.state.selected].sort((a, b) => a - b);
    this.report({
      view: this.place,
      per_step: this.state.perStep,
      rows: frameRows ? rows.map((row) => frameRows[row]) : rows,
      line: magicLine(this.state),
      range: this.numbers.range,
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
    this.copy(tableText(this.state, chosen, "\t"), `${chosen.length} rows are copied`);
  }

  saveRows() {
    const { rows, table } = this.state;
    saveCsv(tableText(this.state, rows, ","), `nbprof-${table.name}.csv`);
    this.toolbar.status.textContent = `${rows.length} rows are saved`;
  }

  /**
   * @param {string} text
   * @param {string} done the status to show afterwards
   */
  async copy(text, done) {
    await copyText(text, this.element, this.table.grid);
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
