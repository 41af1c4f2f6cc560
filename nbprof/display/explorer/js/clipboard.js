/** Texts that leave the page: through the clipboard, or as a file. */

import { element } from "./dom.js";

/**
 * @param {string} text
 * @param {HTMLElement} host the element to which a hidden one may be added for a moment
 * @param {HTMLElement} focus the element that gets the focus back
 */
export async function copyText(text, host, focus) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages from disk and frames may lack the clipboard; the old way works there.
    const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { class: "nbx-hidden" }));
    area.value = text;
    host.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    focus.focus();
  }
}

/**
 * @param {string} text
 * @param {string} name of the file
 */
export function saveCsv(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
