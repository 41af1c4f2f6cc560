/** The source panel: whole cells, and other lines that ran or made ops, with their costs. */

import { element } from "./dom.js";
import { format, share } from "./units.js";

/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_table.js").Column} Column */
/**
 * @typedef {{file: string, line: number, text: string, rows: number[], tops: number[]}} Line
 * `rows` are the line's rows of the code view; `tops` are those that are not below another of them.
 */

/** Most lines to show: the costliest. */
const MOST_LINES = 300;
const MOST_COLUMNS = 3;
/** Metrics to show after the one by which the report was ordered, before any others. */
const PREFERRED = ["micros", "live_bytes", "bytes", "run_count"];

/**
 * Group the rows of the code view by line, in the order of files and lines.
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
    if (!found) {
      // A layer belongs to the line that runs it.
      lineOf[row] = lineOf[table.parent[row]];
      lineOf[row]?.rows.push(row);
      continue;
    }
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
 * Add up what a line cost, including all that it called; NaN if nothing is known.
 * @param {Line} line
 * @param {Column} column
 */
export function costOf(line, column) {
  const known = line.tops.map((row) => column.values[row]).filter((cost) => cost === cost);
  return known.length ? known.reduce((sum, cost) => sum + cost, 0) : NaN;
}

/**
 * Insert the lines that cost something into the whole source of their cells.
 * @param {Line[]} costly in the order of files and lines
 * @param {{file: string, line: number, text: string}[]} cells
 * @returns {Line[]}
 */
export function withCells(costly, cells) {
  const known = new Map(costly.map((line) => [`${line.file}:${line.line}`, line]));
  const files = new Set(cells.map(({ file }) => file));
  const whole = cells.map(({ file, line, text }) => {
    const found = known.get(`${file}:${line}`);
    return found ? { ...found, text } : { file, line, text, rows: [], tops: [] };
  });
  return [...whole, ...costly.filter(({ file }) => !files.has(file))];
}

export class Source {
  /**
   * @param {Table} table the code view
   * @param {{file: string, line: number, text: string}[]} cells
   * @param {(rows: number[]) => void} select
   */
  constructor(table, cells, select) {
    this.table = table;
    this.select = select;
    const metrics = table.columns.filter(({ role, brought }) => role === "total" && !brought);
    const leading = metrics.filter(({ column }) => column === table.options.order_by);
    const preferred = PREFERRED.flatMap((name) => metrics.filter(({ metric }) => metric === name));
    this.columns = [...new Set([...leading, ...preferred, ...metrics])].slice(0, MOST_COLUMNS);
    const [main] = this.columns;
    const costly = linesOf(table);
    const all = withCells(costly, cells);
    const order = main ? [...all].sort((a, b) => (costOf(b, main) || 0) - (costOf(a, main) || 0)) : all;
    const shown = new Set(order.slice(0, MOST_LINES));
    this.lines = costly.length ? all.filter((line) => shown.has(line)) : [];
    /** @type {HTMLElement[]} */
    this.rows = this.lines.map((line) => this.rowOf(line));
    const body = element("tbody");
    this.lines.forEach((line, at) => {
      if (line.file !== this.lines[at - 1]?.file) body.append(this.heading(line.file));
      body.append(this.rows[at]);
    });
    const drawn = element("table", {}, this.head(), body);
    const left = all.length - this.lines.length;
    this.element = element("div", { class: "nbx-source", tabindex: 0, role: "region" }, drawn);
    this.element.setAttribute("aria-label", "lines of Python, and what those that ran or made ops cost");
    if (left) this.element.append(element("p", { class: "nbx-line" }, `… and ${left} lighter lines`));
    this.draw();
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

  /** @param {Line} line */
  rowOf(line) {
    const title = "select what this line ran or made";
    const text = line.rows.length
      ? element("button", { type: "button", title }, line.text || "…")
      : element("code", {}, line.text);
    const place = element("td", {}, String(line.line));
    const row = element("tr", {}, place, element("td", {}, text));
    row.append(...this.columns.map(() => element("td")));
    if (line.rows.length) row.addEventListener("click", () => this.select(line.rows));
    return row;
  }

  /** Write what each line cost in the chosen stretch of time. */
  draw() {
    if (this.element.hidden) return;
    this.lines.forEach((line, at) => {
      if (!line.rows.length) return;
      this.columns.forEach((column, place) => {
        const cell = /** @type {HTMLElement} */ (this.rows[at].children[place + 2]);
        const cost = costOf(line, column);
        const percent = element("small", {}, ` ${share(cost, column.whole)}`);
        cell.replaceChildren(format(cost, column.unit), percent);
        const part = column.whole ? Math.min((100 * cost) / column.whole, 100) : 0;
        cell.style.setProperty("--share", `${part.toFixed(2)}%`);
      });
    });
  }

  /**
   * Mark the lines of the selected rows, or those that made the selected kinds of op runs.
   * @param {Set<number>} selected rows of the code view
   * @param {Uint8Array | null} kinds selected in another view
   */
  mark(selected, kinds) {
    const rows = new Set(selected);
    if (kinds) this.table.kindRows?.forEach((row, kind) => kinds[kind] && row >= 0 && rows.add(row));
    this.lines.forEach((line, at) => {
      const marked = line.rows.some((row) => rows.has(row));
      this.rows[at].setAttribute("aria-current", String(marked));
    });
  }
}
