/** The lines of Python that the rows of views are about, and what each of them cost. */

/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_table.js").Column} Column */
/** @typedef {{file: string, line: number, text: string}} SourceText */
/**
 * The rows of a table about one line; `tops` are those that are not below another of them.
 * @typedef {{rows: number[], tops: number[]}} LineRows
 * @typedef {SourceText & {of: Map<Table, LineRows>}} Line
 */

/** Lines whose costs differ by less than this share cost the same: one of them calls the other. */
const SAME_COST = 0.01;

/**
 * Find the lines that the rows of tables are about, and put them among the shipped texts: first
 * the files of those texts, then all others, each in the order of its lines.
 * @param {Table[]} tables
 * @param {SourceText[]} texts
 * @returns {Line[]}
 */
export function linesOf(tables, texts) {
  /** @type {Map<string, Map<number, Line>>} */
  const files = new Map();
  /** @type {(file: string, line: number, text: string) => Line} */
  const lineAt = (file, line, text) => {
    const lines = files.get(file) ?? new Map();
    files.set(file, lines);
    const found = lines.get(line) ?? { file, line, text, of: new Map() };
    lines.set(line, found);
    return found;
  };
  for (const { file, line, text } of texts) lineAt(file, line, text);
  for (const table of tables) addRows(table, lineAt);
  return [...files.values()].flatMap((lines) => [...lines.values()].sort((a, b) => a.line - b.line));
}

/**
 * @param {Table} table
 * @param {(file: string, line: number, text: string) => Line} lineAt
 */
function addRows(table, lineAt) {
  const { lines, parent, strings } = table;
  if (!lines) return;
  /** @type {(Line | undefined)[]} */
  const lineOf = [];
  for (let row = 0; row < table.rows; row++) {
    if (!lines.line[row]) {
      // A layer or a package belongs to the line that runs it.
      lineOf[row] = lineOf[parent[row]];
      lineOf[row]?.of.get(table)?.rows.push(row);
      continue;
    }
    const text = table.source ? strings[table.source[row]] : "";
    const line = lineAt(strings[lines.file[row]], lines.line[row], text);
    const found = line.of.get(table) ?? { rows: [], tops: [] };
    line.of.set(table, found);
    lineOf[row] = line;
    found.rows.push(row);
    let above = parent[row];
    while (above >= 0 && lineOf[above] !== line) above = parent[above];
    if (above < 0) found.tops.push(row);
  }
}

/**
 * Add up what a line cost, including all that it called; NaN if nothing is known.
 * @param {Line} line
 * @param {Table} table
 * @param {Column} column
 */
export function costOf(line, table, column) {
  const tops = line.of.get(table)?.tops ?? [];
  const known = tops.map((row) => column.values[row]).filter((cost) => cost === cost);
  return known.length ? known.reduce((sum, cost) => sum + cost, 0) : NaN;
}

/**
 * Find the line that cost the most: of a line and one it calls that cost the same, the latter.
 * @param {Line[]} lines
 * @param {number[]} costs of the lines
 * @param {Table} table
 * @returns {number} its place, -1 if no line cost anything
 */
export function hottest(lines, costs, table) {
  const most = costs.reduce((most, cost) => (cost > most ? cost : most), 0);
  let found = -1;
  let depth = -1;
  lines.forEach((line, place) => {
    const row = line.of.get(table)?.tops[0];
    if (row === undefined || !(costs[place] > 0) || costs[place] < (1 - SAME_COST) * most) return;
    if (table.depth[row] > depth) [found, depth] = [place, table.depth[row]];
  });
  return found;
}

/**
 * Choose which lines to show: those that cost the most, then those nearest to one that cost something.
 * @param {Line[]} lines
 * @param {number[]} costs of the lines
 * @param {number} most
 * @returns {number[]} places of lines, ascending
 */
export function linesToShow(lines, costs, most) {
  const far = lines.map(({ of }) => (of.size ? 0 : Infinity));
  /** @type {(place: number, from: number) => void} */
  const spread = (place, from) => {
    if (lines[from]?.file === lines[place].file) far[place] = Math.min(far[place], far[from] + 1);
  };
  for (let place = 0; place < lines.length; place++) spread(place, place - 1);
  for (let place = lines.length - 1; place >= 0; place--) spread(place, place + 1);
  const order = lines.map((_, place) => place);
  order.sort((a, b) => (costs[b] || 0) - (costs[a] || 0) || far[a] - far[b] || a - b);
  return order.slice(0, most).sort((a, b) => a - b);
}
