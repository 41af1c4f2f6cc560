/** Drawing the timeline: steps, lanes of op runs, live memory, and a strip of everything. */

import { drawRuns, drawRunsTogether } from "./runs_drawing.js";
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
 * @property {import("./families.js").Division} division the category of each kind
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
/** Least room for a step's label to have its name, in pixels. */
const LEAST_STEP_NAME = 110;

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
  drawRuns(scene, pen, STEPS, LANE - 1);
  drawLanes(scene, pen, ink, paper);
  drawMemory(scene, pen, ink);
  drawStrip(scene, pen, ink);
  drawRange(scene, pen, ink);
  if (scene.active >= 0) {
    const begin = xOf(scene, events.start[scene.active]);
    const wide = xOf(scene, events.start[scene.active] + events.micros[scene.active]) - begin;
    const outline = new Path2D();
    outline.rect(begin, STEPS + events.lane[scene.active] * LANE + 1, Math.max(wide, 5), LANE - 4);
    canvas.mark(pen, outline);
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
  pen.strokeStyle = ink;
  let free = 0;
  for (const { number, start, micros, name } of scene.events.steps) {
    const x = xOf(scene, start);
    const wide = xOf(scene, start + micros) - x;
    if (x > scene.canvas.width || x + wide < 0) continue;
    pen.globalAlpha = 0.4;
    pen.strokeRect(x + 0.5, 2.5, Math.max(wide - 1, 0.5), STEPS - 6);
    pen.globalAlpha = 1;
    // Steps of several threads may overlap; their labels must not.
    const left = Math.max(x, free) + 4;
    const room = Math.min(x + wide, scene.canvas.width) - left - 2;
    const text = room > LEAST_STEP_NAME ? `step ${number}: ${name}` : `${number}`;
    if (room > pen.measureText(`${number}`).width) {
      free = left + scene.canvas.label(pen, text, left, STEPS / 2 - 0.5, room, ink);
    }
  }
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
  const { end } = scene.events;
  const top = stripTop(scene.events);
  pen.globalAlpha = 0.7;
  drawRunsTogether(scene, pen, top, STRIP);
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
