/** The timeline: steps, a lane for each thread and device, live memory, and a strip of everything. */

import { Canvas } from "./canvas.js";
import { DIVISIONS } from "./colours.js";
import { button, element } from "./dom.js";
import { swatches } from "./legend.js";
import { drawScene, LANE, STEPS, STRIP, stripTop } from "./timeline_drawing.js";
import { eventAt, eventBeside } from "./timeline_search.js";
import { format } from "./units.js";

/** @typedef {import("./timeline_data.js").Events} Events */
/** @typedef {import("./timeline_data.js").Range} Range */
/**
 * @typedef {object} TimelineActions
 * @property {(range: Range | null) => void} range
 * @property {(event: number) => void} event
 */

/** Pixels that turn a press into a drag. */
const LEAST_DRAG = 4;
/** Shortest stretch that can be zoomed to, in µs. */
const LEAST_WINDOW = 0.5;
const HELP_TIME =
  "drag to choose a time range; arrow keys go from op to op, Enter selects, + and - zoom";

export class Timeline {
  /**
   * @param {Events} events
   * @param {TimelineActions} actions
   */
  constructor(events, actions) {
    this.events = events;
    this.actions = actions;
    this.from = 0;
    this.to = events.end;
    /** @type {Range | null} */
    this.range = null;
    this.active = -1;
    /** @type {Uint8Array | null} the kinds that are highlighted */
    this.highlighted = null;
    this.drawn = false;
    this.canvas = new Canvas(() => this.drawLater(), HELP_TIME);
    this.canvas.name(this.describe());
    this.canvas.element.style.height = `${stripTop(events) + STRIP}px`;
    this.status = element("span", { class: "nbx-status", role: "status" });
    this.clear = button("Whole time", "show the whole time again", () => this.choose(null));
    this.clear.hidden = true;
    this.colour = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Colour" }));
    this.colour.append(...DIVISIONS.map(({ name }) => element("option", { value: name }, name)));
    this.colour.addEventListener("change", () => this.divide());
    const bar = element("div", { class: "nbx-bar" });
    bar.append(
      button("+", "zoom in", () => this.zoom(0.5)),
      button("−", "zoom out", () => this.zoom(2)),
      button("Fit", "show all of the time", () => this.look(0, events.end)),
      element("label", {}, "colour ", this.colour),
      this.clear,
      this.status,
    );
    this.legend = element("p", { class: "nbx-line nbx-legend" });
    const drawing = this.canvas.element;
    this.element = element("div", { class: "nbx-flame" }, bar, drawing, this.canvas.tip, this.legend);
    this.canvas.observer.observe(this.element);
    /** @type {import("./families.js").Division | null} set before the first drawing */
    this.division = null;
    /** @type {import("./lane_load.js").LaneLoad | null} what the strip below the lanes shows */
    this.strip = null;
    drawing.addEventListener("pointerdown", (event) => this.press(event));
    drawing.addEventListener("pointermove", (event) => this.point(event));
    drawing.addEventListener("pointerleave", () => this.canvas.showTip());
    drawing.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    drawing.addEventListener("keydown", (event) => this.key(event));
  }

  close() {
    this.canvas.close();
  }

  describe() {
    const { count, of, lanes, memory } = this.events;
    const cut = count < of ? `, the longest ${count} one by one` : "";
    const peak = memory ? `, memory up to ${format(memory.peak.live_bytes, "bytes")}` : "";
    return `timeline of ${of} op runs${cut}, on ${lanes.length} lanes${peak}; the table has the numbers`;
  }

  /** Colour the op runs as chosen. */
  divide() {
    const { kinds } = this.events;
    const { divide } = DIVISIONS.find(({ name }) => name === this.colour.value) ?? DIVISIONS[0];
    const { of, categories } = (this.division = divide(kinds));
    this.strip = null;
    const used = new Set(of);
    this.legend.replaceChildren(...swatches(categories.filter((_, place) => used.has(place))));
    this.draw();
  }

  /** @param {Uint8Array | null} kinds marks those that are selected */
  highlight(kinds) {
    if (kinds === null && this.highlighted === null) return;
    this.highlighted = kinds;
    this.strip = null;
    this.draw();
  }

  /** @param {number} x */
  time(x) {
    return this.from + (x / this.canvas.width) * (this.to - this.from);
  }

  /** Draw; the first time, only after the table has been painted. */
  drawLater() {
    if (this.drawn) return this.draw();
    requestAnimationFrame(() => setTimeout(() => this.draw()));
  }

  draw() {
    if (this.element?.hidden || !this.element?.clientWidth) return;
    this.drawn = true;
    if (this.division) drawScene(/** @type {any} */ (this));
    else this.divide();
  }

  /**
   * Show a stretch of time.
   * @param {number} from
   * @param {number} to
   */
  look(from, to) {
    const { end } = this.events;
    const length = Math.min(Math.max(to - from, LEAST_WINDOW), end);
    this.from = Math.min(Math.max(from, 0), end - length);
    this.to = this.from + length;
    this.draw();
  }

  /**
   * @param {number} factor
   * @param {number} [at] the time that stays where it is
   */
  zoom(factor, at = this.middle) {
    this.look(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  /** @returns {number} the middle of the active op run if it is in sight, otherwise of the window */
  get middle() {
    const { start, micros } = this.events;
    const here = start[this.active] + micros[this.active] / 2;
    return here > this.from && here < this.to ? here : (this.from + this.to) / 2;
  }

  /** @param {Range | null} range */
  choose(range) {
    this.range = range && (this.events.snap(range) ?? range);
    this.clear.hidden = range === null;
    this.actions.range(this.range);
    this.draw();
  }

  /** @param {string} text about the chosen stretch of time */
  setStatus(text) {
    this.status.textContent = text;
  }

  /** @param {PointerEvent} event */
  press(event) {
    const canvas = this.canvas.element;
    const { x: first, y } = this.canvas.place(event);
    const strip = y >= stripTop(this.events);
    const moving = strip || event.shiftKey;
    const [from, to] = [this.from, this.to];
    const begin = this.time(first);
    canvas.setPointerCapture(event.pointerId);
    /** @type {(event: PointerEvent) => void} */
    const move = (event) => {
      const x = Math.min(Math.max(this.canvas.place(event).x, 0), canvas.clientWidth);
      if (moving) {
        const scale = strip ? this.events.end / canvas.clientWidth : (from - to) / canvas.clientWidth;
        this.look(from + (x - first) * scale, to + (x - first) * scale);
      } else if (Math.abs(x - first) > LEAST_DRAG) {
        this.range = [Math.min(begin, this.time(x)), Math.max(begin, this.time(x))];
        this.draw();
      }
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener(
      "pointerup",
      (end) => {
        canvas.removeEventListener("pointermove", move);
        const still = Math.abs(this.canvas.place(end).x - first) <= LEAST_DRAG;
        if (!moving && still) this.select(this.at(event));
        else if (!moving) this.choose(this.range);
        else if (strip && still) {
          const left = (first / canvas.clientWidth) * this.events.end - (to - from) / 2;
          this.look(left, left + to - from);
        }
      },
      { once: true },
    );
  }

  /**
   * @param {MouseEvent} event
   * @returns {number} the innermost op run at the pointer, or -1
   */
  at(event) {
    const { x, y } = this.canvas.place(event);
    const pixel = (this.to - this.from) / this.canvas.width;
    return eventAt(this.events, this.time(x), Math.floor((y - STEPS) / LANE), pixel);
  }

  /** @param {number} event */
  select(event) {
    if (event < 0) return;
    this.active = event;
    this.actions.event(event);
    this.draw();
  }

  /** @param {number} event */
  textOf(event) {
    const { kinds, kind, start, micros, lanes, lane } = this.events;
    const times = `${format(micros[event], "micros")} at ${format(Math.round(start[event]), "micros")}`;
    const name = `${kinds.nameOf(kind[event])} (${kinds.typeAndKernelOf(kind[event])})`;
    return `${name}: ${times}, ${lanes[lane[event]]}`;
  }

  /** @param {PointerEvent} event */
  point(event) {
    const found = this.at(event);
    const lane = this.events.lanes[Math.floor((this.canvas.place(event).y - STEPS) / LANE)];
    if (found >= 0) this.canvas.showTip(this.textOf(found));
    else this.canvas.showTip(lane ? `${lane}: ${HELP_TIME}` : HELP_TIME);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    // Without the focus, the wheel scrolls the notebook.
    if (!event.ctrlKey && !this.canvas.focused) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(this.canvas.place(event).x));
  }

  /**
   * Make an op run the active one and bring it into sight.
   * @param {number} event
   */
  goTo(event) {
    if (event < 0) return;
    this.active = event;
    const begin = this.events.start[event];
    const end = begin + this.events.micros[event];
    const length = this.to - this.from;
    if (begin < this.from || Math.min(end, begin + length / 2) > this.to) {
      this.look(begin - length / 4, begin + (3 * length) / 4);
    } else this.draw();
    this.canvas.showTip(this.textOf(event), true);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, shiftKey } = event;
    const step = (this.to - this.from) / 8;
    if (key === "+" || key === "=") this.zoom(0.5);
    else if (key === "-" || key === "_") this.zoom(2);
    else if (shiftKey && key === "ArrowLeft") this.look(this.from - step, this.to - step);
    else if (shiftKey && key === "ArrowRight") this.look(this.from + step, this.to + step);
    else if (key.startsWith("Arrow")) this.goTo(eventBeside(this.events, this.active, key, this.from));
    else if (key === "Home") this.look(0, this.events.end);
    else if (key === "Enter" || key === " ") this.select(this.active);
    else if (key.toLowerCase() === "r") this.choose([this.from, this.to]);
    else if (key === "Escape") this.back();
    else return;
    event.preventDefault();
  }

  /** Clear the stretch of time, or if there is none, the active op run. */
  back() {
    if (this.range) this.choose(null);
    else {
      this.active = -1;
      this.canvas.showTip();
      this.draw();
    }
  }
}
