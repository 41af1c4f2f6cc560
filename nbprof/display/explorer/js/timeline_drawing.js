/** Drawing the timeline: steps, lanes of op runs, live memory, and a strip of everything. */

import { format } from "./units.js";

/** @typedef {import("./timeline_data.js").Events} Events */
/** @typedef {import("./timeline_data.js").Range} Range */
/** @typedef {import("./canvas.js").Canvas} Canvas */
/**
 * @typedef {object} Scene
 * @property {Events} events
 * @property {Canvas} canvas
 * @property {number} from
 * @property {number} to
 * @property {Range | null} range
 * @property {number} active the op run that has the keyboard focus, or -1
 * @property {string[]} colours one for each kind
 * @property {Uint8Array | null} highlighted the selected kinds; null if nothing is selected
 */

/** Height of a lane in pixels. */
export const LANE = 18;
/** Height of the steps above the lanes, in pixels. */
export const STEPS = 18;
/** Height of the strip below the lanes, in pixels. */
export const STRIP = 22;
/** Height of the memory curve in pixels. */
const CURVE = 44;
const GAP = 4;
/** Opacity of op runs that are not highlighted. */
const PALE = 0.22;
/** Least width of an op run that shows its type, in pixels. */
const LEAST_TYPE = 40;
/** Most op runs drawn into one pixel of a lane; twice as many if highlighted. */
const CROWD = 4;

/** @param {Events} events */
export function stripTop({ lanes, memory }) {
  return STEPS + lanes.length * LANE + (memory ? CURVE + GAP : 0) + GAP;
}

/** @param {Scene} scene */
export function drawScene(scene) {
  const { canvas, events } = scene;
  const width = canvas.element.parentElement?.clientWidth ?? 0;
  const pen = canvas.pen(width, stripTop(events) + STRIP, 11);
  if (!pen) return;
  const { ink, paper } = canvas.colours;
  drawSteps(scene, pen, ink);
  drawEvents(scene, pen, STEPS, LANE, scene.from, scene.to);
  drawLanes(scene, pen, ink, paper);
  drawMemory(scene, pen, ink);
  drawStrip(scene, pen, ink);
  drawRange(scene, pen, ink);
  if (scene.active >= 0) {
    const begin = xOf(scene, events.start[scene.active]);
    const wide = xOf(scene, events.start[scene.active] + events.micros[scene.active]) - begin;
    canvas.mark(pen, begin, STEPS + events.lane[scene.active] * LANE + 1, wide, LANE - 4);
  }
}

/**
 * @param {Scene} scene
 * @param {number} micros
 */
function xOf({ from, to, canvas }, micros) {
  return ((micros - from) / (to - from)) * canvas.width;
}

/**
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawSteps(scene, pen, ink) {
  pen.strokeStyle = pen.fillStyle = ink;
  for (const [number, { start, micros, name }] of scene.events.steps.entries()) {
    const x = xOf(scene, start);
    const wide = xOf(scene, start + micros) - x;
    if (x > scene.canvas.width || x + wide < 0) continue;
    pen.globalAlpha = 0.4;
    pen.strokeRect(x + 0.5, 2.5, Math.max(wide - 1, 0.5), STEPS - 6);
    pen.globalAlpha = 1;
    const text = wide > 140 ? `step ${number}: ${name}` : `${number}`;
    if (wide > 24) pen.fillText(text, Math.max(x, 0) + 4, STEPS / 2 - 0.5);
  }
}

/**
 * Draw the op runs between two times.
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {number} top
 * @param {number} tall
 * @param {number} from
 * @param {number} to
 */
function drawEvents({ events, canvas, colours, highlighted }, pen, top, tall, from, to) {
  const { start, micros, lane, kind, lanes, longest, count } = events;
  const { width } = canvas;
  const scale = width / (to - from);
  const before = pen.globalAlpha;
  const last = new Float64Array(lanes.length).fill(-1);
  const crowd = new Uint8Array(lanes.length);
  for (let i = events.after(from - longest); i < count && start[i] < to; i++) {
    const x = (start[i] - from) * scale;
    const end = x + micros[i] * scale;
    const pale = highlighted !== null && !highlighted[kind[i]];
    if (end < 0 || events.kinds.isFused(kind[i])) continue;
    const wide = Math.max(end - x, 1);
    // Draw only some of the op runs that begin in the same pixel, and more of the highlighted ones.
    if (x >= last[lane[i]] + 1) {
      last[lane[i]] = Math.floor(x);
      crowd[lane[i]] = 0;
    } else if (wide < LEAST_TYPE && crowd[lane[i]] >= (pale || !highlighted ? CROWD : 2 * CROWD)) continue;
    crowd[lane[i]] += wide === 1 ? CROWD : 1;
    pen.globalAlpha = pale ? before * PALE : before;
    pen.fillStyle = colours[kind[i]];
    const y = top + lane[i] * tall;
    pen.fillRect(x, y, wide, Math.max(tall - 1, 1));
    if (wide > LEAST_TYPE && tall === LANE) {
      const room = Math.min(end, width) - Math.max(x, 0) - 6;
      canvas.label(pen, events.kinds.typeOf(kind[i]), Math.max(x, 0) + 3, y + LANE / 2, room);
    }
  }
  pen.globalAlpha = before;
}

/**
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 * @param {string} paper
 */
function drawLanes({ events, canvas }, pen, ink, paper) {
  events.lanes.forEach((name, lane) => {
    const top = STEPS + lane * LANE;
    const text = name.replace(/ \/.*/, "");
    pen.fillStyle = ink;
    pen.globalAlpha = 0.25;
    pen.fillRect(0, top + LANE - 1, canvas.width, 0.5);
    pen.globalAlpha = 0.8;
    pen.fillStyle = paper;
    pen.fillRect(0, top, pen.measureText(text).width + 8, LANE - 1);
    pen.globalAlpha = 1;
    pen.fillStyle = ink;
    pen.fillText(text, 4, top + LANE / 2);
  });
}

/**
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawMemory(scene, pen, ink) {
  const { memory, lanes, end } = scene.events;
  if (!memory) return;
  const bottom = STEPS + lanes.length * LANE + GAP + CURVE;
  const scale = (CURVE - 14) / Math.max(memory.peak.live_bytes, 1);
  pen.beginPath();
  pen.moveTo(xOf(scene, memory.micros[0]), bottom);
  let live = 0;
  memory.micros.forEach((micros, at) => {
    pen.lineTo(xOf(scene, micros), bottom - live * scale);
    live = Math.max(memory.bytes[at], 0);
    pen.lineTo(xOf(scene, micros), bottom - live * scale);
  });
  pen.lineTo(xOf(scene, end), bottom - live * scale);
  pen.lineTo(xOf(scene, end), bottom);
  pen.fillStyle = "rgba(66,133,244,.35)";
  pen.fill();
  const x = xOf(scene, memory.peak.micros);
  pen.fillStyle = ink;
  pen.fillRect(x, bottom - CURVE, 1, CURVE);
  const text = `peak ${format(memory.peak.live_bytes, "bytes")} live (${memory.device})`;
  const wide = pen.measureText(text).width;
  const right = x + wide + 8 > scene.canvas.width;
  pen.fillText(text, right ? x - wide - 4 : x + 4, bottom - CURVE + 6);
}

/**
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawStrip(scene, pen, ink) {
  const { end, lanes } = scene.events;
  const top = stripTop(scene.events);
  pen.globalAlpha = 0.7;
  drawEvents(scene, pen, top, STRIP / lanes.length, 0, end);
  pen.globalAlpha = 1;
  const scale = scene.canvas.width / end;
  pen.strokeStyle = ink;
  pen.lineWidth = 1.5;
  pen.strokeRect(scene.from * scale + 1, top + 1, (scene.to - scene.from) * scale - 2, STRIP - 2);
  pen.lineWidth = 1;
}

/**
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawRange(scene, pen, ink) {
  if (!scene.range) return;
  const tall = stripTop(scene.events) - GAP;
  const [x, end] = scene.range.map((micros) => xOf(scene, micros));
  pen.fillStyle = "rgba(128,128,128,.3)";
  pen.fillRect(0, 0, x, tall);
  pen.fillRect(end, 0, scene.canvas.width - end, tall);
  pen.fillStyle = ink;
  pen.fillRect(x, 0, 1, tall);
  pen.fillRect(end, 0, 1, tall);
}
