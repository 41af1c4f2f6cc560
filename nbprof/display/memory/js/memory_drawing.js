/** Drawing the memory of a run: axes, curve, bands of steps and ops, peak, cursor. */

import { mebibytes, ticks } from "./memory_samples.js";

/** @typedef {import("./memory_curve.js").MemoryCurve} MemoryCurve */
/** @typedef {import("./memory_samples.js").Mark} Mark */

/** Height of the curve in pixels. */
export const TALL = 150;
export const TOP_ROOM = 18;
export const AXIS = 18;
/** Height of a band in pixels. */
export const BAND = 16;
export const LEFT_ROOM = 62;
export const RIGHT_ROOM = 10;
export const BLUE = "rgb(66,133,244)";
const ORANGE = "rgba(240,150,60,.85)";
const RED = "rgb(217,74,56)";
export const SHADE = "rgba(66,133,244,.25)";

/**
 * The name of each kind of mark.
 * @type {Record<string, string>}
 */
export const WORDS = { line: "Lines", step: "Steps", op: "Ops" };

/**
 * @param {MemoryCurve} curve
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
export function drawMemoryCurve(curve, pen, ink) {
  drawAxes(curve, pen, ink);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT_ROOM, 0, curve.wide + 1, curve.height);
  pen.clip();
  drawLines(curve, pen, ink);
  drawCurve(curve, pen);
  drawBands(curve, pen, ink);
  drawCursor(curve, pen, ink);
  pen.restore();
  drawPeak(curve, pen, ink);
}

/**
 * @param {number} seconds
 * @returns {[number, string]} the units per second and the unit, for times up to this
 */
function scale(seconds) {
  if (seconds >= 1) return [1, "s"];
  return seconds >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
}

/**
 * @param {MemoryCurve} curve
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawAxes(curve, pen, ink) {
  const { low, high } = curve.samples;
  const bottom = curve.height - AXIS;
  pen.fillStyle = ink;
  pen.textAlign = "right";
  for (const size of ticks(low / 2 ** 20, high / 2 ** 20, 4)) {
    const y = curve.y(size * 2 ** 20);
    pen.globalAlpha = 0.15;
    pen.fillRect(LEFT_ROOM, y, curve.wide, 1);
    pen.globalAlpha = 0.8;
    pen.fillText(`${size.toLocaleString("en-US")} MiB`, LEFT_ROOM - 6, y);
  }
  pen.textAlign = "center";
  const [factor, unit] = scale(curve.to);
  for (const time of ticks(curve.from * factor, curve.to * factor, curve.wide / 110)) {
    const x = curve.x(time / factor);
    const text = `${Number(time.toPrecision(9))} ${unit}`;
    const half = pen.measureText(text).width / 2;
    pen.fillRect(x, bottom, 1, 3);
    if (x + half < curve.canvas.width) pen.fillText(text, x, bottom + AXIS / 2 + 2);
  }
  pen.globalAlpha = 1;
  pen.textAlign = "left";
}

/**
 * @param {MemoryCurve} curve
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawLines(curve, pen, ink) {
  if (!curve.shown.has("line")) return;
  pen.fillStyle = ink;
  let free = -1;
  for (const { kind, short, start } of curve.samples.described.marks) {
    const x = curve.x(start);
    if (kind !== "line" || x < LEFT_ROOM - 1 || x > curve.canvas.width) continue;
    pen.globalAlpha = 0.3;
    pen.fillRect(x, TOP_ROOM, 1, TALL);
    if (x < free) continue;
    pen.globalAlpha = 0.7;
    const wide = pen.measureText(short).width;
    const right = x + 3 + wide <= LEFT_ROOM + curve.wide;
    pen.fillText(short, right ? x + 3 : x - wide - 3, TOP_ROOM + TALL - 7);
    free = x + wide + 8;
  }
  pen.globalAlpha = 1;
}

/**
 * @param {MemoryCurve} curve
 * @param {CanvasRenderingContext2D} pen
 */
function drawCurve(curve, pen) {
  const { seconds, resident, most, gap, low } = curve.samples;
  const first = Math.max(curve.samples.nearest(curve.from) - 1, 0);
  const last = Math.min(curve.samples.nearest(curve.to) + 2, seconds.length);
  const pixel = (curve.to - curve.from) / curve.wide;
  pen.beginPath();
  pen.moveTo(curve.x(first ? seconds[first - 1] : 0), curve.y(low));
  let [shaded, highest] = [first ? seconds[first - 1] : 0, low];
  for (let i = first; i < last; i++) {
    highest = Math.max(highest, most[i]);
    if (seconds[i] - shaded < pixel && i + 1 < last) continue;
    pen.lineTo(curve.x(shaded), curve.y(highest));
    pen.lineTo(curve.x(seconds[i]), curve.y(highest));
    [shaded, highest] = [seconds[i], low];
  }
  pen.lineTo(curve.x(shaded), curve.y(low));
  pen.fillStyle = SHADE;
  pen.fill();
  pen.beginPath();
  for (let i = first; i < last; i++) {
    const [x, y] = [curve.x(seconds[i]), curve.y(resident[i])];
    if (i > first && !gap[i]) pen.lineTo(x, y);
    else {
      pen.moveTo(x, y);
      pen.lineTo(x, y); // a sample between two gaps is a dot
    }
  }
  pen.strokeStyle = BLUE;
  pen.lineWidth = 1.5;
  pen.lineCap = "round";
  pen.stroke();
  pen.lineWidth = 1;
}

/**
 * @param {MemoryCurve} curve
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawBands(curve, pen, ink) {
  curve.bands.forEach((kind, number) => {
    if (!curve.shown.has(kind)) return;
    const top = TOP_ROOM + TALL + number * BAND + 2;
    let [drawn, lettered] = [-1, -1];
    for (const mark of curve.samples.described.marks) {
      const x = curve.x(mark.start);
      const end = curve.x(mark.end ?? mark.start);
      if (mark.kind !== kind || end < LEFT_ROOM || x > curve.canvas.width || end < drawn) continue;
      const wide = Math.max(end - x, 2);
      if (wide === 2) drawn = x + 1;
      pen.fillStyle = kind === "op" ? ORANGE : "rgba(128,128,128,.35)";
      pen.fillRect(x, top, kind === "op" ? wide : Math.max(wide - 1, 1), BAND - 4);
      const start = Math.max(x, LEFT_ROOM) + 3;
      const text = fittingLabel(pen, mark, end - start);
      if (!text || start < lettered) continue;
      pen.fillStyle = kind === "op" ? "#222" : ink;
      pen.fillText(text, start, top + BAND / 2 - 1.5);
      lettered = start + pen.measureText(text).width;
    }
  });
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {Mark} mark
 * @param {number} room
 * @returns {string} the longest of its texts that fits, or nothing
 */
function fittingLabel(pen, { label, short }, room) {
  return [label, short].find((text) => pen.measureText(text).width < room) ?? "";
}

/**
 * @param {MemoryCurve} curve
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawPeak(curve, pen, ink) {
  const { peak, exact } = curve.samples.described;
  const y = curve.y(peak);
  pen.strokeStyle = RED;
  pen.setLineDash([4, 3]);
  pen.beginPath();
  pen.moveTo(LEFT_ROOM, y);
  pen.lineTo(LEFT_ROOM + curve.wide, y);
  pen.stroke();
  pen.setLineDash([]);
  pen.fillStyle = ink;
  pen.fillText(`${exact ? "peak" : "peak at least"} ${mebibytes(peak)}`, LEFT_ROOM, y - 9);
  curve.bands.forEach((kind, number) => {
    pen.globalAlpha = curve.shown.has(kind) ? 0.8 : 0.3;
    pen.textAlign = "right";
    pen.fillText(WORDS[kind].toLowerCase(), LEFT_ROOM - 6, TOP_ROOM + TALL + (number + 0.5) * BAND);
    pen.textAlign = "left";
  });
  pen.globalAlpha = 1;
}

/**
 * @param {MemoryCurve} curve
 * @param {CanvasRenderingContext2D} pen
 * @param {string} ink
 */
function drawCursor(curve, pen, ink) {
  if (curve.dragged) {
    const [x, end] = curve.dragged.map((seconds) => curve.x(seconds));
    pen.fillStyle = "rgba(128,128,128,.3)";
    pen.fillRect(x, TOP_ROOM, end - x, curve.height - AXIS - TOP_ROOM);
  }
  if (curve.cursor < 0) return;
  const { seconds, resident } = curve.samples;
  const x = curve.x(seconds[curve.cursor]);
  pen.fillStyle = ink;
  pen.globalAlpha = 0.6;
  pen.fillRect(x, TOP_ROOM, 1, curve.height - AXIS - TOP_ROOM);
  pen.globalAlpha = 1;
  pen.beginPath();
  pen.arc(x, curve.y(resident[curve.cursor]), 3.5, 0, 2 * Math.PI);
  pen.fillStyle = BLUE;
  pen.fill();
}
