/** The widget of memory over time: samples, the peaks between them, and what ran when. */

import { Canvas } from "../../explorer/js/canvas.js";
import { button, element, ownKeys, setAttributes } from "../../explorer/js/dom.js";
import { swatches } from "../../explorer/js/legend.js";
import {
  AXIS, BAND, BLUE, drawMemoryCurve, LEFT_ROOM, RIGHT_ROOM, SHADE, TALL, TOP_ROOM, WORDS,
} from "./memory_drawing.js";
import { mebibytes, moment, Samples } from "./memory_samples.js";

/**
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(content: any) => void} send
 */

/** Pixels that turn a press into a drag. */
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
    this.canvas = new Canvas(() => this.draw(), KEYS, "slider");
    this.canvas.name(this.describe());
    setAttributes(this.canvas.element, {
      "aria-valuemin": 0,
      "aria-valuemax": samples.seconds.length - 1,
      "aria-valuenow": 0,
      "aria-valuetext": samples.describe(0),
    });
    const parts = [this.bar(), this.canvas.element, this.canvas.tip, this.legend()];
    this.element = ownKeys("nbx nbx-flame", ...parts);
    this.canvas.observer.observe(this.element);
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
    const toggle = button(word, `show or hide the ${word.toLowerCase()}`, () => {
      if (!this.shown.delete(kind)) this.shown.add(kind);
      toggle.setAttribute("aria-pressed", String(this.shown.has(kind)));
      this.draw();
    });
    toggle.setAttribute("aria-pressed", "true");
    return toggle;
  }

  legend() {
    const { exact } = this.samples.described;
    const categories = [
      { colour: BLUE, name: "held at a sample; no line where none was possible" },
      {
        colour: SHADE,
        name: exact ? "the most between samples, exact" : "the most that was seen between samples",
      },
    ];
    return element("p", { class: "nbx-line nbx-legend" }, ...swatches(categories));
  }

  listen() {
    const drawing = this.canvas.element;
    drawing.addEventListener("pointerdown", (event) => this.press(event));
    drawing.addEventListener("pointermove", (event) => {
      if (!this.dragged) this.point(this.samples.nearest(this.timeAt(event)), true);
    });
    drawing.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    drawing.addEventListener("keydown", (event) => this.key(event));
  }

  close() {
    this.canvas.close();
  }

  describe() {
    const { described, seconds, end } = this.samples;
    const bound = described.exact ? "peak" : "peak at least";
    const count = `${seconds.length} sample${seconds.length === 1 ? "" : "s"}`;
    return `memory over ${moment(end)}, ${count}, ${bound} ${mebibytes(described.peak)}`;
  }

  /** The bands below the curve: one each for steps and ops, if the run has any. */
  get bands() {
    return this.kinds.filter((kind) => kind !== "line");
  }

  get height() {
    return TOP_ROOM + TALL + this.bands.length * BAND + AXIS;
  }

  /** The width of the curve itself, in pixels. */
  get wide() {
    return Math.max(this.canvas.width - LEFT_ROOM - RIGHT_ROOM, 1);
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

  /** @param {MouseEvent} event */
  timeAt(event) {
    return this.time(this.canvas.place(event).x);
  }

  /** @param {number} size */
  y(size) {
    const { low, high } = this.samples;
    return TOP_ROOM + ((high - size) / (high - low)) * TALL;
  }

  draw() {
    if (!this.element?.clientWidth) return;
    const pen = this.canvas.pen(this.element.clientWidth, this.height, 11);
    if (pen) drawMemoryCurve(this, pen, this.canvas.colours.ink);
  }

  /**
   * Put the cursor on a sample and describe it.
   * @param {number} at
   * @param {boolean} [stay] whether to leave the window where it is
   */
  point(at, stay = false) {
    this.cursor = Math.min(Math.max(at, 0), this.samples.seconds.length - 1);
    const text = this.samples.describe(this.cursor);
    this.canvas.showTip(text);
    this.canvas.tip.title = text;
    setAttributes(this.canvas.element, { "aria-valuenow": this.cursor, "aria-valuetext": text });
    const seconds = this.samples.seconds[this.cursor];
    if (!stay && (seconds < this.from || seconds > this.to)) {
      const half = (this.to - this.from) / 2;
      this.look(seconds - half, seconds + half);
    } else this.draw();
  }

  /**
   * Show a stretch of time and report it to Python.
   * @param {number} from
   * @param {number} to
   */
  look(from, to) {
    const { end } = this.samples;
    const length = Math.min(Math.max(to - from, end / 1e5), end);
    this.from = Math.min(Math.max(from, 0), end - length);
    this.to = this.from + length;
    this.choose(length < end ? [this.from, this.to] : null);
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
    const drawing = this.canvas.element;
    const { x: first } = this.canvas.place(event);
    const begin = this.time(first);
    drawing.setPointerCapture(event.pointerId);
    /** @type {(event: PointerEvent) => void} */
    const move = (moved) => {
      const now = this.timeAt(moved);
      this.dragged = [Math.min(begin, now), Math.max(begin, now)];
      this.draw();
    };
    /** @type {(event: PointerEvent) => void} */
    const end = (ended) => {
      drawing.removeEventListener("pointermove", move);
      drawing.removeEventListener("pointerup", end);
      drawing.removeEventListener("pointercancel", end);
      const range = this.dragged;
      this.dragged = null;
      const far = Math.abs(this.canvas.place(ended).x - first) > SMALLEST_DRAG;
      if (range && far && ended.type === "pointerup") this.look(...range);
      else this.draw();
    };
    drawing.addEventListener("pointermove", move);
    drawing.addEventListener("pointerup", end);
    drawing.addEventListener("pointercancel", end);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    // Without the focus, the wheel scrolls the notebook.
    if (!event.ctrlKey && !this.canvas.focused) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event));
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
 * Show the widget.
 * @param {{model: Model, el: HTMLElement}} widget
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
    model.send({ chosen: { range } });
  });
  el.append(curve.element);
  curve.draw();
  return () => curve.close();
}
