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

let made = 0;

/** @returns {string} an id that no other explorer on the page has */
export function newId() {
  return `nbx-${Math.random().toString(36).slice(2, 8)}-${made++}`;
}
