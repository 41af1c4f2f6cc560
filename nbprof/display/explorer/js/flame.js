/** The flame, an icicle or a sunburst: rows as blocks as wide as a metric; a click zooms and selects. */

import { Canvas } from "./canvas.js";
import { COLOURINGS } from "./colours.js";
import { button, element } from "./dom.js";
import { blockAt, layOut, neighbour } from "./flame_layout.js";
import { PICTURES } from "./flame_pictures.js";
import { swatches } from "./legend.js";
import { SMALL } from "./palette.js";
import { childrenOf, parentsByOwn, sorted } from "./tree.js";
import { format, share } from "./units.js";

/** @typedef {import("./view_state.js").ViewState} ViewState */
/** @typedef {import("./view_table.js").Column} Column */
/** @typedef {import("./run_kinds.js").RunKinds} RunKinds */
/** @typedef {import("./colours.js").Paint} Paint */
/** @typedef {import("./flame_layout.js").Block} Block */

const FLAME_KEYS = "; arrow keys go from block to block, Enter zooms, Escape zooms out";

export class Flame {
  /**
   * @param {RunKinds | null} kinds
   * @param {(row: number) => void} select
   */
  constructor(kinds, select) {
    this.kinds = kinds;
    this.select = select;
    this.pictures = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Picture" }));
    this.pictures.append(...Object.keys(PICTURES).map((name) => element("option", { value: name }, name)));
    this.metric = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Width" }));
    this.colour = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Colour" }));
    this.crumbs = element("nav", { class: "nbx-crumbs", "aria-label": "Zoom" });
    this.canvas = new Canvas(() => this.draw(), "");
    this.legend = element("p", { class: "nbx-line nbx-legend" });
    const controls = element("div", { class: "nbx-bar" });
    this.choice = element("label", {}, "picture ", this.pictures);
    controls.append(this.choice, element("label", {}, "width ", this.metric));
    controls.append(element("label", {}, "colour ", this.colour), this.crumbs);
    const drawing = this.canvas.element;
    this.element = element("div", { class: "nbx-flame" }, controls, drawing, this.canvas.tip, this.legend);
    this.canvas.observer.observe(this.element);
    /** @type {ViewState | null} */
    this.state = null;
    /** @type {Block[]} */
    this.blocks = [];
    /** @type {Block | null} the block that has the keyboard focus */
    this.active = null;
    /** The row that takes the whole width, -1 if all rows share it. */
    this.top = -1;
    /** Whether blocks are what is the rows' own, because no row stands for all of them. */
    this.isList = false;
    /** The row above each, in the picture. */
    this.parent = new Int32Array(0);
    this.levels = 1;
    this.picture = PICTURES.icicle(0);
    /** @type {{column: Column, values: Float64Array, children: import("./tree.js").Children} | null} */
    this.ordered = null;
    /** @type {{key: string, paint: Paint | null} | null} */
    this.painted = null;
    /** The colouring that the user chose; a view may lack it. */
    this.wanted = "";
    this.pictures.addEventListener("change", () => this.draw());
    this.metric.addEventListener("change", () => this.draw());
    this.colour.addEventListener("change", () => {
      this.wanted = this.colour.value;
      this.draw();
    });
    drawing.addEventListener("pointermove", (event) => this.point(event));
    drawing.addEventListener("pointerleave", () => this.canvas.showTip());
    drawing.addEventListener("click", (event) => this.click(this.under(event)));
    drawing.addEventListener("keydown", (event) => this.key(event));
  }

  close() {
    this.canvas.close();
  }

  /** @param {ViewState} state to draw next */
  show(state) {
    const { table } = state;
    const same = this.state === state;
    this.state = state;
    this.ordered = this.painted = null;
    if (!same) {
      this.isList = !table.tree || table.overlaps;
      this.top = !this.isList && table.rows ? 0 : -1;
      this.active = null;
      this.levels = 1;
    }
    this.choice.hidden = this.isList;
    const role = this.isList ? "self" : "total";
    const metrics = table.columns.filter((column) => column.wholeShipped && column.role === role);
    const before = this.metric.value;
    this.metric.replaceChildren(
      ...metrics.map((column) => element("option", { value: column.key }, column.title)),
    );
    const main = metrics.find((column) => column.column === state.main?.column) ?? metrics[0];
    this.metric.value = (same && metrics.find(({ key }) => key === before)?.key) || main?.key || "";
    const usable = COLOURINGS.filter((colouring) => colouring.applies(table, this.kinds));
    const names = [...new Set(usable.map(({ name }) => name))];
    this.colour.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
    if (names.includes(this.wanted)) this.colour.value = this.wanted;
  }

  /** @returns {Column | undefined} */
  get column() {
    return this.state?.table.column(this.metric.value);
  }

  /**
   * @param {Column} column
   * @returns {Paint | null}
   */
  paintOf(column) {
    const key = `${this.colour.value} ${column.key}`;
    if (this.painted?.key === key) return this.painted.paint;
    const { table } = /** @type {ViewState} */ (this.state);
    const chosen = COLOURINGS.find(
      ({ name, applies }) => name === this.colour.value && applies(table, this.kinds),
    );
    const paint = chosen?.paint(table, column, this.kinds) ?? null;
    this.painted = { key, paint };
    return paint;
  }

  /** @param {number} row */
  zoom(row) {
    this.top = this.isList && !((this.column?.values[row] ?? 0) > 0) ? -1 : row;
    this.active = null;
    this.draw();
  }

  draw() {
    if (!this.state || this.element.hidden || !this.element.clientWidth) return;
    const { state, column } = this;
    this.drawCrumbs();
    const picture = this.isList ? "icicle" : this.pictures.value;
    this.canvas.name(`${picture} of ${column?.title ?? "nothing"}; the table has the same rows`);
    if (!column) {
      this.canvas.element.hidden = true;
      this.canvas.setHelp("this view has no numbers to draw");
      this.legend.replaceChildren();
      return;
    }
    if (this.ordered?.column !== column || this.ordered.values !== column.values) {
      const overlaps = state.table.overlaps;
      this.parent = overlaps ? parentsByOwn(state.table.parent, column.values) : state.table.parent;
      const children = sorted(overlaps ? childrenOf(this.parent) : state.children, column.values, true);
      this.ordered = { column, values: column.values, children };
    }
    const width = this.element.clientWidth;
    this.picture = PICTURES[picture](width);
    const whole = this.top >= 0 ? column.values[this.top] : column.whole ?? 0;
    this.blocks = layOut(this.ordered.children, column.values, this.top, whole, this.picture.across);
    const { active } = this;
    this.active = (active && this.blocks.find((block) => isSame(block, active))) ?? null;
    const levels = this.blocks.reduce((most, block) => Math.max(most, block.depth + 1), 1);
    // Zooming must not move what is below the flame.
    this.levels = Math.max(this.levels, levels);
    const paint = this.paintOf(column);
    if (paint) this.paint(width, this.picture.setLevels(this.levels), paint);
    this.legend.replaceChildren(...swatches(paint?.legend ?? []));
    this.canvas.setHelp(this.blocks.length ? this.picture.hint + FLAME_KEYS : "there is nothing to draw");
  }

  /**
   * @param {number} width
   * @param {number} height
   * @param {Paint} paint
   */
  paint(width, height, paint) {
    const pen = this.canvas.pen(width, height, 12);
    if (!pen || !this.state) return;
    const { picture, active } = this;
    const { table, matching, selected } = this.state;
    const { ink } = this.canvas.colours;
    for (const block of this.blocks) {
      if (block.depth >= picture.levels) continue;
      pen.globalAlpha = matching && !matching[block.row] && !block.merged ? 0.3 : 1;
      pen.fillStyle = block.merged ? SMALL : paint.colour(block.row);
      pen.fill(picture.outline(block, 0));
      const text = block.merged ? `${block.merged} small` : table.shortName(block.row);
      const number = format(this.column?.values[block.row] ?? NaN, this.column?.unit ?? "count");
      picture.label(this.canvas, pen, block, text, number);
      if (!block.merged && selected.has(block.row)) {
        pen.globalAlpha = 1;
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.stroke(picture.outline(block, 1));
      }
    }
    pen.globalAlpha = 1;
    if (active && active.depth < picture.levels) this.canvas.mark(pen, picture.outline(active, 2));
  }

  drawCrumbs() {
    const { state } = this;
    if (!state) return;
    /** @type {number[]} */
    const path = [];
    for (let row = this.top; row >= 0; row = this.parent[row] ?? -1) path.unshift(row);
    if (this.isList) path.unshift(-1);
    const hidden = path.length < 2;
    this.crumbs.replaceChildren(
      ...(hidden ? [] : path).map((row) => {
        const text = row < 0 ? "all" : state.table.shortName(row);
        return button(text, "zoom out to here", () => this.zoom(row));
      }),
    );
  }

  /**
   * @param {MouseEvent} event
   * @returns {Block | undefined}
   */
  under(event) {
    const { along, depth } = this.picture.at(this.canvas.place(event));
    return depth < this.picture.levels ? blockAt(this.blocks, along, depth) : undefined;
  }

  /** @param {MouseEvent} event */
  point(event) {
    const block = this.under(event);
    this.canvas.element.style.cursor = block ? "pointer" : "";
    this.canvas.showTip(block && this.textOf(block));
  }

  /**
   * @param {Block} block
   * @returns {string}
   */
  textOf(block) {
    const { column, state } = this;
    if (!column || !state) return "";
    const value = column.values[block.row];
    return block.merged
      ? `${block.merged} rows too small to draw; zoom in to see them`
      : `${state.table.nameOf(block.row)}: ${format(value, column.unit)}, ${share(value, column.whole)}`;
  }

  /** @param {Block | undefined} block */
  click(block) {
    const { state } = this;
    const inMiddle = this.pictures.value === "sunburst" && block?.depth === 0 && !this.isList;
    if (!inMiddle || !state || state.table.parent[block.row] < 0) return this.zoomInto(block);
    this.select(state.table.parent[block.row]);
    this.zoomOut();
  }

  /** @param {Block | undefined | null} block */
  zoomInto(block) {
    if (!block) return;
    this.top = block.row;
    this.active = { ...block, depth: 0, merged: 0 };
    this.select(block.row);
    this.draw();
  }

  zoomOut() {
    if (this.top < 0 || !this.state) return;
    const above = this.parent[this.top];
    if (above < 0 && !this.isList) return;
    const from = this.top;
    this.zoom(above);
    this.goTo(this.blocks.find((block) => block.row === from && !block.merged));
  }

  /** @param {Block | undefined} block */
  goTo(block) {
    if (!block) return;
    this.active = block;
    this.draw();
    this.canvas.showTip(this.textOf(block), true);
  }

  /**
   * @param {Block} from
   * @param {string} key
   */
  next(from, key) {
    const found = neighbour(this.blocks, from, this.picture.keyFor(key));
    return found && found.depth < this.picture.levels ? found : undefined;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (key.startsWith("Arrow")) {
      this.goTo(this.active ? this.next(this.active, key) : this.blocks[0]);
    } else if (key === "Enter" || key === " ") this.zoomInto(this.active);
    else if (key === "Escape" || key === "Backspace") this.zoomOut();
    else if (key === "Home") this.goTo(this.blocks[0]);
    else return;
    event.preventDefault();
  }
}

/**
 * @param {Block} one
 * @param {Block} other
 */
function isSame(one, other) {
  return one.row === other.row && one.depth === other.depth && !one.merged === !other.merged;
}
