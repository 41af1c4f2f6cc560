/** The flame (icicle): the tree as widths, on a canvas; a click zooms and selects. */

import { button, element } from "./dom.js";
import { COLOURINGS, swatches } from "./colours.js";
import { blockAt, layOut } from "./flame_layout.js";
import { sorted } from "./tree.js";
import { format, share } from "./units.js";

/** @typedef {import("./view_state.js").ViewState} ViewState */
/** @typedef {import("./data.js").Column} Column */
/** @typedef {import("./flame_layout.js").Block} Block */

const LEVEL = 20;
const MOST_LEVELS = 14;
const LEAST_LABEL = 26;
const NOTHING = "point at a block to see what it is; a click zooms";

export class Flame {
  /** @param {(row: number) => void} chosen */
  constructor(chosen) {
    this.chosen = chosen;
    this.metric = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Width" }));
    this.colour = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Colour" }));
    this.crumbs = element("nav", { class: "nbx-crumbs", "aria-label": "Zoom" });
    this.canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { role: "img" }));
    this.tip = element("p", { class: "nbx-line nbx-tip" }, NOTHING);
    this.legend = element("p", { class: "nbx-line nbx-legend" });
    const controls = element("div", { class: "nbx-bar" });
    controls.append(element("label", {}, "width ", this.metric));
    controls.append(element("label", {}, "colour ", this.colour), this.crumbs);
    this.element = element("div", { class: "nbx-flame" }, controls, this.canvas, this.tip, this.legend);
    /** @type {ViewState | null} */
    this.state = null;
    /** @type {Block[]} */
    this.blocks = [];
    this.top = -1;
    /** @type {{column: Column, children: import("./tree.js").Children} | null} */
    this.ordered = null;
    this.metric.addEventListener("change", () => this.draw());
    /** The colouring that was chosen, as far as a view has it. */
    this.wanted = "";
    this.colour.addEventListener("change", () => {
      this.wanted = this.colour.value;
      this.draw();
    });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.textContent = NOTHING));
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.body, { attributeFilter: ["data-jp-theme-light", "class"] });
  }

  close() {
    this.observer.disconnect();
    this.themes.disconnect();
  }

  /** @param {ViewState} state */
  show(state) {
    const { table } = state;
    this.state = state;
    this.ordered = null;
    this.top = table.tree && table.rows ? 0 : -1;
    const role = table.tree ? "total" : "self";
    const wide = table.columns.filter((column) => column.whole && column.role === role);
    this.metric.replaceChildren(
      ...wide.map((column) => element("option", { value: column.key }, column.title)),
    );
    const main = wide.find((column) => column.column === state.main?.column);
    this.metric.value = (main ?? wide[0])?.key ?? "";
    const before = this.wanted;
    const usable = COLOURINGS.filter((colouring) => colouring.applies(table));
    this.colour.replaceChildren(
      ...usable.map(({ name }) => element("option", { value: name }, name)),
    );
    if (usable.some(({ name }) => name === before)) this.colour.value = before;
    this.draw();
  }

  /** @returns {Column | undefined} */
  get column() {
    return this.state?.table.column(this.metric.value);
  }

  /** @param {number} row */
  zoom(row) {
    this.top = row;
    this.draw();
  }

  draw() {
    if (!this.state || this.element.hidden || !this.element.clientWidth) return;
    const { state, column } = this;
    const { table } = state;
    this.drawCrumbs();
    const what = `flame of ${column?.title ?? "nothing"}; the table has the same rows`;
    this.canvas.setAttribute("aria-label", what);
    if (!column) {
      this.canvas.hidden = true;
      this.tip.textContent = "this view has no numbers to draw";
      return;
    }
    if (this.ordered?.column !== column) {
      this.ordered = { column, children: sorted(state.children, column.values, true) };
    }
    const width = this.element.clientWidth;
    const whole = this.top >= 0 ? column.values[this.top] : column.whole ?? 0;
    this.blocks = layOut(this.ordered.children, column.values, this.top, whole, width);
    const levels = this.blocks.reduce((most, block) => Math.max(most, block.depth + 1), 1);
    this.paint(width, Math.min(levels, MOST_LEVELS) * LEVEL, column);
    const colouring = COLOURINGS.find(({ name }) => name === this.colour.value) ?? COLOURINGS[0];
    this.legend.replaceChildren(...swatches(colouring.legend(table)));
  }

  /**
   * @param {number} width
   * @param {number} height
   * @param {Column} column
   */
  paint(width, height, column) {
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    canvas.hidden = false;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    if (!pen || !this.state) return;
    pen.scale(ratio, ratio);
    pen.font = `12px ${getComputedStyle(this.element).fontFamily}`;
    pen.textBaseline = "middle";
    const { table, matching, selected } = this.state;
    const colouring = COLOURINGS.find(({ name }) => name === this.colour.value) ?? COLOURINGS[0];
    const paints = colouring.paint(table, column);
    const outline = getComputedStyle(this.element).color;
    for (const block of this.blocks) {
      const y = block.depth * LEVEL;
      const inside = Math.max(block.width - 1, 0.5);
      pen.globalAlpha = matching && !matching[block.row] && !block.merged ? 0.3 : 1;
      pen.fillStyle = block.merged ? "#9a9a9a" : paints(block.row);
      pen.fillRect(block.x, y, inside, LEVEL - 1);
      if (inside > LEAST_LABEL) {
        const text = block.merged ? `${block.merged} small` : table.shortName(block.row);
        pen.fillStyle = "#111";
        pen.fillText(fitting(pen, text, inside - 8), block.x + 4, y + LEVEL / 2);
      }
      if (!block.merged && selected.has(block.row)) {
        pen.globalAlpha = 1;
        pen.strokeStyle = outline;
        pen.lineWidth = 2;
        pen.strokeRect(block.x + 1, y + 1, Math.max(inside - 2, 1), LEVEL - 3);
      }
    }
    pen.globalAlpha = 1;
  }

  drawCrumbs() {
    const { state } = this;
    if (!state) return;
    /** @type {number[]} */
    const path = [];
    for (let row = this.top; row >= 0; row = state.table.parent[row]) path.unshift(row);
    if (!state.table.tree) path.unshift(-1);
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
    return blockAt(this.blocks, event.offsetX, Math.floor(event.offsetY / LEVEL));
  }

  /** @param {MouseEvent} event */
  point(event) {
    const block = this.under(event);
    const { column, state } = this;
    this.canvas.style.cursor = block ? "pointer" : "";
    if (!block || !column || !state) {
      this.tip.textContent = NOTHING;
      return;
    }
    const value = column.values[block.row];
    this.tip.textContent = block.merged
      ? `${block.merged} rows too small to draw; zoom in to see them`
      : `${state.table.nameOf(block.row)}: ${format(value, column.unit)}, ${share(value, column.whole)}`;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const block = this.under(event);
    if (!block) return;
    this.top = block.row;
    this.chosen(block.row);
    this.draw();
  }
}

/**
 * Cut a text so that it fits.
 * @param {CanvasRenderingContext2D} pen
 * @param {string} text
 * @param {number} room
 */
function fitting(pen, text, room) {
  const whole = pen.measureText(text).width;
  if (whole <= room) return text;
  const letters = Math.floor((text.length * room) / whole) - 1;
  return letters > 1 ? `${text.slice(0, letters)}…` : "";
}
