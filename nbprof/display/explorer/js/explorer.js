/** The explorer: `start` in a page, `render` in a widget, both around `mount`. */

import { Data, fromBase64 } from "./data.js";
import { button, element } from "./dom.js";
import { Flame } from "./flame.js";
import { Source } from "./source.js";
import { TreeTable } from "./table.js";
import { asTable, magicLine } from "./texts.js";
import { Timeline } from "./timeline.js";
import { Events, restrict } from "./timeline_data.js";
import { Toolbar } from "./toolbar.js";
import { format } from "./units.js";
import { ViewState } from "./view_state.js";

/** @typedef {import("./data.js").Payload} Payload */
/**
 * @typedef {{view: number, rows: number[], line: string, range: [number, number] | null}} Selection
 * @typedef {{element: HTMLElement, draw: () => void}} Panel
 */

const TRIES = 50;
const PAUSE = 100;

class Explorer {
  /**
   * @param {Data} data
   * @param {Events | null} events
   * @param {(selection: Selection) => void} told
   */
  constructor(data, events, told) {
    this.data = data;
    this.events = events;
    /** @type {[number, number] | null} */
    this.range = null;
    this.told = told;
    this.place = data.first;
    /** @type {(ViewState | undefined)[]} */
    this.states = [];
    this.table = new TreeTable((change) => this.changed(change), {
      find: () => this.toolbar.input.focus(),
      copy: () => this.copyRows(),
    });
    this.flame = new Flame((row) => this.chosen(row));
    this.toolbar = new Toolbar(data, {
      view: (place) => this.show(place),
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
    this.timeline = events && this.newTimeline(events);
    this.panelButton("Flame", this.flame);
    if (this.timeline) this.panelButton("Timeline", this.timeline);
    this.source = this.newSource();
    if (this.source) this.panelButton("Source", this.source);
    this.element = element(
      "div",
      { class: "nbx", "data-lm-suppress-shortcuts": "true", "data-jp-suppress-context-menu": "" },
      element("p", { class: "nbx-line" }, data.headline),
      ...data.notes.map((note) => element("p", { class: "nbx-line nbx-note" }, `note: ${note}`)),
      ...[this.toolbar.element, ...(this.timeline ? [this.timeline.element] : [])],
      ...[this.flame.element, ...(this.source ? [this.source.element] : []), this.table.grid],
      ...(data.complete ? [element("p", { class: "nbx-line nbx-note" }, data.complete)] : []),
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
    // Notebook 7 takes keys before they come here, but not of elements that say so themselves.
    this.element.addEventListener("focusin", (event) => {
      const focused = /** @type {HTMLElement} */ (event.target);
      focused.setAttribute("data-lm-suppress-shortcuts", "true");
    });
    this.show(data.first);
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
      range: (range) => {
        this.range = range;
        this.show(this.place);
      },
      event: (event) => {
        const row = events.rowsIn(this.state.table)?.[event] ?? -1;
        if (row >= 0) this.chosen(row);
      },
    });
  }

  /** @returns {Source | null} the lines, where the code view is among the views and has some */
  newSource() {
    const code = this.data.views.findIndex((view) => view.name === "code" && !view.per_step);
    if (code < 0) return null;
    const made = new Source(this.data.table(code), (rows) => {
      if (this.place !== code) this.show(code);
      this.table.reveal(rows[0]);
      rows.slice(1).forEach((row) => this.state.reveal(row));
      this.state.selected = new Set(rows);
      this.table.refreshRows();
      this.changed("selection");
    });
    return made.lines.length ? made : null;
  }

  /** Show the numbers of the chosen stretch of time, where the view can be added up for it. */
  applyRange() {
    const { events, timeline, state, range } = this;
    if (!events || !timeline) return;
    state.setRange(restrict(events, state.table, range));
    if (!range) timeline.tell("");
    else {
      const ends = range.map((micros) => format(Math.round(micros), "micros")).join(" to ");
      const cannot = `the ${state.table.name} view cannot be cut to what began`;
      timeline.tell(`${state.inRange ? "the table shows what began" : cannot} from ${ends}`);
    }
  }

  /** @param {number} place */
  show(place) {
    this.place = place;
    this.applyRange();
    this.table.show(this.state);
    this.toolbar.show(place, this.state);
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
    this.table.grid.scrollTop = 0;
    this.table.refreshRows();
    this.toolbar.tell(this.state);
    this.flame.draw();
    this.tell();
  }

  /** @param {import("./table.js").Change} change */
  changed(change) {
    if (change === "selection") {
      this.toolbar.tell(this.state);
      this.flame.draw();
    }
    this.tell();
  }

  /** @param {number} row chosen in the flame */
  chosen(row) {
    this.table.reveal(row);
    this.changed("selection");
  }

  tell() {
    const { frameRows } = this.state.table;
    this.source?.mark(this.state.table, this.state.selected);
    const rows = [...this.state.selected].sort((a, b) => a - b);
    this.told({
      view: this.place,
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
    this.table.close();
    this.flame.close();
    this.timeline?.close();
    this.element.remove();
    this.states = [];
  }
}

/**
 * Put an explorer into an element; what stood there goes only when all is well.
 * @param {HTMLElement} host
 * @param {Payload} payload
 * @param {Uint8Array[]} buffers
 * @param {(selection: Selection) => void} [told]
 * @returns {Explorer}
 */
export function mount(host, payload, buffers, told = () => {}) {
  const { timeline, strings } = payload;
  const events = timeline && new Events(timeline, strings, buffers);
  const explorer = new Explorer(new Data(payload, buffers), events, told);
  const before = host.offsetHeight;
  host.replaceChildren(explorer.element);
  explorer.table.setWidths();
  explorer.table.grow(before - host.offsetHeight);
  host.dataset.nbprof = "explorer";
  return explorer;
}

/**
 * In a page: find the elements that wait for this data; a notebook may put them there later.
 * @param {string} name
 * @param {Payload} payload
 * @param {number} [tries]
 */
export function start(name, payload, tries = TRIES) {
  const hosts = document.querySelectorAll(`[data-nbprof="${name}"]`);
  for (const host of hosts) {
    mount(/** @type {HTMLElement} */ (host), payload, payload.buffers.map(fromBase64));
  }
  if (!hosts.length && tries > 0) setTimeout(() => start(name, payload, tries - 1), PAUSE);
}

/**
 * In a widget: `data` is JSON, `buffers` raw bytes; the selection goes back to Python.
 * @param {{model: {get: (name: string) => any, set: (name: string, value: any) => void,
 *   save_changes: () => void}, el: HTMLElement}} widget
 * @returns {() => void}
 */
export function render({ model, el }) {
  /** @type {DataView[]} */
  const views = model.get("buffers");
  const buffers = views.map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  const host = element("div", { class: "nbprof" });
  el.append(host);
  const explorer = mount(host, JSON.parse(model.get("data")), buffers, (selection) => {
    model.set("chosen", selection);
    model.save_changes();
  });
  return () => explorer.close();
}
