/** A canvas that fits its place, follows the theme and describes itself to screen readers. */

import { element, setAttributes, zoomOf } from "./dom.js";

export const LABEL_COLOUR = "#111";

export class Canvas {
  /**
   * @param {() => void} draw
   * @param {string} help the line below the canvas while the pointer is elsewhere
   * @param {string} [role]
   */
  constructor(draw, help, role = "application") {
    this.help = help;
    this.element = /** @type {HTMLCanvasElement} */ (element("canvas", { role, tabindex: 0 }));
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
   * @returns {{x: number, y: number}} its place, in pixels of the canvas
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

  /** @param {string} help to show from now on */
  setHelp(help) {
    if (help === this.help) return;
    this.help = help;
    this.showTip();
  }

  /**
   * Show a line below the canvas.
   * @param {string} [text]
   * @param {boolean} [aloud] whether screen readers announce it, because it answers a key
   */
  showTip(text = this.help, aloud = false) {
    setAttributes(this.tip, { "aria-live": aloud ? "polite" : "off" });
    this.tip.textContent = text;
  }

  /**
   * Clear the canvas and match its resolution to the screen.
   * @param {number} width
   * @param {number} height
   * @param {number} fontSize in pixels
   * @returns {CanvasRenderingContext2D | null}
   */
  pen(width, height, fontSize) {
    const { element: canvas } = this;
    const ratio = (window.devicePixelRatio || 1) * zoomOf(canvas);
    canvas.hidden = false;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    if (!pen) return null;
    pen.scale(ratio, ratio);
    pen.font = `${fontSize}px ${getComputedStyle(canvas).fontFamily}`;
    pen.textBaseline = "middle";
    return pen;
  }

  /** @returns {{ink: string, paper: string}} the colours of text and background */
  get colours() {
    const grid = this.element.closest(".nbx")?.querySelector(".nbx-grid");
    return {
      ink: getComputedStyle(this.element).color,
      paper: grid ? getComputedStyle(grid).backgroundColor : "#fff",
    };
  }

  /**
   * Frame the block that has the keyboard focus, visible on any colour.
   * @param {CanvasRenderingContext2D} pen
   * @param {Path2D} outline
   */
  mark(pen, outline) {
    if (!this.focused) return;
    const { ink, paper } = this.colours;
    for (const [width, colour] of /** @type {[number, string][]} */ ([[5, paper], [2.5, ink]])) {
      pen.lineWidth = width;
      pen.strokeStyle = colour;
      pen.stroke(outline);
    }
    pen.lineWidth = 1;
  }

  /**
   * Write a label on a block, shortened to fit.
   * @param {CanvasRenderingContext2D} pen
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {number} room
   * @param {string} [colour]
   * @returns {number} the room it takes
   */
  label(pen, text, x, y, room, colour = LABEL_COLOUR) {
    const shown = this.shorten(pen, text, room);
    pen.fillStyle = colour;
    pen.fillText(shown, x, y);
    return pen.measureText(shown).width;
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} text
   * @param {number} room
   * @returns {string} as many of its letters as fit; none if only one would
   */
  shorten(pen, text, room) {
    const whole = pen.measureText(text).width;
    if (whole <= room) return text;
    let letters = Math.floor((text.length * room) / whole) - 1;
    let shown = `${text.slice(0, letters)}…`;
    for (; letters > 1 && pen.measureText(shown).width > room; letters--) {
      shown = `${text.slice(0, letters - 1)}…`;
    }
    return letters > 1 ? shown : "";
  }
}
