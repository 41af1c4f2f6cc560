/** The timeline: a lane for each thread and device, steps, live memory, and all of it in a strip. */

import { kindColour, named, swatches } from "./colours.js";
import { button, element } from "./dom.js";
import { format } from "./units.js";

/** @typedef {import("./timeline_data.js").Events} Events */

const LANE = 18;
const STEPS = 18;
const CURVE = 44;
const STRIP = 22;
const GAP = 4;
const LEAST_DRAG = 4;
const LEAST_WINDOW = 0.5;
const HELP = "drag to choose a stretch of time; + and - zoom, arrows move, Escape takes it back";

export class Timeline {
  /**
   * @param {Events} events
   * @param {{range: (range: [number, number] | null) => void, event: (event: number) => void}} actions
   */
  constructor(events, actions) {
    this.events = events;
    this.actions = actions;
    this.from = 0;
    this.to = events.end;
    /** @type {[number, number] | null} */
    this.range = null;
    this.canvas = /** @type {HTMLCanvasElement} */ (
      element("canvas", { role: "img", tabindex: 0, "aria-label": this.describe() })
    );
    this.tip = element("p", { class: "nbx-line nbx-tip" }, HELP);
    this.told = element("span", { class: "nbx-status" });
    this.clear = button("Whole time", "take the chosen stretch back", () => this.choose(null));
    this.clear.hidden = true;
    const bar = element("div", { class: "nbx-bar" });
    bar.append(
      button("+", "zoom in", () => this.zoom(0.5)),
      button("−", "zoom out", () => this.zoom(2)),
      button("Fit", "show all of the time", () => this.look(0, events.end)),
      this.clear,
      this.told,
    );
    this.colours = this.byType();
    const legend = element("p", { class: "nbx-line nbx-legend" }, ...swatches(this.colours.legend));
    this.element = element("div", { class: "nbx-flame" }, bar, this.canvas, this.tip, legend);
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.body, { attributeFilter: ["data-jp-theme-light", "class"] });
  }

  close() {
    this.observer.disconnect();
    this.themes.disconnect();
  }

  describe() {
    const { count, of, lanes, memory } = this.events;
    const cut = count < of ? `the longest ${count} of ${of}` : `${count}`;
    const peak = memory ? `, memory up to ${format(memory.peak.live_bytes, "bytes")}` : "";
    return `timeline of ${cut} op runs on ${lanes.length} lanes${peak}; the table has the numbers`;
  }

  /** The op types that took the most time have a colour each. */
  byType() {
    const { types, micros, strings } = this.events;
    /** @type {Map<number, number>} */
    const time = new Map();
    types.forEach((type, at) => time.set(type, (time.get(type) ?? 0) + micros[at]));
    const order = [...time].sort((a, b) => b[1] - a[1]).map(([type]) => type);
    const place = new Map(order.map((type, at) => [type, at]));
    return { place, legend: named(order.map((type) => strings[type])) };
  }

  get lanesHeight() {
    return this.events.lanes.length * LANE;
  }

  get stripTop() {
    return STEPS + this.lanesHeight + (this.events.memory ? CURVE + GAP : 0) + GAP;
  }

  /** @param {number} micros */
  x(micros) {
    return ((micros - this.from) / (this.to - this.from)) * this.canvas.clientWidth;
  }

  /** @param {number} x */
  time(x) {
    return this.from + (x / this.canvas.clientWidth) * (this.to - this.from);
  }

  draw() {
    if (this.element.hidden || !this.element.clientWidth) return;
    const width = this.element.clientWidth;
    const height = this.stripTop + STRIP;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    const style = getComputedStyle(this.element);
    pen.scale(ratio, ratio);
    pen.font = `11px ${style.fontFamily}`;
    pen.textBaseline = "middle";
    this.drawSteps(pen, style.color);
    this.drawEvents(pen, STEPS, LANE, this.from, this.to);
    this.drawLanes(pen, style.color);
    this.drawMemory(pen, style.color);
    this.drawStrip(pen, style.color);
    this.drawRange(pen, style.color);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} ink
   */
  drawSteps(pen, ink) {
    pen.strokeStyle = pen.fillStyle = ink;
    for (const [number, [start, micros, name]] of this.events.steps.entries()) {
      const x = this.x(start);
      const wide = this.x(start + micros) - x;
      if (x > this.canvas.clientWidth || x + wide < 0) continue;
      pen.globalAlpha = 0.4;
      pen.strokeRect(x + 0.5, 2.5, Math.max(wide - 1, 0.5), STEPS - 6);
      pen.globalAlpha = 1;
      const text = wide > 140 ? `step ${number}: ${name}` : `${number}`;
      if (wide > 24) pen.fillText(text, Math.max(x, 0) + 4, STEPS / 2 - 0.5);
    }
  }

  /**
   * Draw the events between two times; those narrower than a pixel share it.
   * @param {CanvasRenderingContext2D} pen
   * @param {number} top
   * @param {number} tall
   * @param {number} from
   * @param {number} to
   */
  drawEvents(pen, top, tall, from, to) {
    const { start, micros, lane, types, lanes, count } = this.events;
    const scale = this.canvas.clientWidth / (to - from);
    const last = new Float64Array(lanes.length).fill(-1);
    for (let i = 0; i < count; i++) {
      const x = (start[i] - from) * scale;
      const end = x + micros[i] * scale;
      if (end < 0 || x > this.canvas.clientWidth || end < last[lane[i]]) continue;
      const wide = Math.max(end - x, 1);
      if (wide === 1) last[lane[i]] = x + 1;
      pen.fillStyle = kindColour(this.colours.place.get(types[i]) ?? 0);
      pen.fillRect(x, top + lane[i] * tall, wide, Math.max(tall - 1, 1));
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} ink
   */
  drawLanes(pen, ink) {
    pen.fillStyle = ink;
    this.events.lanes.forEach((name, lane) => {
      const top = STEPS + lane * LANE;
      const text = name.replace(/ \/.*/, "");
      pen.globalAlpha = 0.25;
      pen.fillRect(0, top + LANE - 1, this.canvas.clientWidth, 0.5);
      pen.globalAlpha = 0.8;
      pen.fillStyle = this.paper();
      pen.fillRect(0, top, pen.measureText(text).width + 8, LANE - 1);
      pen.globalAlpha = 1;
      pen.fillStyle = ink;
      pen.fillText(text, 4, top + LANE / 2);
    });
  }

  /** @returns {string} the colour that everything stands on */
  paper() {
    const grid = this.element.closest(".nbx")?.querySelector(".nbx-grid");
    return grid ? getComputedStyle(grid).backgroundColor : "#fff";
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} ink
   */
  drawMemory(pen, ink) {
    const { memory } = this.events;
    if (!memory) return;
    const bottom = STEPS + this.lanesHeight + GAP + CURVE;
    const scale = (CURVE - 14) / Math.max(memory.peak.live_bytes, 1);
    pen.beginPath();
    pen.moveTo(this.x(memory.micros[0]), bottom);
    let live = 0;
    memory.micros.forEach((micros, at) => {
      pen.lineTo(this.x(micros), bottom - live * scale);
      live = Math.max(memory.bytes[at], 0);
      pen.lineTo(this.x(micros), bottom - live * scale);
    });
    pen.lineTo(this.x(this.events.end), bottom - live * scale);
    pen.lineTo(this.x(this.events.end), bottom);
    pen.fillStyle = "rgba(66,133,244,.35)";
    pen.fill();
    const x = this.x(memory.peak.micros);
    pen.fillStyle = ink;
    pen.fillRect(x, bottom - CURVE, 1, CURVE);
    const text = `peak ${format(memory.peak.live_bytes, "bytes")} live (${memory.device})`;
    const wide = pen.measureText(text).width;
    const right = x + wide + 8 > this.canvas.clientWidth;
    pen.fillText(text, right ? x - wide - 4 : x + 4, bottom - CURVE + 6);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} ink
   */
  drawStrip(pen, ink) {
    const { end, lanes } = this.events;
    const top = this.stripTop;
    pen.globalAlpha = 0.7;
    this.drawEvents(pen, top, STRIP / lanes.length, 0, end);
    pen.globalAlpha = 1;
    const scale = this.canvas.clientWidth / end;
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    pen.strokeRect(this.from * scale + 1, top + 1, (this.to - this.from) * scale - 2, STRIP - 2);
    pen.lineWidth = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} ink
   */
  drawRange(pen, ink) {
    if (!this.range) return;
    const [x, end] = this.range.map((micros) => this.x(micros));
    pen.fillStyle = "rgba(128,128,128,.3)";
    pen.fillRect(0, 0, x, this.stripTop - GAP);
    pen.fillRect(end, 0, this.canvas.clientWidth - end, this.stripTop - GAP);
    pen.fillStyle = ink;
    pen.fillRect(x, 0, 1, this.stripTop - GAP);
    pen.fillRect(end, 0, 1, this.stripTop - GAP);
  }

  /**
   * Show a stretch of time.
   * @param {number} from
   * @param {number} to
   */
  look(from, to) {
    const { end } = this.events;
    const wide = Math.min(Math.max(to - from, LEAST_WINDOW), end);
    this.from = Math.min(Math.max(from, 0), end - wide);
    this.to = this.from + wide;
    this.draw();
  }

  /**
   * @param {number} factor
   * @param {number} [at] the time that stays where it is
   */
  zoom(factor, at = (this.from + this.to) / 2) {
    this.look(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  /** @param {[number, number] | null} range */
  choose(range) {
    this.range = range;
    this.clear.hidden = range === null;
    this.actions.range(range);
    this.draw();
  }

  /** @param {string} text about the range */
  tell(text) {
    this.told.textContent = text;
  }

  /** @param {PointerEvent} event */
  press(event) {
    const { canvas } = this;
    const first = event.offsetX;
    const strip = event.offsetY >= this.stripTop;
    const moving = strip || event.shiftKey;
    const [from, to] = [this.from, this.to];
    const [begin, box] = [this.time(first), canvas.getBoundingClientRect()];
    canvas.setPointerCapture(event.pointerId);
    /** @type {(event: PointerEvent) => void} */
    const move = ({ clientX }) => {
      const x = Math.min(Math.max(clientX - box.left, 0), canvas.clientWidth);
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
      ({ clientX }) => {
        canvas.removeEventListener("pointermove", move);
        const still = Math.abs(clientX - box.left - first) <= LEAST_DRAG;
        if (!moving && still) this.click(event);
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
   * @returns {number} the event at the pointer, the innermost, or -1
   */
  at({ offsetX, offsetY }) {
    const { start, micros, lane, count } = this.events;
    const wanted = Math.floor((offsetY - STEPS) / LANE);
    const time = this.time(offsetX);
    const pixel = (this.to - this.from) / this.canvas.clientWidth;
    let found = -1;
    for (let i = 0; i < count; i++) {
      if (lane[i] !== wanted || time < start[i]) continue;
      const here = time < start[i] + Math.max(micros[i], pixel);
      if (here && (found < 0 || micros[i] <= micros[found])) found = i;
    }
    return found;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const found = this.at(event);
    if (found >= 0) this.actions.event(found);
  }

  /** @param {PointerEvent} event */
  point(event) {
    const { strings, names, types, start, micros, lanes } = this.events;
    const found = this.at(event);
    const lane = lanes[Math.floor((event.offsetY - STEPS) / LANE)];
    if (found < 0) this.tip.textContent = lane ? `${lane}: ${HELP}` : HELP;
    else {
      const times = `${format(micros[found], "micros")} at ${format(Math.round(start[found]), "micros")}`;
      this.tip.textContent = `${strings[names[found]]} (${strings[types[found]]}): ${times}, ${lane}`;
    }
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    // A notebook must scroll past it: the wheel is ours when the timeline has the focus.
    if (!event.ctrlKey && document.activeElement !== this.canvas) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = (this.to - this.from) / 8;
    if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "ArrowLeft") this.look(this.from - step, this.to - step);
    else if (event.key === "ArrowRight") this.look(this.from + step, this.to + step);
    else if (event.key === "Home") this.look(0, this.events.end);
    else if (event.key === "Enter") this.choose([this.from, this.to]);
    else if (event.key === "Escape") this.choose(null);
    else return;
    event.preventDefault();
  }
}
