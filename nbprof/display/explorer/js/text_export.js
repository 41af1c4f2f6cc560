/** Text for other programs: rows as a table, and the `%tfprof` line that shows the same view. */

import { NAME } from "./view_state.js";

/** @typedef {import("./view_state.js").ViewState} ViewState */

/**
 * Write rows with raw numbers and the shown columns; unknown numbers are empty fields.
 * @param {ViewState} state
 * @param {Iterable<number>} rows
 * @param {string} separator
 */
export function tableText(state, rows, separator) {
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
 * Quote a word for the line of a magic, as for a shell.
 * @param {string} word
 */
function quote(word) {
  return /^[\w.,:/=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/**
 * Write an RE2 pattern for a whole name; commas are escaped, as they separate patterns.
 * @param {string} text
 * @param {boolean} regex
 */
function wholeName(text, regex) {
  const pattern = regex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return `(?i).*${regex ? `(?:${pattern})` : pattern}.*`.replaceAll(",", "\\x2c");
}

/**
 * Write the `%tfprof` line that shows what the table shows.
 * @param {ViewState} state
 */
export function magicLine(state) {
  const { table, sort, search, regex, minimum } = state;
  const options = { ...table.options };
  if (sort) options.order_by = table.column(sort.key)?.column ?? NAME;
  const shown = [...new Set(state.columns.map((column) => column.column))];
  const selected = table.options.select.split(",");
  if (selected.some((name) => !shown.includes(name))) {
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
