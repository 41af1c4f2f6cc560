/** What a report says before its notes, such as what a cell ran out of memory with. */

import { element } from "./dom.js";

/**
 * @param {import("./explorer_data.js").Lead} lead
 * @returns {HTMLElement}
 */
export function leadElement({ title, sentences, heading, rows }) {
  const lines = [element("b", {}, title), ...sentences];
  const lead = element("div", { class: "nbx-lead" });
  lead.append(...lines.map((line) => element("p", { class: "nbx-line" }, line)));
  if (!rows.length) return lead;
  const titles = heading.map((text) => element("th", { scope: "col" }, text));
  const cells = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
  const head = element("thead", {}, element("tr", {}, ...titles));
  lead.append(element("table", {}, head, element("tbody", {}, ...cells)));
  return lead;
}
