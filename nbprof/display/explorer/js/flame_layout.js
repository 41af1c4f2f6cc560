/** The places of the flame's blocks: widths by a metric, small siblings merged. */

/**
 * @typedef {{row: number, depth: number, x: number, width: number, merged: number}} Block
 * `merged` is the number of small siblings the block stands for, 0 if it is a row.
 */

/** Width in pixels below which siblings are merged. */
const LEAST_PIXELS = 2;

/**
 * @param {import("./tree.js").Children} children heaviest first
 * @param {ArrayLike<number>} values
 * @param {number} top the row that takes the whole width; -1 for all rows without a parent
 * @param {number} whole the amount that the width stands for
 * @param {number} width in pixels
 * @returns {Block[]}
 */
export function layOut({ start, list, sort }, values, top, whole, width) {
  /** @type {Block[]} */
  const blocks = [];
  if (!(whole > 0)) return blocks;
  if (top >= 0) blocks.push({ row: top, depth: 0, x: 0, width, merged: 0 });
  const scale = width / whole;
  /** @type {{row: number, depth: number, x: number, end: number}[]} */
  const waiting = [{ row: top, depth: top >= 0 ? 1 : 0, x: 0, end: width }];
  for (let above = waiting.pop(); above; above = waiting.pop()) {
    let { x } = above;
    let merged = 0;
    let rest = 0;
    sort?.(above.row);
    for (let place = start[above.row + 1]; place < start[above.row + 2]; place++) {
      const row = list[place];
      const wide = Math.min(values[row] * scale, above.end - x);
      if (!(wide > 0)) continue;
      if (wide < LEAST_PIXELS) {
        merged++;
        rest += wide;
        continue;
      }
      blocks.push({ row, depth: above.depth, x, width: wide, merged: 0 });
      waiting.push({ row, depth: above.depth + 1, x, end: x + wide });
      x += wide;
    }
    const room = Math.min(rest, above.end - x);
    if (merged && room >= 0.5) {
      blocks.push({ row: above.row, depth: above.depth, x, width: room, merged });
    }
  }
  return blocks;
}

/**
 * Find the block at a point.
 * @param {Block[]} blocks
 * @param {number} x
 * @param {number} depth
 */
export function blockAt(blocks, x, depth) {
  return blocks.find((block) => block.depth === depth && x >= block.x && x < block.x + block.width);
}

/**
 * Find the block that an arrow key leads to: the next on the same level, or one below or above.
 * @param {Block[]} blocks
 * @param {Block} from
 * @param {string} key
 * @returns {Block | undefined}
 */
export function neighbour(blocks, from, key) {
  const middle = from.x + from.width / 2;
  if (key === "ArrowUp") return blockAt(blocks, middle, from.depth - 1);
  if (key === "ArrowDown") {
    const end = from.x + from.width;
    const below = blocks.filter(({ depth, x }) => depth === from.depth + 1 && x >= from.x && x < end);
    return below.sort((a, b) => a.x - b.x)[0];
  }
  const level = blocks.filter(({ depth }) => depth === from.depth).sort((a, b) => a.x - b.x);
  return key === "ArrowRight"
    ? level.find(({ x }) => x > from.x)
    : level.reverse().find(({ x }) => x < from.x);
}
