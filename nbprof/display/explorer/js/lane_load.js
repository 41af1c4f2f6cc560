/**
 * How full each pixel of a lane is, by category: an op run fills a share of its duration, its self
 * time. The filled area is the time that the views count.
 */

/** Largest error of a sum of shares. */
const ROUNDING = 1e-4;

export class LaneLoad {
  /**
   * @param {number} lanes
   * @param {number} categories
   * @param {number} columns
   */
  constructor(lanes, categories, columns) {
    this.lanes = lanes;
    this.categories = categories;
    this.columns = columns;
    this.shares = new Float32Array(lanes * categories * columns);
    /** The category with the largest share of each column, plus 1; 0 where nothing ran. */
    this.most = new Uint8Array(lanes * columns);
  }

  /**
   * @param {number} lane
   * @param {number} category
   * @param {number} begin a place among the columns
   * @param {number} end
   * @param {number} share of that time
   */
  add(lane, category, begin, end, share) {
    const { columns, shares, most } = this;
    const row = (lane * this.categories + category) * columns;
    const first = Math.max(Math.floor(begin), 0);
    const last = Math.min(Math.max(end, first + 1), columns);
    for (let column = first; column < last; column++) {
      const part = Math.min(end, column + 1) - Math.max(begin, column);
      shares[row + column] += Math.max(part, 0) * share;
      // Even what fills next to nothing is there.
      most[lane * columns + column] ||= category + 1;
    }
  }

  /** Find the category that is most of each column, and scale down columns that are too full. */
  finish() {
    const { lanes, categories, columns, shares, most } = this;
    for (let lane = 0; lane < lanes; lane++) {
      for (let column = 0; column < columns; column++) {
        let at = lane * categories * columns + column;
        let best = 0;
        let sum = 0;
        for (let category = 0; category < categories; category++, at += columns) {
          sum += shares[at];
          if (shares[at] > best) {
            best = shares[at];
            most[lane * columns + column] = category + 1;
          }
        }
        for (at -= columns; sum > 1 && at >= lane * categories * columns; at -= columns) {
          shares[at] /= sum;
        }
      }
    }
    return this;
  }

  /** Scale a single lane so that its fullest column is full. */
  scaleToFullest() {
    const { columns, shares } = this;
    const sums = new Float64Array(columns);
    shares.forEach((share, at) => (sums[at % columns] += share));
    const fullest = sums.reduce((a, b) => Math.max(a, b), 0) || 1;
    shares.forEach((share, at) => (shares[at] = share / fullest));
    return this;
  }

  /**
   * Stack the categories of each column of a lane in whole pixels; what is less than a pixel is
   * carried over to the next column, so that over time nothing is lost.
   * @param {number} lane
   * @param {number} tall the height of a full column
   * @returns {{base: Uint8Array, height: Uint8Array}} by category and column
   */
  stacks(lane, tall) {
    const { categories, columns, shares } = this;
    const base = new Uint8Array(categories * columns);
    const height = new Uint8Array(categories * columns);
    const carried = new Float64Array(categories);
    for (let column = 0; column < columns; column++) {
      let top = 0;
      for (let category = 0; category < categories; category++) {
        const at = category * columns + column;
        carried[category] += shares[lane * categories * columns + at] * tall;
        const pixels = Math.min(Math.floor(carried[category] + ROUNDING), tall - top);
        base[at] = top;
        height[at] = pixels;
        carried[category] -= pixels;
        top += pixels;
      }
    }
    return { base, height };
  }
}
