/** The source panel: lines of Python, tinted by what they cost, the hottest one in sight. */

import { button, element } from "./dom.js";
import { costOf, hottest, linesOf, linesToShow } from "./source_lines.js";
import { format, share } from "./units.js";

/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_table.js").Column} Column */
/** @typedef {import("./source_lines.js").Line} Line */
/** @typedef {import("./source_lines.js").SourceText} SourceText */
/** @typedef {{table: Table, column: Column, title: string}} Choice what lines can be tinted by */

const MOST_LINES = 600;
const MOST_COLUMNS = 3;
/** Metrics to show after the one by which lines are tinted, before any others. */
const PREFERRED = ["micros", "live_bytes", "bytes", "run_count"];
/** Tints differ more where little was spent: a line of a tenth of the most is a fifth as hot. */
const STEEPNESS = 0.7;

export class Source {
  /**
   * @param {Table[]} tables whose rows are lines
   * @param {SourceText[]} texts
   * @param {(table: Table, rows: number[]) => void} select
   */
  constructor(tables, texts, select) {
    this.tables = tables;
    this.select = select;
    this.all = linesOf(tables, texts);
    this.choices = choicesOf(tables);
    /** Whether the user has chosen a column; otherwise that of the view shown leads. */
    this.chosen = false;
    /** @type {Line[]} the lines shown */
    this.lines = [];
    /** @type {HTMLElement[]} */
    this.rows = [];
    /** Whether to bring the hottest line into sight when the panel is drawn next. */
    this.seeks = true;
    this.heat = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Heat" }));
    this.heat.append(
      ...this.choices.map(({ title }, place) => element("option", { value: place }, title)),
    );
    this.heat.addEventListener("change", () => {
      this.chosen = true;
      this.showHottest();
    });
    const seek = button("Hottest line", "scroll to the line that cost the most", () => this.showHottest());
    const bar = element("div", { class: "nbx-bar" }, element("label", {}, "heat ", this.heat), seek);
    this.box = element("div", { class: "nbx-source", tabindex: 0, role: "region" });
    this.box.setAttribute("aria-label", "lines of Python, and what those that ran or made ops cost");
    this.element = element("div", {}, bar, this.box);
  }

  get hasLines() {
    return this.choices.length > 0 && this.all.some(({ of }) => of.size > 0);
  }

  /** @returns {Choice} */
  get choice() {
    return this.choices[Number(this.heat.value)];
  }

  /**
   * Tint by the leading column of the view that is shown, unless the user has chosen another.
   * @param {Table} table
   */
  follow(table) {
    const place = this.choices.findIndex((choice) => choice.table === table);
    if (this.chosen || place < 0 || this.choice.table === table) return;
    this.heat.value = String(place);
    this.seeks = true;
  }

  showHottest() {
    this.seeks = true;
    this.draw();
  }

  /** Write what each line cost in the chosen stretch of time. */
  draw() {
    if (this.element.hidden || !this.hasLines) return;
    const { table } = this.choice;
    const columns = this.columns();
    const costs = this.all.map((line) => costOf(line, table, columns[0]));
    const shown = linesToShow(this.all, costs, MOST_LINES);
    const most = costs.reduce((most, cost) => (cost > most ? cost : most), 0);
    this.lines = shown.map((place) => this.all[place]);
    this.rows = shown.map((place) => this.rowOf(this.all[place], columns, costs[place] / most));
    const body = element("tbody");
    this.lines.forEach((line, at) => {
      const before = this.lines[at - 1];
      if (line.file !== before?.file) body.append(this.heading(line.file, columns.length));
      else if (line.line > before.line + 1) body.append(wideRow(columns.length, "td", {}, "⋯"));
      body.append(this.rows[at]);
    });
    const own = columns.map(({ title, role, help }) => {
      return { title: table.tree ? `${title} ${role}` : title, help };
    });
    const titles = [{ title: "line", help: "" }, { title: "source", help: "" }, ...own];
    const heads = titles.map(({ title, help }) => element("th", { scope: "col", title: help }, title));
    const head = element("tr", {}, ...heads);
    this.box.replaceChildren(element("table", {}, element("thead", {}, head), body));
    const left = this.all.length - shown.length;
    if (left) this.box.append(element("p", { class: "nbx-line" }, `… and ${left} lighter lines`));
    if (this.seeks) this.scrollTo(shown.indexOf(hottest(this.all, costs, table)));
  }

  /** @returns {Column[]} the one by which lines are tinted, then others of the same view */
  columns() {
    const { table, column } = this.choice;
    const same = this.choices.filter((choice) => choice.table === table).map((choice) => choice.column);
    const others = same.filter(({ role }) => role === same[0].role);
    const preferred = PREFERRED.flatMap((name) => others.filter(({ metric }) => metric === name));
    return [...new Set([column, ...preferred, ...others])].slice(0, MOST_COLUMNS);
  }

  /** @param {number} place of a shown line, which is scrolled to the middle; the page stays */
  scrollTo(place) {
    this.seeks = false;
    const row = this.rows[place];
    if (row) this.box.scrollTop = row.offsetTop - (this.box.clientHeight - row.offsetHeight) / 2;
  }

  /**
   * @param {string} file
   * @param {number} columns
   */
  heading(file, columns) {
    const name = /** @type {string} */ (file.split(/[\\/]/).pop());
    const names = new Set(this.all.map((line) => line.file).filter((other) => other.endsWith(name)));
    const attributes = { scope: "rowgroup", title: file };
    return wideRow(columns, "th", attributes, names.size > 1 ? file : name);
  }

  /**
   * @param {Line} line
   * @param {Column[]} columns
   * @param {number} part of the most that any line cost
   */
  rowOf(line, columns, part) {
    const { table } = this.choice;
    const title = "select the rows of this line";
    const text = line.of.size
      ? element("button", { type: "button", title }, line.text || "…")
      : element("code", {}, line.text);
    const place = element("td", {}, String(line.line));
    const row = element("tr", {}, place, element("td", {}, text));
    row.append(...columns.map((column) => costCell(costOf(line, table, column), column, line.of.has(table))));
    if (part > 0) row.style.setProperty("--heat", (part ** STEEPNESS).toFixed(3));
    if (line.of.size) row.addEventListener("click", () => this.selectLine(line));
    return row;
  }

  /** @param {Line} line */
  selectLine(line) {
    const [first] = line.of.keys();
    const table = line.of.has(this.choice.table) ? this.choice.table : first;
    this.select(table, line.of.get(table)?.rows ?? []);
  }

  /**
   * Mark the lines of the selected rows, or those that made the selected kinds of op runs.
   * @param {Table} shown
   * @param {Set<number>} selected rows of the table that is shown
   * @param {Uint8Array | null} kinds selected in a view whose rows are not lines
   */
  mark(shown, selected, kinds) {
    const own = this.tables.includes(shown);
    const table = own ? shown : this.tables.find(({ kindRows }) => kindRows);
    const rows = new Set(own ? selected : []);
    if (!own && kinds) table?.kindRows?.forEach((row, kind) => kinds[kind] && row >= 0 && rows.add(row));
    this.lines.forEach(({ of }, at) => {
      const marked = !!table && !!of.get(table)?.rows.some((row) => rows.has(row));
      this.rows[at].setAttribute("aria-current", String(marked));
    });
  }
}

/**
 * List what lines can be tinted by, for each view the leading column first.
 * @param {Table[]} tables
 * @returns {Choice[]}
 */
function choicesOf(tables) {
  return tables.flatMap((table) => {
    const metrics = table.columns.filter(({ metric, brought }) => metric && !brought);
    const totals = metrics.filter(({ role }) => role === "total");
    const ordered = [...totals, ...metrics.filter((column) => !totals.includes(column))];
    const leads = ordered.filter(({ column, role }) => {
      return column === table.options.order_by && role === ordered[0].role;
    });
    const walls = ordered.filter(({ column }) => column === "wall_micros");
    return [...new Set([...leads, ...walls, ...ordered])].map((column) => {
      const role = table.tree ? ` ${column.role}` : "";
      const view = tables.length > 1 ? ` (${table.name})` : "";
      return { table, column, title: `${column.title}${role}${view}` };
    });
  });
}

/**
 * @param {number} columns
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {string} text
 */
function wideRow(columns, tag, attributes, text) {
  return element("tr", {}, element(tag, { ...attributes, colspan: columns + 2 }, text));
}

/**
 * @param {number} cost
 * @param {Column} column
 * @param {boolean} known whether the line has rows in the view that has the column
 */
function costCell(cost, column, known) {
  if (!known) return element("td");
  return element("td", {}, format(cost, column.unit), element("small", {}, ` ${share(cost, column.whole)}`));
}
