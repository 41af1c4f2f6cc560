/** The calls panel: who called the selected row on the left, what it called on the right. */

import { CallGraph, neighboursInTree } from "./call_neighbours.js";
import { button, element } from "./dom.js";
import { format, grouped, share } from "./units.js";

/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_state.js").ViewState} ViewState */
/** @typedef {import("./call_neighbours.js").Party} Party */
/** @typedef {import("./call_neighbours.js").Neighbours} Neighbours */

/** Most callers or callees to show: the heaviest. */
const MOST_PARTIES = 12;
const NO_CALLS = "select a row of a view of calls or functions to see who called it and what it called";

export class Calls {
  /**
   * @param {CallGraph | null} graph
   * @param {(row: number) => void} select
   */
  constructor(graph, select) {
    this.graph = graph;
    this.select = select;
    /** @type {ViewState | null} */
    this.state = null;
    this.callers = element("div");
    this.callees = element("div");
    this.middle = element("div", { class: "nbx-callee", tabindex: -1 });
    const attributes = { class: "nbx-calls", role: "group", "aria-label": "Calls" };
    this.element = element("div", attributes, this.callers, this.middle, this.callees);
  }

  /** @param {ViewState} state to draw next */
  show(state) {
    this.state = state;
    this.draw();
  }

  draw() {
    if (this.element.hidden || !this.state) return;
    const found = this.neighbours(this.state);
    if (!found) {
      this.middle.replaceChildren(NO_CALLS);
      this.callers.replaceChildren();
      this.callees.replaceChildren();
      return;
    }
    const { name, value, unit, calls } = found;
    const number = element("span", {}, format(value, unit));
    this.middle.replaceChildren(element("b", {}, name), number, element("small", {}, times(calls)));
    this.callers.replaceChildren(...this.list("called by", found.callers, found));
    this.callees.replaceChildren(...this.list("calls", found.callees, found));
  }

  /**
   * @param {ViewState} state
   * @returns {Neighbours | null}
   */
  neighbours({ table, selected, main }) {
    const [row = 0] = selected;
    if (!table.rows) return null;
    if (table.functions) return this.graph?.neighbours(table, row) ?? null;
    const total = table.columns.find(({ column, role }) => column === main?.column && role === "total");
    return table.calls && total ? neighboursInTree(table, total, row) : null;
  }

  /**
   * @param {string} title
   * @param {Party[]} parties
   * @param {Neighbours} of
   */
  list(title, parties, of) {
    const items = parties.slice(0, MOST_PARTIES).map((party) => element("li", {}, this.party(party, of)));
    const more = parties.length - items.length;
    const list = element("ul", { "aria-label": title }, ...items);
    if (more) list.append(element("li", {}, `… and ${grouped(more)} more`));
    if (!parties.length) list.append(element("li", {}, "nothing"));
    return [element("p", { class: "nbx-line" }, title), list];
  }

  /**
   * @param {Party} party
   * @param {Neighbours} of the function whose time the bars are a share of
   */
  party({ name, row, value, calls }, { unit, value: whole }) {
    const numbers = [format(value, unit), share(value, whole || null), times(calls)];
    const entry = button("", name, () => {
      this.select(row);
      this.draw();
      this.middle.focus();
    });
    entry.append(element("span", {}, name), element("small", {}, numbers.filter(Boolean).join(" ")));
    if (row < 0) entry.setAttribute("disabled", "");
    const part = whole > 0 ? Math.min((100 * value) / whole, 100) : 0;
    entry.style.setProperty("--share", `${part.toFixed(1)}%`);
    return entry;
  }
}

/** @param {number} calls */
function times(calls) {
  return calls === calls ? `${grouped(calls)} call${calls === 1 ? "" : "s"}` : "";
}
