/** In a page, the explorer and its data are deflated: inflate them and start the explorer. */

/** @typedef {HTMLScriptElement & {pageData?: Uint8Array}} ExplorerScript */

/**
 * @param {string} text base64
 * @returns {Promise<ArrayBuffer>}
 */
function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(inflated).arrayBuffer();
}

/**
 * If anything fails, the plain table on the page stays.
 * @param {string} name of the elements that wait for the explorer
 * @param {string} data deflated, in base64
 * @param {string} explorer the script, packed in the same way
 */
export async function load(name, data, explorer) {
  const [bytes, code] = await Promise.all([inflate(data), inflate(explorer)]);
  const script = /** @type {ExplorerScript} */ (document.createElement("script"));
  script.type = "module";
  script.dataset.nbprofFor = name;
  script.pageData = new Uint8Array(bytes);
  // A module cannot find its own element, so it is given the name.
  script.append(`${new TextDecoder().decode(code)}begin("${name}");`);
  document.head.append(script);
}
