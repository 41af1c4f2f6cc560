/** The tree-table: only rows in sight are elements; one tab stop, arrow keys inside. */

import { element, newId, setAttributes, zoomOf } from "./dom.js";
import { fillSlot, newSlot, ROW_HEIGHT } from "./table_rows.js";
import { NAME } from "./view_state.js";
import { gridKey, HEADER } from "./table_keys.js";

/** @typedef {import("./view_state.js").ViewState} ViewState */
/** @typedef {import("./view_table.js").Column} Column */
/**
 * @typedef {"rows" | "columns" | "selection" | "sort"} Change
 * @typedef {import("./table_rows.js").Slot} Slot
 */

const HEAD_HEIGHT = 40;
/** Most rows that the table shows without scrolling. */
const MOST_IN_SIGHT = 18;
/** Most rows that can be scrolled to, because browsers limit the height of elements. */
export const MOST_ROWS_TALL = 600000;
const WIDTHS = { name: 230, total: 142, self: 142, count: 104, label: 170 };
const LEAST_WIDTH = 48;

export class TreeTable {
  /**
   * @param {(change: Change) => void} changed
   * @param {{find: () => void, copy: () => void}} actions
   */
  constructor(changed, actions) {
    this.changed = changed;
    this.actions = actions;
    this.id = newId();
    this.head = element("div", { class: "nbx-row nbx-head", role: "row", "aria-rowindex": 1 });
    this.body = element("div", { class: "nbx-body", role: "rowgroup" });
    const head = element("div", { class: "nbx-heads", role: "rowgroup" }, this.head);
    this.grid = element("div", { class: "nbx-grid", role: "treegrid", tabindex: 0 }, head, this.body);
    this.grid.setAttribute("aria-multiselectable", "true");
    /** @type {Slot[]} */
    this.pool = [];
    /** @type {Record<string, number>} */
    this.widths = {};
    this.active = { place: 0, column: 0 };
    /** The place where an extended selection starts. */
    this.anchor = 0;
    /** @type {ViewState | null} */
    this.shown = null;
    /** The number of rows that the table has room for. */
    this.inSight = 0;
    /** Scroll position and size; reading them from the element while drawing is slow. */
    this.sight = { top: 0, left: 0, width: 0, height: 0 };
    this.grid.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.grid.addEventListener("keydown", (event) => gridKey(this, event));
    this.body.addEventListener("click", (event) => this.click(event));
    this.body.addEventListener("dblclick", (event) => this.toggle(this.placeOf(event)));
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(this.grid);
  }

  close() {
    this.observer.disconnect();
  }

  scrolled() {
    const { scrollTop, scrollLeft } = this.grid;
    const moved = scrollTop !== this.sight.top;
    Object.assign(this.sight, { top: scrollTop, left: scrollLeft });
    if (moved) this.draw();
  }

  /** Draw again if the table's size has changed. */
  measure() {
    const before = this.sight;
    this.readSize();
    if (!this.shown) return;
    if (this.sight.width !== before.width) this.setWidths();
    if (this.sight.height !== before.height) this.draw();
  }

  readSize() {
    const { clientWidth: width, clientHeight: height } = this.grid;
    this.sight = { ...this.sight, width, height };
  }

  /**
   * Make the table as tall as these rows need, up to what the page allows.
   * @param {number} rows
   */
  setHeight(rows) {
    const height = `${rows * ROW_HEIGHT + HEAD_HEIGHT + 18}px`;
    if (height === this.grid.style.getPropertyValue("--least")) return;
    this.grid.style.setProperty("--least", height);
    // The observer would report the new size only after rows for the old one had been painted.
    this.readSize();
  }

  /** @param {number} top */
  scrollTo(top) {
    if (top === this.sight.top) return;
    this.grid.scrollTop = this.sight.top = top;
  }

  /** @returns {ViewState} */
  get state() {
    if (!this.shown) throw new Error("no view is shown");
    return this.shown;
  }

  /** @returns {Column[]} */
  get columns() {
    return this.state.columns;
  }

  /** @param {ViewState} state */
  show(state) {
    this.shown = state;
    this.active = { place: 0, column: 0 };
    this.inSight = 0;
    this.scrollTo(0);
    setAttributes(this.grid, {
      role: state.table.tree ? "treegrid" : "grid",
      "aria-label": `${state.table.name} view`,
    });
    this.refreshColumns();
  }

  refreshColumns() {
    this.drawHead();
    this.pool = [];
    this.body.replaceChildren();
    this.refreshRows();
  }

  /**
   * Become as tall as what was here before, so that nothing below moves.
   * @param {number} more pixels
   */
  grow(more) {
    if (more <= 0) return;
    const floor = Math.min(this.grid.offsetHeight + more, MOST_IN_SIGHT * ROW_HEIGHT);
    this.grid.style.setProperty("--floor", `${floor}px`);
    this.measure();
  }

  /** Draw again after rows were opened, sorted or filtered. */
  refreshRows() {
    const { rows } = this.state;
    const height = Math.min(rows.length, MOST_ROWS_TALL) * ROW_HEIGHT;
    this.body.style.height = `${height}px`;
    const inSight = Math.min(Math.max(rows.length, 3), MOST_IN_SIGHT);
    // Typing a search must not move what is below the table.
    this.inSight = this.state.kept ? Math.max(inSight, this.inSight) : inSight;
    this.setHeight(this.inSight);
    setAttributes(this.grid, {
      "aria-rowcount": rows.length + 1,
      "aria-colcount": this.columns.length + 1,
    });
    this.active.place = Math.min(this.active.place, rows.length - 1);
    // With fewer rows, the browser may have scrolled.
    const lowest = Math.max(0, height + HEAD_HEIGHT - this.sight.height);
    if (this.sight.top > lowest) this.sight.top = this.grid.scrollTop;
    this.draw();
  }

  drawHead() {
    this.head.replaceChildren(
      this.heading(0, NAME, "node name", "", this.state.table.doc),
      ...this.columns.map((column, place) => {
        const role = this.state.table.tree && column.metric ? column.role : "";
        return this.heading(place + 1, column.key, column.title, role, column.help);
      }),
    );
    this.setWidths();
  }

  /** Set the width of every column; the names take what is left. */
  setWidths() {
    const widths = this.columns.map((column) => `${this.widthOf(column.key)}px`);
    const name = `${this.widthOf(NAME)}px`;
    const first = NAME in this.widths ? name : `minmax(${name}, 1fr)`;
    const keys = [NAME, ...this.columns.map((column) => column.key)];
    const wide = keys.reduce((sum, key) => sum + this.widthOf(key), 0);
    this.grid.style.setProperty("--columns", [first, ...widths].join(" "));
    this.grid.style.setProperty("--wide", `${wide}px`);
  }

  /** @param {string} key */
  widthOf(key) {
    const column = this.state.table.column(key);
    const narrow = this.sight.width > 0 && this.sight.width < 500;
    const usual = column
      ? WIDTHS[column.role === "label" ? "label" : column.wholeShipped ? column.role : "count"]
      : WIDTHS.name * (narrow ? 0.75 : 1);
    return this.widths[key] ?? usual;
  }

  /**
   * @param {number} place
   * @param {string} key
   * @param {string} title
   * @param {string} role
   * @param {string} help
   */
  heading(place, key, title, role, help) {
    const { sort } = this.state;
    const sorted = sort?.key === key ? (sort.descending ? "descending" : "ascending") : "none";
    const handle = element("span", { class: "nbx-resize", "aria-hidden": "true" });
    const text = element("span", {}, title, ...(role ? [element("small", {}, ` ${role}`)] : []));
    const arrow = { descending: "▼", ascending: "▲", none: "" }[sorted];
    const mark = element("span", { class: "nbx-arrow", "aria-hidden": "true" }, arrow);
    const heading = element(
      "div",
      { role: "columnheader", id: `${this.id}-h${place}`, "aria-sort": sorted, title: help },
      ...[text, mark, handle],
    );
    heading.setAttribute("aria-colindex", String(place + 1));
    heading.addEventListener("click", () => this.sort(place));
    handle.addEventListener("click", (event) => event.stopPropagation());
    handle.addEventListener("pointerdown", (event) => this.drag(event, handle, key));
    return heading;
  }

  /** @param {number} place of a heading */
  sort(place) {
    this.state.cycleSort(place ? this.columns[place - 1].key : NAME);
    this.drawHead();
    this.refreshRows();
    this.changed("sort");
  }

  /**
   * @param {PointerEvent} event
   * @param {HTMLElement} handle
   * @param {string} key
   */
  drag(event, handle, key) {
    event.preventDefault();
    event.stopPropagation();
    handle.setPointerCapture(event.pointerId);
    const before = this.widthOf(key);
    /** @type {(event: PointerEvent) => void} */
    const move = ({ clientX }) => {
      this.resize(key, before + (clientX - event.clientX) / zoomOf(handle));
    };
    handle.addEventListener("pointermove", move);
    const end = () => handle.removeEventListener("pointermove", move);
    handle.addEventListener("pointerup", end, { once: true });
    handle.addEventListener("pointercancel", end, { once: true });
  }

  /**
   * @param {string} key
   * @param {number} width
   */
  resize(key, width) {
    this.widths[key] = Math.max(LEAST_WIDTH, width);
    this.setWidths();
  }

  draw() {
    if (!this.shown) return;
    const { state, columns, sight } = this;
    const first = Math.max(0, Math.floor(sight.top / ROW_HEIGHT) - 1);
    const height = sight.height || MOST_IN_SIGHT * ROW_HEIGHT;
    const count = Math.min(state.rows.length - first, Math.ceil(height / ROW_HEIGHT) + 2);
    while (this.pool.length < count) {
      this.pool.push(newSlot(columns));
      this.body.append(this.pool[this.pool.length - 1].row);
    }
    this.pool.forEach((slot, place) => {
      slot.row.hidden = place >= count;
      if (place < count) fillSlot(slot, first + place, state, columns, this.id);
    });
    this.markActive();
  }

  markActive() {
    const { place, column } = this.active;
    const id = place === HEADER ? `${this.id}-h${column}` : `${this.id}-${place}-${column}`;
    const found = this.grid.querySelector(`#${id}`);
    const there = found !== null && !(/** @type {HTMLElement} */ (found).closest("[hidden]"));
    setAttributes(this.grid, { "aria-activedescendant": there ? id : null });
    this.grid.querySelectorAll(".nbx-active").forEach((old) => old.classList.remove("nbx-active"));
    if (there) found.classList.add("nbx-active");
  }

  /**
   * Make a cell the active one and scroll it into sight.
   * @param {number} place
   * @param {number} column
   */
  moveTo(place, column) {
    this.active = {
      place: Math.max(HEADER, Math.min(place, this.state.rows.length - 1)),
      column: Math.max(0, Math.min(column, this.columns.length)),
    };
    const top = this.active.place * ROW_HEIGHT;
    const room = this.sight.height - HEAD_HEIGHT - ROW_HEIGHT;
    if (top < this.sight.top) this.scrollTo(Math.max(0, top));
    else if (top > this.sight.top + room) this.scrollTo(top - room);
    this.draw();
    const cell = this.grid.querySelector(".nbx-active");
    if (this.active.column) cell?.scrollIntoView({ block: "nearest", inline: "nearest" });
    else if (this.sight.left) this.grid.scrollLeft = this.sight.left = 0;
  }

  /** @param {Event} event */
  placeOf(event) {
    const row = /** @type {Element} */ (event.target).closest("[data-place]");
    return row instanceof HTMLElement ? Number(row.dataset.place) : HEADER;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const place = this.placeOf(event);
    if (place === HEADER) return;
    const target = /** @type {Element} */ (event.target);
    const cell = target.closest("[aria-colindex]");
    this.moveTo(place, Number(cell?.getAttribute("aria-colindex") ?? 1) - 1);
    if (target.closest(".nbx-toggle")) this.toggle(place);
    else if (event.shiftKey) this.extend(place);
    else this.select(place, event.ctrlKey || event.metaKey);
  }

  /** @param {number} place */
  toggle(place) {
    const row = this.state.rows[place];
    if (place < 0 || !this.state.hasChildren(row)) return;
    this.state.setOpen(row, !this.state.isOpen(row));
    this.refreshRows();
    this.changed("rows");
  }

  /**
   * Select a row, or with `more` add it to or remove it from the selection.
   * @param {number} place
   * @param {boolean} more
   */
  select(place, more) {
    const { selected, rows } = this.state;
    const row = rows[place];
    const deselect = selected.has(row) && (more || selected.size === 1);
    if (!more) selected.clear();
    if (deselect) selected.delete(row);
    else selected.add(row);
    this.anchor = place;
    this.draw();
    this.changed("selection");
  }

  /** @param {number} place up to which to select rows, from the last one chosen */
  extend(place) {
    const { state } = this;
    const [first, last] = [Math.min(place, this.anchor), Math.max(place, this.anchor)];
    state.selected = new Set(state.rows.subarray(first, last + 1));
    this.draw();
    this.changed("selection");
  }

  /** @param {number} row to select and scroll into sight */
  reveal(row) {
    const place = this.state.reveal(row);
    this.state.selected = new Set([row]);
    this.refreshRows();
    if (place >= 0) this.moveTo(place, 0);
    this.anchor = Math.max(place, 0);
  }
}
