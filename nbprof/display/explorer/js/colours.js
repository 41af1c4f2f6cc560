/** Colourings: which colours the flame and the timeline use, and their legends. */

import { byFamily, byText, FAMILY_CATEGORIES, familyOf, mostOf, SEVERAL } from "./families.js";
import { heat, kindColour, MIXED, OTHER } from "./palette.js";

/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./view_table.js").Column} Column */
/** @typedef {import("./run_kinds.js").RunKinds} RunKinds */
/** @typedef {import("./families.js").Category} Category */
/** @typedef {import("./families.js").Division} Division */
/**
 * @typedef {{colour: (row: number) => string, legend: Category[]}} Paint
 * @typedef {object} Colouring
 * @property {string} name
 * @property {(table: Table, kinds: RunKinds | null) => boolean} applies
 * @property {(table: Table, column: Column, kinds: RunKinds | null) => Paint | null} paint
 */

/**
 * @param {(kinds: RunKinds) => Division} divide
 * @returns {(kinds: RunKinds) => Division} the same, computed once for each explorer
 */
function once(divide) {
  /** @type {WeakMap<RunKinds, Division>} */
  const known = new WeakMap();
  return (kinds) => {
    const found = known.get(kinds) ?? divide(kinds);
    known.set(kinds, found);
    return found;
  };
}

/**
 * Ways to tell op runs apart.
 * @type {{name: string, divide: (kinds: RunKinds) => Division}[]}
 */
export const DIVISIONS = [
  { name: "op family", divide: once(byFamily) },
  { name: "op type", divide: once((kinds) => byText(kinds, kinds.types)) },
  { name: "device", divide: once((kinds) => byText(kinds, kinds.devices)) },
];

/**
 * Colour rows by the category that most of their time is in.
 * @param {string} name
 * @param {(kinds: RunKinds) => Division} divide
 * @returns {Colouring}
 */
function byMost(name, divide) {
  return {
    name,
    applies: (table, kinds) => kinds !== null && table.kindRows !== null,
    paint: (table, _, kinds) => {
      const division = kinds && divide(kinds);
      const most = kinds && division && mostOf(table, kinds, division);
      if (!most || !division) return null;
      const categories = [...division.categories, SEVERAL];
      const used = new Set(most);
      return {
        colour: (row) => categories[most[row]].colour,
        legend: categories.filter((_, place) => used.has(place)),
      };
    },
  };
}

/**
 * For explorers without kinds: op types are in a column, or in the op view the names themselves.
 * @type {Colouring}
 */
const byTypesOfRows = {
  name: "op family",
  applies: (table) => table.name === "op" || table.column("op_types") !== undefined,
  paint: (table) => {
    const codes = table.name === "op" ? table.nameCodes : table.column("op_types")?.values;
    if (!codes) return null;
    /** @type {(row: number) => number} */
    const familyOfRow = (row) => {
      const found = new Set(table.strings[codes[row]].split("|").map(familyOf));
      found.delete(FAMILY_CATEGORIES.length - 1);
      return found.size === 1 ? [...found][0] : FAMILY_CATEGORIES.length - 1;
    };
    return { colour: (row) => FAMILY_CATEGORIES[familyOfRow(row)].colour, legend: FAMILY_CATEGORIES };
  },
};

/** @type {Colouring} */
const ownShare = {
  name: "own share",
  applies: (table) => table.tree && !table.overlaps,
  paint: (table, column) => {
    const own = table.column(column.metric)?.values;
    return {
      colour: (row) => {
        const part = own && column.values[row] > 0 ? own[row] / column.values[row] : 0;
        return heat(Number.isNaN(part) ? 0 : part);
      },
      legend: [
        { colour: heat(0), name: "all of it is in the rows below" },
        { colour: heat(0.5), name: "half" },
        { colour: heat(1), name: "all of it is the row's own" },
      ],
    };
  },
};

/**
 * Each part of the tree below the root has its own colour.
 * @type {Colouring}
 */
const byPart = {
  name: "part",
  applies: () => true,
  paint: (table) => {
    const top = table.tree ? 1 : 0;
    /** @type {number[]} */
    const rows = [];
    const part = new Int32Array(table.rows).fill(-1);
    for (let row = 0; row < table.rows; row++) {
      if (table.depth[row] === top) part[row] = rows.push(row) - 1;
      else if (table.depth[row] > top) part[row] = part[table.parent[row]];
    }
    const named = rows.filter((_, place) => kindColour(place) !== OTHER);
    const legend = named.map((row, place) => ({ name: table.shortName(row), colour: kindColour(place) }));
    const more = rows.length - named.length;
    if (more) legend.push({ name: `${more} others`, colour: OTHER });
    return { colour: (row) => (part[row] < 0 ? MIXED : kindColour(part[row])), legend };
  },
};

/** @type {Colouring[]} */
export const COLOURINGS = [
  ...DIVISIONS.filter(({ name }) => name !== "op type").map(({ name, divide }) => byMost(name, divide)),
  byTypesOfRows,
  ownShare,
  byPart,
];
