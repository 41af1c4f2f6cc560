/** Legends: a patch of colour and a name for each category. */

import { element } from "./dom.js";

/** @typedef {import("./families.js").Category} Category */

/**
 * @param {Category[]} categories
 * @returns {HTMLElement[]}
 */
export function swatches(categories) {
  return categories.map(({ colour, name }) => {
    const patch = element("i", { "aria-hidden": "true" });
    patch.style.background = colour;
    return element("span", {}, patch, name);
  });
}
