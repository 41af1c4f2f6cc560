/** The explorer's entry points: `begin` in a page, `render` in a widget. */

import { element } from "./dom.js";
import { ExplorerData, readPage } from "./explorer_data.js";
import { Explorer } from "./linked_explorer.js";

/** @typedef {import("./explorer_data.js").Payload} Payload */
/** @typedef {import("./packed_columns.js").Buffers} Buffers */
/** @typedef {import("./run_kinds.js").Amounts} Amounts */
/** @typedef {import("./linked_explorer.js").Selection} Selection */
/** @typedef {import("./timeline_data.js").Range} Range */
/**
 * @typedef {{get: (name: string) => any, send: (content: any) => void,
 *   on: (name: string, hear: (message: any) => void) => void,
 *   off: (name: string, hear: (message: any) => void) => void}} Model
 */

/** Times to look for the elements that wait for the data. */
const TRIES = 50;
/** Milliseconds between two tries. */
const PAUSE = 100;

/**
 * Put an explorer into an element; what was there stays if anything fails.
 * @param {HTMLElement} host
 * @param {Payload} payload
 * @param {Buffers} buffers
 * @param {(selection: Selection) => void} [report]
 * @param {((range: Range) => Promise<Amounts>) | null} [askKernel]
 * @returns {Explorer}
 */
export function mount(host, payload, buffers, report = () => {}, askKernel = null) {
  const explorer = new Explorer(new ExplorerData(payload, buffers), report, askKernel);
  const before = host.offsetHeight;
  host.replaceChildren(explorer.element);
  explorer.table.measure();
  explorer.table.grow(before - host.offsetHeight);
  host.dataset.nbprof = "explorer";
  return explorer;
}

/**
 * In a page: show the data that `loader.js` attached to this script's element.
 * @param {string} name
 */
export function begin(name) {
  /** @type {import("./loader.js").ExplorerScript | null} */
  const script = document.querySelector(`script[data-nbprof-for="${name}"]`);
  script?.remove();
  if (script?.pageData) start(name, script.pageData, script.pageStyle ?? "");
}

/**
 * Find the elements that wait for this data; a notebook may add them later.
 * @param {string} name
 * @param {Uint8Array} data
 * @param {string} style
 * @param {number} [tries]
 */
function start(name, data, style, tries = TRIES) {
  const hosts = document.querySelectorAll(`[data-nbprof="${name}"]`);
  for (const host of hosts) {
    const { payload, buffers } = readPage(data);
    host.before(element("style", {}, style));
    mount(/** @type {HTMLElement} */ (host), payload, buffers);
  }
  if (!hosts.length && tries > 0) setTimeout(() => start(name, data, style, tries - 1), PAUSE);
}

/**
 * In a widget: `data` is JSON, `buffers` are raw bytes, the selection goes back to Python.
 * @param {{model: Model, el: HTMLElement}} widget
 * @returns {() => void}
 */
export function render({ model, el }) {
  /** @type {DataView[]} */
  const views = model.get("buffers");
  /** @type {Buffers} */
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
    (chosen) => model.send({ chosen }),
    (range) => kernelAmounts(model, range),
  );
  return () => explorer.close();
}

/**
 * Ask the kernel how often and how long each kind ran in a stretch of time.
 * @param {Model} model
 * @param {Range} range
 * @returns {Promise<Amounts>}
 */
function kernelAmounts(model, range) {
  return new Promise((resolve) => {
    /** @type {(message: any) => void} */
    const hear = (message) => {
      if (String(message?.range) !== String(range)) return;
      model.off("msg:custom", hear);
      resolve({ events: message.events, micros: message.micros });
    };
    model.on("msg:custom", hear);
    model.send({ range });
  });
}
