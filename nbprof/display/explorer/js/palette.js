/** The colours of blocks; text on them is dark in every theme. */

/** Colours whose neighbours differ for colour-blind people, too. */
const PALETTE = ["#b9b4e6", "#f0a07a", "#8ec5e8", "#e9e17f", "#8fd0b3", "#e8a3c8", "#cdb08f"];
export const OTHER = "#c4c4c4";
export const MIXED = "#ece6da";
export const SMALL = "#9a9a9a";

/** @param {number} place */
export function kindColour(place) {
  return PALETTE[place] ?? OTHER;
}

/** @param {number} part from 0 (cold) to 1 (hot) */
export function heat(part) {
  const light = 86 - 24 * Math.min(Math.max(part, 0), 1);
  return `hsl(${44 - 28 * part} 92% ${light}%)`;
}
