/** The pictures of a tree: what a block looks like, and which one is at a point. */

import { LABEL_COLOUR } from "./canvas.js";

/** @typedef {import("./flame_layout.js").Block} Block */
/** @typedef {import("./canvas.js").Canvas} Canvas */
/** @typedef {{x: number, y: number}} Point in pixels of the canvas */

/** Height of a level in pixels. */
const LEVEL = 20;
/** Most levels of an icicle or a flame. */
const MOST_LEVELS = 14;
/** Most levels of a sunburst, with the one in the middle. */
const MOST_RINGS = 9;
/** Least width of a block with a label, in pixels. */
const LEAST_LABEL = 26;
/** Room above and below the letters of a label in a ring, in pixels. */
const LETTER_ROOM = 16;
/** Largest size of a sunburst, in pixels. */
const MOST_TALL = 440;
/** Part of a sunburst's radius that the level in the middle takes. */
const MIDDLE = 0.24;
const CIRCLE = 2 * Math.PI;

/** Levels as rows of blocks: an icicle grows downwards, a flame upwards. */
class Strips {
  /**
   * @param {number} width
   * @param {boolean} upwards
   */
  constructor(width, upwards) {
    this.upwards = upwards;
    this.hint = "a click zooms";
    /** What the places and widths of blocks are measured in. */
    this.across = width;
    this.levels = 1;
  }

  /** @param {number} levels of the tree */
  setLevels(levels) {
    this.levels = Math.min(levels, MOST_LEVELS);
    return this.levels * LEVEL;
  }

  /** @param {Block} block */
  topOf({ depth }) {
    return LEVEL * (this.upwards ? this.levels - 1 - depth : depth);
  }

  /**
   * @param {Block} block
   * @param {number} inset pixels to leave free on every side
   */
  outline(block, inset) {
    const path = new Path2D();
    const wide = Math.max(block.width - 1 - 2 * inset, inset ? 2 : 0.5);
    path.rect(block.x + inset, this.topOf(block) + inset, wide, LEVEL - 1 - 2 * inset);
    return path;
  }

  /**
   * @param {Canvas} canvas
   * @param {CanvasRenderingContext2D} pen
   * @param {Block} block
   * @param {string} text
   */
  label(canvas, pen, block, text) {
    const room = block.width - 1;
    if (room > LEAST_LABEL) canvas.label(pen, text, block.x + 4, this.topOf(block) + LEVEL / 2, room - 8);
  }

  /** @param {Point} point */
  at({ x, y }) {
    const level = Math.floor(y / LEVEL);
    return { along: x, depth: this.upwards ? this.levels - 1 - level : level };
  }

  /** @param {string} key */
  keyFor(key) {
    const turned = { ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" };
    return (this.upwards && turned[/** @type {keyof typeof turned} */ (key)]) || key;
  }
}

/** Levels as rings around the top row; the first child begins at noon. */
class Sunburst {
  /** @param {number} width */
  constructor(width) {
    this.size = Math.min(width, MOST_TALL);
    this.hint = "a click zooms, one in the middle zooms out";
    this.middle = { x: width / 2, y: this.size / 2 };
    this.radius = this.size / 2 - 3;
    this.across = CIRCLE * this.radius;
    this.levels = 1;
    this.ring = 0;
  }

  /** @param {number} levels of the tree */
  setLevels(levels) {
    this.levels = Math.min(levels, MOST_RINGS);
    this.ring = (this.radius * (1 - MIDDLE)) / Math.max(this.levels - 1, 1);
    return this.size;
  }

  /** @param {Block} block */
  sector({ x, width, depth }) {
    const inner = depth ? this.radius * MIDDLE + (depth - 1) * this.ring : 0;
    const outer = depth ? inner + this.ring : this.radius * MIDDLE;
    const from = (CIRCLE * x) / this.across - CIRCLE / 4;
    return { inner, outer, from, to: from + (CIRCLE * Math.min(width, this.across)) / this.across };
  }

  /**
   * @param {Block} block
   * @param {number} inset
   */
  outline(block, inset) {
    const { x, y } = this.middle;
    const { inner, outer, from, to } = this.sector(block);
    const [low, high] = [inner && inner + inset, outer - inset - 1];
    const path = new Path2D();
    const whole = to - from > CIRCLE - 1e-6;
    /** @type {(radius: number) => number} the angle to leave free at both ends */
    const gap = (radius) => (whole ? 0 : Math.min((inset + 0.5) / radius, (to - from) / 2.5));
    path.arc(x, y, high, from + gap(high), to - gap(high));
    if (whole) path.closePath();
    if (whole && low) path.moveTo(x + low * Math.cos(to), y + low * Math.sin(to));
    if (low) path.arc(x, y, low, to - gap(low), from + gap(low), true);
    path.closePath();
    return path;
  }

  /**
   * Write along the ring or across it, wherever there is more room, and never upside down.
   * @param {Canvas} canvas
   * @param {CanvasRenderingContext2D} pen
   * @param {Block} block
   * @param {string} text
   * @param {string} number
   */
  label(canvas, pen, block, text, number) {
    const { inner, outer, from, to } = this.sector(block);
    const angle = (from + to) / 2;
    const middle = (inner + outer) / 2;
    const along = (to - from) * middle - 8;
    const across = (to - from) * inner > LETTER_ROOM ? this.ring - 8 : 0;
    pen.save();
    pen.translate(this.middle.x, this.middle.y);
    pen.textAlign = "center";
    if (!block.depth) {
      canvas.label(pen, text, 0, -8, 2 * outer - 14);
      canvas.label(pen, number, 0, 9, 2 * outer - 18);
    } else if (along >= across && along > LEAST_LABEL) {
      bend(pen, canvas.shorten(pen, text, along), angle, middle);
    } else if (across > LEAST_LABEL) {
      const turned = Math.cos(angle) < 0;
      pen.rotate(angle + (turned ? CIRCLE / 2 : 0));
      canvas.label(pen, text, turned ? -middle : middle, 0, across);
    }
    pen.restore();
  }

  /** @param {Point} point */
  at({ x, y }) {
    const [right, down] = [x - this.middle.x, y - this.middle.y];
    const far = Math.hypot(right, down);
    const hole = this.radius * MIDDLE;
    const turn = (Math.atan2(right, -down) / CIRCLE + 1) % 1;
    const depth = far < hole ? 0 : far > this.radius ? this.levels : 1 + Math.floor((far - hole) / this.ring);
    return { along: turn * this.across, depth };
  }

  /** @param {string} key */
  keyFor(key) {
    return key;
  }
}

/**
 * Write letters along a circle around the origin; in its lower half they run the other way.
 * @param {CanvasRenderingContext2D} pen
 * @param {string} text
 * @param {number} angle of the text's middle
 * @param {number} radius
 */
function bend(pen, text, angle, radius) {
  const way = Math.sin(angle) > 0.01 ? -1 : 1;
  const letters = [...text];
  const widths = letters.map((letter) => pen.measureText(letter).width);
  let at = angle - (way * widths.reduce((sum, width) => sum + width, 0)) / radius / 2;
  pen.fillStyle = LABEL_COLOUR;
  letters.forEach((letter, place) => {
    const half = (way * widths[place]) / radius / 2;
    pen.save();
    pen.rotate(at + half + (way * CIRCLE) / 4);
    pen.fillText(letter, 0, -way * radius);
    pen.restore();
    at += 2 * half;
  });
}

/** @typedef {Strips | Sunburst} Picture */
/** @type {Record<string, (width: number) => Picture>} */
export const PICTURES = {
  icicle: (width) => new Strips(width, false),
  flame: (width) => new Strips(width, true),
  sunburst: (width) => new Sunburst(width),
};
