/** Drawing op runs in their lanes: what takes most of a pixel's time fills most of the pixel. */

import { LaneLoad } from "./lane_load.js";

/** @typedef {import("./timeline_drawing.js").Scene} Scene */

/** Opacity of op runs that are not highlighted, and of stretches behind single op runs. */
const PALE = 0.22;
/** Opacity of a pixel in which op runs took less time than can be drawn. */
const FAINT = 0.45;
/** Least width of an op run that shows its type, in pixels. */
const LEAST_TYPE = 40;
/** Width of a stretch from which on single op runs are drawn before it, in pixels. */
const SEPARATE = 4;

/**
 * Draw the op runs of the window, each in its lane.
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {number} top
 * @param {number} tall
 */
export function drawRuns(scene, pen, top, tall) {
  const { events, highlighted, from, to } = scene;
  const { stretches } = events;
  const near = !!stretches && (stretches.micros / (to - from)) * scene.canvas.width > SEPARATE;
  if (stretches) {
    const load = newLoad(scene, events.lanes.length);
    addStretches(scene, load, from, to, false);
    drawLoad(scene, pen, load.finish(), top, tall, near ? PALE : 1);
  }
  if (stretches && !near && !highlighted) return;
  const load = newLoad(scene, events.lanes.length);
  const wide = addRuns(scene, load, from, to, { together: false, onlyHighlighted: !!stretches && !near });
  drawLoad(scene, pen, load.finish(), top, tall, 1);
  labelRuns(scene, pen, wide, top, tall + 1);
}

/**
 * Draw the op runs of all the time and all lanes together.
 * @param {Scene & {strip: LaneLoad | null}} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {number} top
 * @param {number} tall
 */
export function drawRunsTogether(scene, pen, top, tall) {
  const { events, highlighted } = scene;
  const onlyHighlighted = !!events.stretches;
  if (scene.strip?.columns !== columnsOf(scene)) {
    const load = newLoad(scene, 1);
    addStretches(scene, load, 0, events.end, true);
    if (!onlyHighlighted || highlighted) {
      addRuns(scene, load, 0, events.end, { together: true, onlyHighlighted });
    }
    scene.strip = load.scaleToFullest().finish();
  }
  drawLoad(scene, pen, scene.strip, top, tall, 1);
}

/** @param {Scene} scene */
const columnsOf = ({ canvas }) => Math.ceil(canvas.width);

/**
 * @param {Scene} scene
 * @param {number} lanes
 */
function newLoad(scene, lanes) {
  // Each category twice: as it is, and pale.
  return new LaneLoad(lanes, 2 * scene.division.categories.length, columnsOf(scene));
}

/**
 * @param {Scene} scene
 * @param {number} kind -1 if it is not known
 * @param {boolean} pale
 * @returns {number} its category, or the pale one of it
 */
function categoryOf({ division: { of, categories } }, kind, pale) {
  const category = kind < 0 ? categories.length - 1 : of[kind];
  return pale ? category + categories.length : category;
}

/**
 * @param {Scene} scene
 * @param {LaneLoad} load
 * @param {number} from
 * @param {number} to
 * @param {boolean} together whether all lanes are one
 */
function addStretches(scene, load, from, to, together) {
  const scale = scene.canvas.width / (to - from);
  scene.events.stretches?.each((lane, kind, begin, end, share) => {
    if (end <= from || begin >= to) return;
    const category = categoryOf(scene, kind, scene.highlighted !== null);
    load.add(together ? 0 : lane, category, (begin - from) * scale, (end - from) * scale, share);
  });
}

/**
 * @param {Scene} scene
 * @param {LaneLoad} load
 * @param {number} from
 * @param {number} to
 * @param {{together: boolean, onlyHighlighted: boolean}} how
 * @returns {number[]} the op runs that are wide enough for a label
 */
function addRuns(scene, load, from, to, { together, onlyHighlighted }) {
  const { events, highlighted } = scene;
  const { start, micros, lane, kind, kinds, longest, count } = events;
  const scale = scene.canvas.width / (to - from);
  /** @type {number[]} */
  const wide = [];
  for (let i = events.after(from - longest); i < count && start[i] < to; i++) {
    const begin = (start[i] - from) * scale;
    const end = begin + micros[i] * scale;
    if (end < 0 || kinds.isFused(kind[i]) || (onlyHighlighted && !highlighted?.[kind[i]])) continue;
    const share = events.ownShare(i);
    const category = categoryOf(scene, kind[i], highlighted !== null && !highlighted[kind[i]]);
    load.add(together ? 0 : lane[i], category, begin, end, share);
    if (end - begin > LEAST_TYPE && share > 0.5) wide.push(i);
  }
  return wide;
}

/**
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {LaneLoad} load
 * @param {number} top
 * @param {number} tall
 * @param {number} opacity
 */
function drawLoad({ division: { categories } }, pen, load, top, tall, opacity) {
  const before = pen.globalAlpha;
  /** @type {(category: number, visibility: number) => void} */
  const choose = (category, visibility) => {
    const pale = category >= categories.length;
    pen.fillStyle = categories[category % categories.length].colour;
    pen.globalAlpha = before * opacity * visibility * (pale ? PALE : 1);
  };
  for (let lane = 0; lane < load.lanes; lane++) {
    const y = top + lane * (tall + 1);
    const { base, height } = load.stacks(lane, tall);
    const { columns } = load;
    for (let column = 0; column < columns; column++) {
      const most = load.most[lane * columns + column];
      if (!most || isFilled(height, column, columns)) continue;
      choose(most - 1, FAINT);
      pen.fillRect(column, y, 1, tall);
    }
    for (let category = 0; category < load.categories; category++) {
      choose(category, 1);
      const row = category * columns;
      for (let column = 0, next = 0; column < columns; column = next) {
        const [low, high] = [base[row + column], height[row + column]];
        next = column + 1;
        if (!high) continue;
        while (next < columns && base[row + next] === low && height[row + next] === high) next++;
        pen.fillRect(column, y + tall - low - high, next - column, high);
      }
    }
  }
  pen.globalAlpha = before;
}

/**
 * @param {Uint8Array} height by category and column
 * @param {number} column
 * @param {number} columns
 */
function isFilled(height, column, columns) {
  for (let at = column; at < height.length; at += columns) if (height[at]) return true;
  return false;
}

/**
 * @param {Scene} scene
 * @param {CanvasRenderingContext2D} pen
 * @param {number[]} wide
 * @param {number} top
 * @param {number} tall
 */
function labelRuns({ events, canvas, from, to }, pen, wide, top, tall) {
  const { start, micros, lane, kind, kinds } = events;
  const scale = canvas.width / (to - from);
  for (const i of wide) {
    const x = Math.max((start[i] - from) * scale, 0);
    const room = Math.min((start[i] + micros[i] - from) * scale, canvas.width) - x - 6;
    canvas.label(pen, kinds.typeOf(kind[i]), x + 3, top + lane[i] * tall + tall / 2, room);
  }
}
