/** In a page, the explorer and its data are deflated: inflate them and start the explorer. */

/** @typedef {HTMLScriptElement & {pageData?: Uint8Array, pageStyle?: string}} ExplorerScript */

/**
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
function fromBase64(text) {
  const array = /** @type {{fromBase64?: (text: string) => Uint8Array<ArrayBuffer>}} */ (Uint8Array);
  if (array.fromBase64) return array.fromBase64(text);
  // Uint8Array.from with a function takes seconds for some megabytes.
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/**
 * @param {string} text deflated, in base64
 * @returns {Promise<ArrayBuffer>}
 */
function inflate(text) {
  const inflated = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(inflated).arrayBuffer();
}

/**
 * If anything fails, the plain table on the page stays.
 * @param {string} name of the elements that wait for the explorer
 * @param {string} data deflated, in base64
 * @param {string} explorer the style and the script, packed in the same way
 */
export async function load(name, data, explorer) {
  const [bytes, code] = await Promise.all([inflate(data), inflate(explorer)]);
  const script = /** @type {ExplorerScript} */ (document.createElement("script"));
  script.type = "module";
  script.dataset.nbprofFor = name;
  script.pageData = new Uint8Array(bytes);
  const [style, modules] = new TextDecoder().decode(code).split("\0");
  script.pageStyle = style;
  // A module cannot find its own element, so it is given the name.
  script.append(`${modules}begin("${name}");`);
  document.head.append(script);
}
