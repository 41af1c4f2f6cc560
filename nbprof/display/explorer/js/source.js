/** The source: the lines of Python that ran or made ops, with what each cost, by file and line. */

import { element } from "./dom.js";
import { format, share } from "./units.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./data.js").Column} Column */
/**
 * @typedef {{file: string, line: number, text: string, rows: number[], tops: number[]}} Line
 * `rows` are those of the code view; `tops` those that are not below another of the same line.
 */

const MOST_LINES = 300;
const MOST_COLUMNS = 3;

/**
 * Gather the rows of the code view by line, in the order of files and lines.
 * @param {Table} table
 * @returns {Line[]}
 */
export function linesOf(table) {
  /** @type {Map<string, Line>} */
  const lines = new Map();
  /** @type {(Line | undefined)[]} */
  const lineOf = [];
  for (let row = 0; row < table.rows; row++) {
    const found = /^(.+):(\d+):[^:]*$/.exec(table.nameOf(row));
    if (!found) continue;
    const key = `${found[1]}:${found[2]}`;
    const text = table.source ? table.strings[table.source[row]] : "";
    const fresh = { file: found[1], line: Number(found[2]), text, rows: [], tops: [] };
    const line = lines.get(key) ?? fresh;
    lines.set(key, line);
    lineOf[row] = line;
    line.rows.push(row);
    let above = table.parent[row];
    while (above >= 0 && lineOf[above] !== line) above = table.parent[above];
    if (above < 0) line.tops.push(row);
  }
  const files = [...new Set([...lines.values()].map(({ file }) => file))];
  return [...lines.values()].sort(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line,
  );
}

/**
 * Add up what a line cost, with all that it called; NaN where nothing of it is known.
 * @param {Line} line
 * @param {Column} column
 */
export function costOf(line, column) {
  const known = line.tops.map((row) => column.shipped[row]).filter((cost) => cost === cost);
  return known.length ? known.reduce((sum, cost) => sum + cost, 0) : NaN;
}

export class Source {
  /**
   * @param {Table} table the code view
   * @param {(rows: number[]) => void} chosen
   */
  constructor(table, chosen) {
    this.table = table;
    const metrics = table.columns.filter(({ role, brought }) => role === "total" && !brought);
    const leading = metrics.filter(({ column }) => column === table.options.order_by);
    this.columns = [...new Set([...leading, ...metrics])].slice(0, MOST_COLUMNS);
    const [main] = this.columns;
    const all = linesOf(table);
    const heaviest = main ? [...all].sort((a, b) => costOf(b, main) - costOf(a, main)) : all;
    const shown = new Set(heaviest.slice(0, MOST_LINES));
    this.lines = all.filter((line) => shown.has(line));
    /** @type {HTMLElement[]} */
    this.rows = this.lines.map((line) => this.rowOf(line, chosen));
    const body = element("tbody");
    this.lines.forEach((line, at) => {
      if (line.file !== this.lines[at - 1]?.file) body.append(this.heading(line.file));
      body.append(this.rows[at]);
    });
    const drawn = element("table", {}, this.head(), body);
    const left = all.length - this.lines.length;
    this.element = element("div", { class: "nbx-source", tabindex: 0, role: "region" }, drawn);
    this.element.setAttribute("aria-label", "lines of Python that ran or made ops");
    if (left) this.element.append(element("p", { class: "nbx-line" }, `… and ${left} lighter lines`));
  }

  head() {
    const texts = ["line", "source", ...this.columns.map((column) => column.title)];
    const cells = texts.map((text) => element("th", { scope: "col" }, text));
    return element("thead", {}, element("tr", {}, ...cells));
  }

  /** @param {string} file */
  heading(file) {
    const cell = element("th", { scope: "rowgroup", colspan: this.columns.length + 2 }, file);
    return element("tr", {}, cell);
  }

  /**
   * @param {Line} line
   * @param {(rows: number[]) => void} chosen
   */
  rowOf(line, chosen) {
    const title = "select what this line ran or made";
    const text = element("button", { type: "button", title }, line.text || "…");
    const cells = this.columns.map((column) => {
      const cost = costOf(line, column);
      const percent = element("small", {}, ` ${share(cost, column.whole)}`);
      const cell = element("td", {}, format(cost, column.unit), percent);
      const part = column.whole ? Math.min((100 * cost) / column.whole, 100) : 0;
      cell.style.setProperty("--share", `${part.toFixed(2)}%`);
      return cell;
    });
    const place = element("td", {}, String(line.line));
    const made = element("tr", {}, place, element("td", {}, text), ...cells);
    made.addEventListener("click", () => chosen(line.rows));
    return made;
  }

  /**
   * Mark the lines of the selected rows, where the code view is shown.
   * @param {Table} table
   * @param {Set<number>} selected
   */
  mark(table, selected) {
    this.lines.forEach((line, at) => {
      const is = table === this.table && line.rows.some((row) => selected.has(row));
      this.rows[at].setAttribute("aria-current", String(is));
    });
  }

  draw() {}
}
