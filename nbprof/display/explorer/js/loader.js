/** In a page the explorer is packed, which takes a third of the room: unpack it and let it begin. */

/** @typedef {import("./data.js").Payload} Payload */
/** @typedef {HTMLScriptElement & {payload?: Payload}} Unpacked the explorer with its data */

/**
 * Where this cannot be done, what stands there already stays.
 * @param {string} name of the elements that wait for the data
 * @param {Payload} payload
 * @param {string} packed the explorer: deflated, in base64
 */
export async function load(name, payload, packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const text = await new Response(plain).text();
  const script = /** @type {Unpacked} */ (document.createElement("script"));
  script.type = "module";
  script.dataset.nbprofFor = name;
  script.payload = payload;
  // A module cannot tell which element it came from, so it is told.
  script.append(`${text}begin("${name}");`);
  document.head.append(script);
}
