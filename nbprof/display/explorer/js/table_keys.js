/** The keys of the tree-table, as WAI-ARIA describes them for treegrids with focusable cells. */

/** @typedef {import("./table.js").TreeTable} TreeTable */

/** The place of the header, above row 0. */
export const HEADER = -1;
/** Rows by which PageUp and PageDown move. */
const PAGE = 15;
/** Pixels by which a key changes the width of a column. */
const WIDER = 16;

/** @type {Record<string, [number, number]>} */
const MOVES = { ArrowDown: [1, 0], ArrowUp: [-1, 0], PageDown: [PAGE, 0], PageUp: [-PAGE, 0] };

/**
 * @param {TreeTable} table
 * @param {KeyboardEvent} event
 */
export function gridKey(table, event) {
  const held = event.ctrlKey || event.metaKey;
  const done = held ? withControl(table, event) : move(table, event) || act(table, event);
  if (done) event.preventDefault();
}

/**
 * @param {TreeTable} table
 * @param {KeyboardEvent} event
 */
function withControl(table, { key }) {
  const { state, active } = table;
  if (key === "c") {
    if (String(document.getSelection())) return false;
    table.actions.copy();
  } else if (key === "a") {
    state.selected = new Set(state.rows);
    table.draw();
    table.changed("selection");
  } else if (key === "Home") table.moveTo(0, active.column);
  else if (key === "End") table.moveTo(state.rows.length - 1, active.column);
  else return false;
  return true;
}

/**
 * @param {TreeTable} table
 * @param {KeyboardEvent} event
 */
function move(table, { key, shiftKey }) {
  const { place, column } = table.active;
  if (MOVES[key]) {
    const [down] = MOVES[key];
    const target = place === HEADER && down > 0 ? 0 : place + down;
    const least = place === 0 && down < 0 ? HEADER : 0;
    table.moveTo(Math.max(target, place === HEADER ? HEADER : least), column);
    if (shiftKey && table.active.place >= 0) table.extend(table.active.place);
  } else if (key === "Home") table.moveTo(place, 0);
  else if (key === "End") table.moveTo(place, table.columns.length);
  else if (key === "ArrowRight" || key === "ArrowLeft") sideways(table, key, shiftKey);
  else return false;
  return true;
}

/**
 * Open and close rows in the first column; in the header, with Shift, change the width.
 * @param {TreeTable} table
 * @param {string} key
 * @param {boolean} shiftKey
 */
function sideways(table, key, shiftKey) {
  const { state } = table;
  const { place, column } = table.active;
  const right = key === "ArrowRight";
  if (place === HEADER && shiftKey) {
    const name = column ? table.columns[column - 1].key : "name";
    table.resize(name, table.widthOf(name) + (right ? WIDER : -WIDER));
    return;
  }
  const row = state.rows[place];
  if (place >= 0 && column === 0 && state.hasChildren(row) && state.isOpen(row) !== right) {
    table.toggle(place);
  } else if (!right && column === 0 && place >= 0) {
    const above = state.rows.indexOf(state.table.parent[row]);
    if (above >= 0) table.moveTo(above, 0);
  } else table.moveTo(place, column + (right ? 1 : -1));
}

/**
 * @param {TreeTable} table
 * @param {KeyboardEvent} event
 */
function act(table, { key }) {
  const { state } = table;
  const { place, column } = table.active;
  if (key === "/") table.actions.find();
  else if (key === "Escape") {
    state.selected.clear();
    table.draw();
    table.changed("selection");
  } else if (place === HEADER && (key === "Enter" || key === " ")) table.sort(column);
  else if (key === "Enter") table.toggle(place);
  else if (key === " ") table.select(place, true);
  else if (key === "*" && place >= 0) {
    state.setOpenBelow(state.rows[place], true);
    table.refreshRows();
    table.changed("rows");
  } else return false;
  return true;
}
