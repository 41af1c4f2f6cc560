/** Make elements; texts are never parsed as markup. */

/**
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null>} [attributes]
 * @param {...(Node | string)} inside
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...inside) {
  const created = document.createElement(tag);
  setAttributes(created, attributes);
  created.append(...inside);
  return created;
}

/**
 * @param {Element} target
 * @param {Record<string, string | number | boolean | null>} attributes null removes one
 */
export function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) target.removeAttribute(name);
    else target.setAttribute(name, String(value));
  }
}

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} act
 * @returns {HTMLElement}
 */
export function button(text, title, act) {
  const created = element("button", { type: "button", title }, text);
  created.addEventListener("click", act);
  return created;
}

/**
 * Make a part of a notebook that the notebook's own keys and context menu leave alone.
 * @param {string} classes
 * @param {...(Node | string)} inside
 * @returns {HTMLElement}
 */
export function ownKeys(classes, ...inside) {
  const own = { "data-lm-suppress-shortcuts": "true" };
  const part = element("div", { class: classes, ...own, "data-jp-suppress-context-menu": "" }, ...inside);
  // Notebook 7 handles keys first, except for elements that opt out themselves.
  part.addEventListener("focusin", (event) => {
    setAttributes(/** @type {Element} */ (event.target), own);
  });
  return part;
}

/**
 * @param {Element} shown
 * @returns {number} the factor by which the page's style enlarges its pixels
 */
export function zoomOf(shown) {
  return /** @type {{currentCSSZoom?: number}} */ (shown).currentCSSZoom ?? 1;
}

/** Milliseconds for a frame to reach the screen and the next key to arrive. */
const SHOWN = 20;
/** Milliseconds after which to act without a frame: hidden tabs have none. */
const NO_FRAME = 250;

/**
 * @param {() => void} act
 * @returns {() => void} schedules `act` once after the next frame has been painted
 */
export function afterPaint(act) {
  let scheduled = false;
  const run = () => {
    if (scheduled) act();
    scheduled = false;
  };
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => setTimeout(run, SHOWN));
    setTimeout(run, NO_FRAME);
  };
}

let idCount = 0;

/** @returns {string} an id that is unique on the page */
export function newId() {
  return `nbx-${Math.random().toString(36).slice(2, 8)}-${idCount++}`;
}
