/** Colours of the flame: each says something, and the legend says what. Letters on them are dark. */

import { element } from "./dom.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./data.js").Column} Column */
/**
 * @typedef {object} Colouring
 * @property {string} name
 * @property {(table: Table) => boolean} applies
 * @property {(table: Table, column: Column) => (row: number) => string} paint
 * @property {(table: Table) => [string, string][]} legend
 */

/** Of these, colour-blind people tell the neighbours apart. */
const PALETTE = ["#8ec5e8", "#f0c26b", "#8fd0b3", "#e8a3c8", "#e9e17f", "#f0a07a", "#b9b4e6", "#c9c9c9"];
const FOLDED = "#e3ddd2";

/** @param {number} part from 0 to 1 */
function heat(part) {
  const light = 86 - 24 * Math.min(Math.max(part, 0), 1);
  return `hsl(${44 - 28 * part} 92% ${light}%)`;
}

/** @param {number} place */
export function kindColour(place) {
  return PALETTE[Math.min(place, PALETTE.length - 1)];
}

/**
 * Give every row the number of the part of the tree that it is in, and those parts' rows.
 * @param {Table} table
 */
function parts(table) {
  const top = table.tree ? 1 : 0;
  /** @type {number[]} */
  const rows = [];
  const part = new Int32Array(table.rows).fill(-1);
  for (let row = 0; row < table.rows; row++) {
    if (table.depth[row] === top) {
      part[row] = rows.length;
      rows.push(row);
    } else if (table.depth[row] > top) part[row] = part[table.parent[row]];
  }
  return { part, rows };
}

/**
 * @param {string} name
 * @param {string} key
 * @returns {Colouring}
 */
function byLabel(name, key) {
  /** @type {(table: Table) => Map<number, number>} */
  const places = (table) => {
    /** @type {Map<number, number>} */
    const found = new Map();
    for (const code of table.column(key)?.values ?? []) {
      if (table.strings[code] && !found.has(code)) found.set(code, found.size);
    }
    return found;
  };
  return {
    name,
    applies: (table) => table.column(key) !== undefined,
    paint: (table) => {
      const found = places(table);
      const codes = table.column(key)?.values;
      return (row) => {
        const place = codes && found.get(codes[row]);
        return place === undefined ? FOLDED : kindColour(place);
      };
    },
    legend: (table) => {
      const texts = [...places(table).keys()].map((code) => table.strings[code]);
      return named(texts);
    },
  };
}

/**
 * @param {string[]} texts
 * @returns {[string, string][]}
 */
export function named(texts) {
  const most = PALETTE.length - 1;
  /** @type {[string, string][]} */
  const shown = texts.slice(0, most).map((text, place) => [kindColour(place), text]);
  if (texts.length > most) shown.push([kindColour(most), `${texts.length - most} others`]);
  return shown;
}

/** @type {Colouring[]} */
export const COLOURINGS = [
  {
    name: "own share",
    applies: (table) => table.tree,
    paint: (table, column) => {
      const own = table.column(column.metric)?.values;
      return (row) => {
        const part = own && column.values[row] > 0 ? own[row] / column.values[row] : 0;
        return heat(Number.isNaN(part) ? 0 : part);
      };
    },
    legend: () => [
      [heat(0), "all of it is in the rows below"],
      [heat(0.5), "half"],
      [heat(1), "all of it is the row's own"],
    ],
  },
  {
    name: "part",
    applies: () => true,
    paint: (table) => {
      const { part } = parts(table);
      return (row) => (part[row] < 0 ? FOLDED : kindColour(part[row]));
    },
    legend: (table) => named(parts(table).rows.map((row) => table.shortName(row))),
  },
  byLabel("device", "device"),
  byLabel("op types", "op_types"),
];

/**
 * @param {[string, string][]} colours and what they mean
 * @returns {HTMLElement[]}
 */
export function swatches(colours) {
  return colours.map(([colour, text]) => {
    const patch = element("i", { "aria-hidden": "true" });
    patch.style.background = colour;
    return element("span", {}, patch, text);
  });
}
