/** The controls above the table: views, panels, search, filter, columns, and exports. */

import { button, element, newId } from "./dom.js";
import { MOST_ROWS_TALL } from "./table.js";
import { grouped, parseAmount } from "./units.js";
import { countOf } from "./view_state.js";

/** @typedef {import("./view_state.js").ViewState} ViewState */
/** @typedef {import("./explorer_data.js").ExplorerData} ExplorerData */
/**
 * @typedef {object} Actions
 * @property {(place: number) => void} view
 * @property {(perStep: boolean) => void} perStep
 * @property {(text: string, regex: boolean) => string} search
 * @property {(key: string, least: number | null, text: string) => void} minimum
 * @property {() => void} columns
 * @property {(open: boolean) => void} openAll
 * @property {() => void} copyRows
 * @property {() => void} saveRows
 * @property {() => void} copyLine
 */
/** @typedef {{element: HTMLElement, draw: () => void}} Panel */

export class Toolbar {
  /**
   * @param {ExplorerData} data
   * @param {Actions} actions
   */
  constructor(data, actions) {
    this.data = data;
    this.actions = actions;
    this.views = element("div", { class: "nbx-group", role: "group", "aria-label": "View" });
    this.steps = element("div", { class: "nbx-group", role: "group", "aria-label": "Steps" });
    this.panels = element("div", { class: "nbx-group", role: "group", "aria-label": "Panels" });
    this.input = /** @type {HTMLInputElement} */ (
      element("input", { type: "search", placeholder: "search names", "aria-label": "Search names" })
    );
    this.regex = button(".*", "search with a regular expression", () => {
      press(this.regex, this.regex.getAttribute("aria-pressed") !== "true");
      this.search();
    });
    press(this.regex, false);
    this.status = element("span", { class: "nbx-status", role: "status" });
    this.chooser = element("div", { class: "nbx-panel" });
    this.filter = element("div", { class: "nbx-panel" });
    this.more = element("div", { class: "nbx-panel" });
    this.bar = element("div", { class: "nbx-bar" });
    this.bar.append(
      ...[this.views, this.steps, this.panels],
      element("div", { class: "nbx-group nbx-search" }, this.input, this.regex),
      this.status,
      element(
        "div",
        { class: "nbx-group nbx-end" },
        this.opener("Filter", this.filter),
        this.opener("Columns", this.chooser),
        this.opener("More", this.more),
      ),
    );
    this.element = element("div", {}, this.bar, this.filter, this.chooser, this.more);
    this.fillMore();
    this.input.addEventListener("input", () => this.search());
  }

  /**
   * Add a button that shows and hides a panel.
   * @param {string} name
   * @param {Panel} panel
   * @param {string[]} open the panels that are shown at first
   */
  addPanel(name, panel, open) {
    const shown = open.includes(name.toLowerCase());
    panel.element.hidden = !shown;
    const toggle = button(name, `show or hide the ${name.toLowerCase()}`, () => {
      panel.element.hidden = !panel.element.hidden;
      press(toggle, !panel.element.hidden);
      panel.draw();
    });
    press(toggle, shown);
    this.panels.append(toggle);
  }

  /**
   * Make a button that opens one of the boxes below the bar and closes the others.
   * @param {string} text
   * @param {HTMLElement} box
   */
  opener(text, box) {
    box.hidden = true;
    box.id = newId();
    const opener = button(text, "", () => {
      const opening = box.hidden;
      for (const other of [this.filter, this.chooser, this.more]) other.hidden = true;
      for (const other of this.bar.querySelectorAll("[aria-expanded]")) {
        other.setAttribute("aria-expanded", "false");
      }
      box.hidden = !opening;
      opener.setAttribute("aria-expanded", String(opening));
    });
    opener.setAttribute("aria-expanded", "false");
    opener.setAttribute("aria-controls", box.id);
    opener.removeAttribute("title");
    return opener;
  }

  search() {
    const wrong = this.actions.search(this.input.value, this.regex.getAttribute("aria-pressed") === "true");
    this.input.setAttribute("aria-invalid", String(wrong !== ""));
    if (wrong) this.status.textContent = wrong;
  }

  /**
   * Show the controls of a view.
   * @param {number} shown its place
   * @param {ViewState} state
   * @param {boolean} canAverage
   */
  show(shown, state, canAverage) {
    const { views } = this.data;
    this.views.replaceChildren(
      ...views.map(({ name, doc }, place) => {
        const choice = button(name, doc, () => this.actions.view(place));
        press(choice, place === shown);
        return choice;
      }),
    );
    this.views.hidden = views.length < 2;
    this.steps.hidden = !canAverage;
    this.steps.replaceChildren(
      ...["total", "per step"].map((text, at) => {
        const title = at ? "the average over the steps in which a node ran" : "the sum of all steps";
        const choice = button(text, title, () => this.actions.perStep(at === 1));
        press(choice, at === Number(state.perStep));
        return choice;
      }),
    );
    this.fillChooser(state);
    this.fillFilter(state);
    this.input.value = state.search;
    press(this.regex, state.regex);
    this.showStatus(state);
  }

  /**
   * Show the numbers of all, matching and selected rows.
   * @param {ViewState} state
   */
  showStatus(state) {
    const { table } = state;
    const rows = grouped(table.rows);
    const missing = table.of - table.rows;
    const away = missing ? `, ${grouped(missing)} not in this page` : "";
    const of = missing ? ` (of ${grouped(table.of)})` : "";
    if (state.matching) {
      const { outside } = state;
      const hidden = outside ? `, ${grouped(outside)} more at other times` : "";
      this.status.textContent = `${grouped(state.found)} of ${rows} rows match${hidden}${away}`;
    } else if (state.kept) {
      this.status.textContent = `${grouped(countOf(state.kept))} of ${rows} rows${away}`;
    } else this.status.textContent = `${rows} row${table.rows === 1 ? "" : "s"}${of}`;
    if (state.rows.length > MOST_ROWS_TALL) {
      this.status.append(`, the first ${grouped(MOST_ROWS_TALL)} can be scrolled to`);
    }
    if (state.selected.size) this.status.append(`, ${state.selected.size} selected`);
  }

  /** @param {ViewState} state */
  fillChooser(state) {
    this.chooser.replaceChildren(
      ...state.table.columns.map((column) => {
        const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox" }));
        box.checked = !state.hidden.has(column.key);
        box.addEventListener("change", () => {
          if (box.checked) state.hidden.delete(column.key);
          else state.hidden.add(column.key);
          this.actions.columns();
        });
        const role = state.table.tree && column.metric ? ` ${column.role}` : "";
        return element("label", { title: column.help }, box, ` ${column.title}${role}`);
      }),
    );
  }

  /** @param {ViewState} state */
  fillFilter(state) {
    const metrics = state.table.columns.filter((column) => column.metric);
    const choice = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Column" }));
    for (const column of metrics) {
      const role = state.table.tree ? ` ${column.role}` : "";
      choice.append(element("option", { value: column.key }, `${column.title}${role}`));
    }
    choice.value = state.minimum?.key ?? state.main?.key ?? "";
    const least = /** @type {HTMLInputElement} */ (
      element("input", { type: "text", size: 9, placeholder: "1ms, 2MB, 5%", "aria-label": "At least" })
    );
    least.value = state.minimum?.text ?? "";
    const apply = () => {
      const column = metrics.find(({ key }) => key === choice.value);
      if (!column) return;
      const amount = parseAmount(least.value, column.unit, column.whole);
      least.setAttribute("aria-invalid", String(amount === null && least.value.trim() !== ""));
      this.actions.minimum(column.key, amount, least.value);
    };
    choice.addEventListener("change", apply);
    least.addEventListener("change", apply);
    this.filter.replaceChildren("rows with ", choice, " of at least ", least);
    if (!metrics.length) this.filter.replaceChildren("this view has no numbers to filter by");
  }

  fillMore() {
    const { actions } = this;
    this.more.append(
      button("Open all", "open every row", () => actions.openAll(true)),
      button("Close all", "close every row", () => actions.openAll(false)),
      button("Copy rows", "the selected rows, or all in the table, as TSV", actions.copyRows),
      button("Save CSV", "a file of the rows and columns in the table", actions.saveRows),
      button("Copy %tfprof line", "the line that shows this in a notebook", actions.copyLine),
      element(
        "p",
        {},
        "Keys in the table: arrows move, open and close; Enter opens or sorts; Space selects; " +
          "* opens all below; / searches; z zooms the flame; Ctrl+C copies; " +
          "Shift with arrows selects more, or in the header changes the width. " +
          "In the timeline: arrows go from op to op, Enter selects it; + and - zoom, Shift with " +
          "arrows moves, Home shows all; R chooses the time in sight, Escape " +
          "clears it. In the flame: arrows go from block to block, Enter zooms, Escape zooms out.",
      ),
    );
  }
}

/**
 * @param {HTMLElement} target
 * @param {boolean} pressed
 */
function press(target, pressed) {
  target.setAttribute("aria-pressed", String(pressed));
}
