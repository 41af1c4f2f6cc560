/** The explorer: `begin` in a page, `render` in a widget, both around `mount`. */

import { buffersOf } from "./data.js";
import { element } from "./dom.js";
import { Explorer } from "./parts.js";
import { Data } from "./payload.js";

/** @typedef {import("./data.js").Payload} Payload */
/** @typedef {import("./kinds.js").Amounts} Amounts */
/** @typedef {import("./parts.js").Selection} Selection */
/** @typedef {import("./timeline_data.js").Range} Range */
/**
 * @typedef {{get: (name: string) => any, set: (name: string, value: any) => void,
 *   save_changes: () => void, send: (content: any) => void,
 *   on: (name: string, hear: (message: any) => void) => void,
 *   off: (name: string, hear: (message: any) => void) => void}} Model
 */

const TRIES = 50;
const PAUSE = 100;

/**
 * Put an explorer into an element; what stood there goes only when all is well.
 * @param {HTMLElement} host
 * @param {Payload} payload
 * @param {import("./data.js").Buffers} buffers
 * @param {(selection: Selection) => void} [told]
 * @param {((range: Range) => Promise<Amounts>) | null} [ask]
 * @returns {Explorer}
 */
export function mount(host, payload, buffers, told = () => {}, ask = null) {
  const explorer = new Explorer(new Data(payload, buffers), told, ask);
  const before = host.offsetHeight;
  host.replaceChildren(explorer.element);
  explorer.table.measure();
  explorer.table.grow(before - host.offsetHeight);
  host.dataset.nbprof = "explorer";
  return explorer;
}

/**
 * In a page: take the data that `loader.js` has put beside this script.
 * @param {string} name
 */
export function begin(name) {
  /** @type {import("./loader.js").Unpacked | null} */
  const script = document.querySelector(`script[data-nbprof-for="${name}"]`);
  script?.remove();
  if (script?.payload) start(name, script.payload);
}

/**
 * Find the elements that wait for this data; a notebook may put them there later.
 * @param {string} name
 * @param {Payload} payload
 * @param {number} [tries]
 */
function start(name, payload, tries = TRIES) {
  const hosts = document.querySelectorAll(`[data-nbprof="${name}"]`);
  for (const host of hosts) {
    mount(/** @type {HTMLElement} */ (host), payload, buffersOf(payload.buffers));
  }
  if (!hosts.length && tries > 0) setTimeout(() => start(name, payload, tries - 1), PAUSE);
}

/**
 * In a widget: `data` is JSON, `buffers` raw bytes; the selection goes back to Python.
 * @param {{model: Model, el: HTMLElement}} widget
 * @returns {() => void}
 */
export function render({ model, el }) {
  /** @type {DataView[]} */
  const views = model.get("buffers");
  /** @type {import("./data.js").Buffers} */
  const buffers = (place) => {
    const { buffer, byteOffset, byteLength } = views[place];
    return new Uint8Array(buffer, byteOffset, byteLength);
  };
  const host = element("div", { class: "nbprof" });
  el.append(host);
  const explorer = mount(
    host,
    JSON.parse(model.get("data")),
    buffers,
    (selection) => {
      model.set("chosen", selection);
      model.save_changes();
    },
    (range) => answered(model, range),
  );
  return () => explorer.close();
}

/**
 * Ask the kernel how often each kind ran in a stretch of time.
 * @param {Model} model
 * @param {Range} range
 * @returns {Promise<Amounts>}
 */
function answered(model, range) {
  return new Promise((resolve) => {
    /** @type {(message: any) => void} */
    const hear = (message) => {
      if (String(message?.range) !== String(range)) return;
      model.off("msg:custom", hear);
      resolve({ events: message.events, ns: message.ns });
    };
    model.on("msg:custom", hear);
    model.send({ range });
  });
}
