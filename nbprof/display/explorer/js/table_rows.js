/** Row elements of the table; they are reused for other rows while scrolling. */

import { element, setAttributes } from "./dom.js";
import { format, share } from "./units.js";

/** @typedef {import("./view_state.js").ViewState} ViewState */
/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_table.js").Column} Column */
/**
 * @typedef {{row: HTMLElement, cells: HTMLElement[], name: NameParts, place: number}} Slot
 * @typedef {{toggle: HTMLElement, text: HTMLElement, beside: HTMLElement}} NameParts
 */

export const ROW_HEIGHT = 24;

/**
 * @param {Column[]} columns
 * @returns {Slot}
 */
export function newSlot(columns) {
  const name = {
    toggle: element("span", { class: "nbx-toggle", "aria-hidden": "true" }),
    text: element("span", { class: "nbx-name" }),
    beside: element("small", {}),
  };
  const first = element("div", { role: "rowheader", "aria-colindex": 1 });
  first.append(name.toggle, name.text, name.beside);
  const cells = columns.map((column, at) => {
    const cell = element("div", { role: "gridcell", "aria-colindex": at + 2 });
    if (!column.metric) cell.className = "nbx-label";
    else if (!column.wholeShipped) cell.className = "nbx-plain";
    cell.append(element("span"), element("small"));
    return cell;
  });
  const row = element("div", { class: "nbx-row", role: "row" }, first, ...cells);
  return { row, cells: [first, ...cells], name, place: -1 };
}

/**
 * Show the row at a place.
 * @param {Slot} slot
 * @param {number} place
 * @param {ViewState} state
 * @param {Column[]} columns
 * @param {string} id of the table
 */
export function fillSlot(slot, place, state, columns, id) {
  const row = state.rows[place];
  if (slot.place !== place) putAt(slot, place, id);
  setAttributes(slot.row, { "aria-selected": state.selected.has(row) });
  if (state.table.tree) {
    const [among, size] = state.siblings(row);
    setAttributes(slot.row, {
      "aria-level": state.table.depth[row] + 1,
      "aria-posinset": among,
      "aria-setsize": size,
      "aria-expanded": state.hasChildren(row) ? state.isOpen(row) : null,
    });
  }
  slot.row.classList.toggle("nbx-match", state.matching !== null && state.matching[row] === 1);
  fillName(slot, row, state);
  columns.forEach((column, at) => fillCell(slot.cells[at + 1], column, row, state.table));
}

/**
 * @param {Slot} slot
 * @param {number} place
 * @param {string} id
 */
function putAt(slot, place, id) {
  slot.place = place;
  slot.row.style.top = `${place * ROW_HEIGHT}px`;
  slot.row.dataset.place = String(place);
  slot.row.setAttribute("aria-rowindex", String(place + 2));
  slot.cells.forEach((cell, column) => (cell.id = `${id}-${place}-${column}`));
}

/**
 * @param {Slot} slot
 * @param {number} row
 * @param {ViewState} state
 */
function fillName({ cells, name: { toggle, text, beside } }, row, state) {
  const { table } = state;
  toggle.textContent = state.hasChildren(row) ? (state.isOpen(row) ? "▾" : "▸") : "";
  toggle.style.marginInlineStart = `${table.depth[row]}em`;
  toggle.hidden = !table.tree;
  text.textContent = table.shortName(row);
  beside.textContent = table.beside(row);
  cells[0].title = table.nameOf(row);
}

/**
 * @param {HTMLElement} cell
 * @param {Column} column
 * @param {number} row
 * @param {Table} table
 */
function fillCell(cell, column, row, table) {
  const value = column.values[row];
  const number = /** @type {HTMLElement} */ (cell.firstChild);
  const percent = /** @type {HTMLElement} */ (cell.lastChild);
  if (!column.metric) {
    number.textContent = cell.title = table.strings[value];
    return;
  }
  const none = column.role === "self" && table.parent[row] < 0 && table.tree;
  number.textContent = none ? "--" : format(value, column.unit);
  percent.textContent = none ? "" : share(value, column.whole);
  const width = column.whole && value > 0 ? (100 * value) / column.whole : 0;
  cell.style.setProperty("--share", `${width.toFixed(2)}%`);
}
