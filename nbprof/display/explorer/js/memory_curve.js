/** The memory of a run over time: what was held, the most between samples, and what ran when. */

import { button, element, ownKeys, setAttributes } from "./dom.js";
import {
  AXIS, BAND, BLUE, drawMemoryCurve, LEFT_ROOM, RIGHT_ROOM, SHADE, TALL, TOP_ROOM, WORDS,
} from "./memory_drawing.js";
import { mebibytes, moment, Samples } from "./memory_samples.js";

/**
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {() => void} save_changes
 */

const SMALLEST_DRAG = 4;
const KEYS =
  "arrows move from sample to sample, P goes to the peak, drag or + and − zoom, Escape shows all";

export class MemoryCurve {
  /**
   * @param {Samples} samples
   * @param {(range: [number, number] | null) => void} choose
   */
  constructor(samples, choose) {
    this.samples = samples;
    this.choose = choose;
    this.from = 0;
    this.to = samples.end;
    this.cursor = -1;
    /** @type {[number, number] | null} */
    this.dragged = null;
    const there = new Set(samples.described.marks.map(({ kind }) => kind));
    this.kinds = Object.keys(WORDS).filter((kind) => there.has(kind));
    this.shown = new Set(this.kinds);
    this.canvas = /** @type {HTMLCanvasElement} */ (
      element("canvas", {
        role: "slider",
        tabindex: 0,
        "aria-label": this.describe(),
        "aria-valuemin": 0,
        "aria-valuemax": samples.seconds.length - 1,
        "aria-valuenow": 0,
        "aria-valuetext": samples.tell(0),
      })
    );
    this.tip = element("p", { class: "nbx-line nbx-tip" }, KEYS);
    const parts = [this.bar(), this.canvas, this.tip, this.legend()];
    this.element = ownKeys("nbx nbx-flame", ...parts);
    this.listen();
  }

  bar() {
    const bar = element("div", { class: "nbx-bar" });
    bar.append(
      button("+", "zoom in", () => this.zoom(0.5)),
      button("−", "zoom out", () => this.zoom(2)),
      button("Fit", "show all of the time", () => this.look(0, this.samples.end)),
      button("Peak", "go to the peak", () => this.point(this.samples.highest)),
      ...this.kinds.map((kind) => this.toggle(kind)),
    );
    return bar;
  }

  /** @param {string} kind */
  toggle(kind) {
    const word = WORDS[kind];
    const made = button(word, `show or hide the ${word.toLowerCase()}`, () => {
      if (!this.shown.delete(kind)) this.shown.add(kind);
      made.setAttribute("aria-pressed", String(this.shown.has(kind)));
      this.draw();
    });
    made.setAttribute("aria-pressed", "true");
    return made;
  }

  legend() {
    /** @type {[string, string][]} */
    const colours = [
      [BLUE, "held at a sample; no line where none was possible"],
      [SHADE, "the most between samples, exact"],
    ];
    if (!this.samples.described.exact) colours[1][1] = "the most that was seen between samples";
    const patches = colours.map(([colour, text]) => {
      const patch = element("i", { "aria-hidden": "true" });
      patch.style.background = colour;
      return element("span", {}, patch, text);
    });
    return element("p", { class: "nbx-line nbx-legend" }, ...patches);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", ({ offsetX }) => {
      if (!this.dragged) this.point(this.samples.nearest(this.time(offsetX)), true);
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.body, { attributeFilter: ["data-jp-theme-light", "class"] });
  }

  close() {
    this.observer?.disconnect();
    this.themes?.disconnect();
  }

  describe() {
    const { described, seconds, end } = this.samples;
    const bound = described.exact ? "peak" : "peak at least";
    const count = `${seconds.length} sample${seconds.length === 1 ? "" : "s"}`;
    return `memory over ${moment(end)}, ${count}, ${bound} ${mebibytes(described.peak)}`;
  }

  /** The bands below the curve: one each for steps and ops, if they are there and shown. */
  get bands() {
    return this.kinds.filter((kind) => kind !== "line");
  }

  get height() {
    return TOP_ROOM + TALL + this.bands.length * BAND + AXIS;
  }

  get wide() {
    return Math.max(this.canvas.clientWidth - LEFT_ROOM - RIGHT_ROOM, 1);
  }

  /** @param {number} seconds */
  x(seconds) {
    return LEFT_ROOM + ((seconds - this.from) / (this.to - this.from)) * this.wide;
  }

  /** @param {number} x */
  time(x) {
    const at = this.from + ((x - LEFT_ROOM) / this.wide) * (this.to - this.from);
    return Math.min(Math.max(at, this.from), this.to);
  }

  /** @param {number} size */
  y(size) {
    const { low, high } = this.samples;
    return TOP_ROOM + ((high - size) / (high - low)) * TALL;
  }

  draw() {
    const { canvas } = this;
    if (!this.element.clientWidth) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(this.element.clientWidth * ratio);
    canvas.height = Math.round(this.height * ratio);
    canvas.style.height = `${this.height}px`;
    const pen = canvas.getContext("2d");
    if (!pen) return;
    const style = getComputedStyle(this.element);
    pen.scale(ratio, ratio);
    pen.font = `11px ${style.fontFamily}`;
    pen.textBaseline = "middle";
    drawMemoryCurve(this, pen, style.color);
  }

  /**
   * Put the cursor on a sample and say what it is.
   * @param {number} at
   * @param {boolean} [stay] whether the window is not to move there
   */
  point(at, stay = false) {
    this.cursor = Math.min(Math.max(at, 0), this.samples.seconds.length - 1);
    const text = this.samples.tell(this.cursor);
    this.tip.textContent = this.tip.title = text;
    setAttributes(this.canvas, { "aria-valuenow": this.cursor, "aria-valuetext": text });
    const seconds = this.samples.seconds[this.cursor];
    if (!stay && (seconds < this.from || seconds > this.to)) {
      const half = (this.to - this.from) / 2;
      this.look(seconds - half, seconds + half);
    } else this.draw();
  }

  /**
   * Show a stretch of time, and tell Python.
   * @param {number} from
   * @param {number} to
   */
  look(from, to) {
    const { end } = this.samples;
    const wide = Math.min(Math.max(to - from, end / 1e5), end);
    this.from = Math.min(Math.max(from, 0), end - wide);
    this.to = this.from + wide;
    this.choose(wide < end ? [this.from, this.to] : null);
    this.draw();
  }

  /**
   * @param {number} factor
   * @param {number} [at] the time that stays where it is
   */
  zoom(factor, at) {
    const { seconds } = this.samples;
    const kept = at ?? (this.cursor < 0 ? (this.from + this.to) / 2 : seconds[this.cursor]);
    this.look(kept - (kept - this.from) * factor, kept + (this.to - kept) * factor);
  }

  /** @param {PointerEvent} event */
  press(event) {
    const { canvas } = this;
    const [first, begin] = [event.offsetX, this.time(event.offsetX)];
    const box = canvas.getBoundingClientRect();
    canvas.setPointerCapture(event.pointerId);
    /** @type {(event: PointerEvent) => void} */
    const move = ({ clientX }) => {
      const now = this.time(clientX - box.left);
      this.dragged = [Math.min(begin, now), Math.max(begin, now)];
      this.draw();
    };
    /** @type {(event: PointerEvent) => void} */
    const end = ({ type, clientX }) => {
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("pointerup", end);
      canvas.removeEventListener("pointercancel", end);
      const range = this.dragged;
      this.dragged = null;
      const far = Math.abs(clientX - box.left - first) > SMALLEST_DRAG;
      if (range && far && type === "pointerup") this.look(...range);
      else this.draw();
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    // A notebook must scroll past it: the wheel is ours when the curve has the focus.
    if (!event.ctrlKey && document.activeElement !== this.canvas) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { samples, cursor } = this;
    const many = Math.max(10, Math.round(samples.seconds.length / 10));
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight" || event.key === "ArrowUp") this.point(cursor + 1);
    else if (event.key === "ArrowLeft" || event.key === "ArrowDown") this.point(cursor - 1);
    else if (event.key === "PageUp") this.point(cursor + many);
    else if (event.key === "PageDown") this.point(cursor - many);
    else if (event.key === "Home") this.point(0);
    else if (event.key === "End") this.point(samples.seconds.length - 1);
    else if (event.key === "p" || event.key === "P") this.point(samples.highest);
    else if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "Escape") this.look(0, samples.end);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/**
 * @param {DataView} view
 * @returns {Float64Array}
 */
function numbersIn(view) {
  return new Float64Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

/**
 * The widget.
 * @param {{model: Model, el: HTMLElement}} given
 */
export function renderCurve({ model, el }) {
  if (!model.get("data")) {
    el.append("this curve was closed");
    return undefined;
  }
  const [seconds, resident, most, gap] = model.get("buffers");
  const gaps = new Uint8Array(gap.buffer, gap.byteOffset, gap.byteLength);
  const columns = /** @type {const} */ ([numbersIn(seconds), numbersIn(resident), numbersIn(most), gaps]);
  const curve = new MemoryCurve(new Samples(JSON.parse(model.get("data")), ...columns), (range) => {
    model.set("chosen", { range });
    model.save_changes();
  });
  el.append(curve.element);
  curve.draw();
  return () => curve.close();
}
