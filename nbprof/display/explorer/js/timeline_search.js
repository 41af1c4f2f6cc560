/** Find op runs in the timeline: at a point, and beside another. */

/** @typedef {import("./timeline_data.js").Events} Events */

/**
 * @param {Events} events
 * @param {number} time
 * @param {number} wanted the lane
 * @param {number} pixel its length in µs
 * @returns {number} the op run that took the most time in that pixel, or -1
 */
export function eventAt(events, time, wanted, pixel) {
  const { start, micros, lane, kind, kinds, count, longest } = events;
  let found = -1;
  let most = -1;
  for (let i = events.after(time - Math.max(longest, pixel)); i < count && start[i] <= time; i++) {
    const end = start[i] + micros[i];
    if (lane[i] !== wanted || kinds.isFused(kind[i]) || time >= Math.max(end, start[i] + pixel)) continue;
    const inside = Math.min(end, time + pixel) - Math.max(start[i], time - pixel);
    const own = inside * events.ownShare(i);
    if (own > most || (own === most && micros[i] <= micros[found])) {
      found = i;
      most = own;
    }
  }
  return found;
}

/**
 * Find the op run that an arrow key leads to: the next in the lane, or the nearest in another.
 * @param {Events} events
 * @param {number} from an op run, or -1 if none is active
 * @param {string} key
 * @param {number} time where to start if none is active
 * @returns {number} -1 if there is none
 */
export function eventBeside(events, from, key, time) {
  const { count, lane, lanes } = events;
  if (from < 0) return Math.min(events.after(time), count - 1);
  if (key === "ArrowRight" || key === "ArrowLeft") {
    return inLane(events, from, lane[from], key === "ArrowRight" ? 1 : -1);
  }
  const down = key === "ArrowDown" ? 1 : -1;
  for (let wanted = lane[from] + down; wanted >= 0 && wanted < lanes.length; wanted += down) {
    const found = nearest(events, from, wanted);
    if (found >= 0) return found;
  }
  return -1;
}

/**
 * @param {Events} events
 * @param {number} from
 * @param {number} wanted
 * @param {number} way
 */
function inLane({ lane, kind, kinds, count }, from, wanted, way) {
  for (let i = from + way; i >= 0 && i < count; i += way) {
    if (lane[i] === wanted && !kinds.isFused(kind[i])) return i;
  }
  return -1;
}

/**
 * @param {Events} events
 * @param {number} from
 * @param {number} wanted
 */
function nearest(events, from, wanted) {
  const before = inLane(events, from, wanted, -1);
  const behind = inLane(events, from, wanted, 1);
  if (before < 0 || behind < 0) return Math.max(before, behind);
  const { start } = events;
  return start[behind] - start[from] < start[from] - start[before] ? behind : before;
}
