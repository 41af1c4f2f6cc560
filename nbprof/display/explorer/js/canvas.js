/** What the flame and the timeline have in common: a canvas that fits, follows the theme, speaks. */

import { element, setAttributes, zoomOf } from "./dom.js";

const DARK_LETTERS = "#111";

export class Canvas {
  /**
   * @param {() => void} draw
   * @param {string} help what the line below says when nothing is pointed at
   */
  constructor(draw, help) {
    this.help = help;
    this.element = /** @type {HTMLCanvasElement} */ (
      element("canvas", { role: "application", tabindex: 0 })
    );
    this.tip = element("p", { class: "nbx-line nbx-tip", role: "status", "aria-live": "off" }, help);
    this.observer = new ResizeObserver(draw);
    this.themes = new MutationObserver(draw);
    this.themes.observe(document.body, { attributeFilter: ["data-jp-theme-light", "class"] });
    this.scheme = window.matchMedia("(prefers-color-scheme: dark)");
    this.scheme.addEventListener("change", draw);
    this.element.addEventListener("focus", draw);
    this.element.addEventListener("blur", draw);
    this.stop = () => this.scheme.removeEventListener("change", draw);
  }

  close() {
    this.observer.disconnect();
    this.themes.disconnect();
    this.stop();
  }

  get width() {
    return this.element.clientWidth;
  }

  get focused() {
    return document.activeElement === this.element;
  }

  /**
   * @param {MouseEvent} event
   * @returns {{x: number, y: number}} where it is, in the canvas' own pixels
   */
  place({ clientX, clientY }) {
    const { left, top } = this.element.getBoundingClientRect();
    const zoom = zoomOf(this.element);
    return { x: (clientX - left) / zoom, y: (clientY - top) / zoom };
  }

  /** @param {string} text */
  name(text) {
    this.element.setAttribute("aria-label", text);
  }

  /**
   * Say what is pointed at, or with `aloud` what the keys have led to.
   * @param {string} [text]
   * @param {boolean} [aloud]
   */
  tell(text = this.help, aloud = false) {
    setAttributes(this.tip, { "aria-live": aloud ? "polite" : "off" });
    this.tip.textContent = text;
  }

  /**
   * Make the canvas as large as it is on the screen, and empty.
   * @param {number} width
   * @param {number} height
   * @param {number} letters their size
   * @returns {CanvasRenderingContext2D | null}
   */
  pen(width, height, letters) {
    const { element: canvas } = this;
    const ratio = (window.devicePixelRatio || 1) * zoomOf(canvas);
    canvas.hidden = false;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    if (!pen) return null;
    pen.scale(ratio, ratio);
    pen.font = `${letters}px ${getComputedStyle(canvas).fontFamily}`;
    pen.textBaseline = "middle";
    return pen;
  }

  /** @returns {{ink: string, paper: string}} the host's colours */
  get colours() {
    const grid = this.element.closest(".nbx")?.querySelector(".nbx-grid");
    return {
      ink: getComputedStyle(this.element).color,
      paper: grid ? getComputedStyle(grid).backgroundColor : "#fff",
    };
  }

  /**
   * Frame what the keys have led to, so that it is seen on any colour.
   * @param {CanvasRenderingContext2D} pen
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  mark(pen, x, y, width, height) {
    if (!this.focused) return;
    const { ink, paper } = this.colours;
    const wide = Math.max(width, 5);
    pen.lineWidth = 5;
    pen.strokeStyle = paper;
    pen.strokeRect(x, y, wide, height);
    pen.lineWidth = 2.5;
    pen.strokeStyle = ink;
    pen.strokeRect(x, y, wide, height);
    pen.lineWidth = 1;
  }

  /**
   * Write a label on a block, cut so that it fits.
   * @param {CanvasRenderingContext2D} pen
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {number} room
   */
  label(pen, text, x, y, room) {
    pen.fillStyle = DARK_LETTERS;
    const whole = pen.measureText(text).width;
    const letters = Math.floor((text.length * room) / whole) - 1;
    if (whole <= room) pen.fillText(text, x, y);
    else if (letters > 1) pen.fillText(`${text.slice(0, letters)}…`, x, y);
  }
}
