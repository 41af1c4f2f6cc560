/** What leaves the explorer as text: tables for other programs, and the line that gives this view. */

import { NAME } from "./view_state.js";

/** @typedef {import("./view_state.js").ViewState} ViewState */

/**
 * Write rows with raw numbers, the columns as shown; what is not known is an empty field.
 * @param {ViewState} state
 * @param {Iterable<number>} rows
 * @param {string} separator
 */
export function asTable(state, rows, separator) {
  const { table, columns } = state;
  /** @type {(text: string) => string} */
  const quoted = (text) => (/["\t\n\r,]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [[NAME, ...columns.map((column) => column.key)].map(quoted).join(separator)];
  for (const row of rows) {
    const cells = columns.map((column) => {
      const value = column.values[row];
      if (!column.metric) return table.strings[value];
      return Number.isNaN(value) ? "" : String(value);
    });
    lines.push([table.nameOf(row), ...cells].map(quoted).join(separator));
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Quote a word for the line of a magic, as a shell would.
 * @param {string} word
 */
function quote(word) {
  return /^[\w.,:/=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/**
 * Make a regular expression of RE2 for a whole name; a comma would begin another one.
 * @param {string} text
 * @param {boolean} regex
 */
function wholeName(text, regex) {
  const pattern = regex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return `(?i).*${regex ? `(?:${pattern})` : pattern}.*`.replaceAll(",", "\\x2c");
}

/**
 * Write the `%tfprof` line that gives what is shown.
 * @param {ViewState} state
 */
export function magicLine(state) {
  const { table, sort, search, regex, minimum } = state;
  const options = { ...table.options };
  if (sort) options.order_by = table.column(sort.key)?.column ?? NAME;
  const shown = [...new Set(state.columns.map((column) => column.column))];
  const asked = table.options.select.split(",");
  if (asked.some((name) => !shown.includes(name))) {
    options.select = shown.join(",") || options.select;
  }
  if (state.perStep) options.step = "-1";
  if (search) options.show_name_regexes = wholeName(search, regex);
  if (minimum) {
    const column = table.column(minimum.key)?.column;
    options[`min_${column}`] = String(minimum.least);
  }
  const words = Object.entries(options).map(([name, value]) => `-${name} ${quote(value)}`);
  return ["%tfprof", table.name, ...words].join(" ");
}
