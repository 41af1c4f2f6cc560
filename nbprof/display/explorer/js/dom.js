/** Elements, made in one place: texts are always set as texts. */

/**
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null>} [attributes]
 * @param {...(Node | string)} inside
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...inside);
  return made;
}

/**
 * @param {Element} target
 * @param {Record<string, string | number | boolean | null>} attributes null takes one away
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
  const made = element("button", { type: "button", title }, text);
  made.addEventListener("click", act);
  return made;
}

/**
 * A part of a notebook that has keys of its own; the notebook's menu and keys do not reach into it.
 *
 * @param {string} classes
 * @param {...(Node | string)} inside
 * @returns {HTMLElement}
 */
export function ownKeys(classes, ...inside) {
  const own = { "data-lm-suppress-shortcuts": "true" };
  const made = element("div", { class: classes, ...own, "data-jp-suppress-context-menu": "" }, ...inside);
  // Notebook 7 takes keys before they come here, but not of elements that say so themselves.
  made.addEventListener("focusin", (event) => {
    setAttributes(/** @type {Element} */ (event.target), own);
  });
  return made;
}

/**
 * @param {Element} shown
 * @returns {number} how much larger the style of the page makes it than its own pixels
 */
export function zoomOf(shown) {
  return /** @type {{currentCSSZoom?: number}} */ (shown).currentCSSZoom ?? 1;
}

/** Milliseconds, in which a frame is on the screen and the next key may have come. */
const SHOWN = 20;
/** After so many, what waits for a frame is done without: a tab may be out of sight. */
const NO_FRAME = 250;

/**
 * @param {() => void} act
 * @returns {() => void} asks that it be done, once, when the next frame has been painted
 */
export function afterPaint(act) {
  let asked = false;
  const done = () => {
    if (asked) act();
    asked = false;
  };
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => setTimeout(done, SHOWN));
    setTimeout(done, NO_FRAME);
  };
}

let made = 0;

/** @returns {string} an id that no other explorer on the page has */
export function newId() {
  return `nbx-${Math.random().toString(36).slice(2, 8)}-${made++}`;
}
