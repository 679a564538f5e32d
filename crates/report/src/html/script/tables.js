// Tables: sorted by a click or a key on their heads, copied, and made of the values of charts.
"use strict";

function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  Object.entries(properties).forEach(([name, value]) => {
    if (name in made) made[name] = value; else made.setAttribute(name, value);
  });
  made.append(...children);
  return made;
}

function sortKey(cell) {
  const text = cell.dataset.v || cell.textContent.replace(/,/g, "");
  const number = Number.parseFloat(text);
  return /^[-+]?[\d.]/.test(text) && !Number.isNaN(number) ? number : text;
}

/** Numbers before texts, and what is missing last whatever the direction. */
function compare(a, b, sign) {
  const missing = (key) => key === "-" || key === "–" || key === "";
  if (missing(a) !== missing(b)) return missing(a) ? 1 : -1;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  if (typeof a === "number") return sign * (a - b);
  return sign * a.localeCompare(b, "en", { numeric: true });
}

function sortBy(table, column, button) {
  const head = button.closest("th"), down = head.getAttribute("aria-sort") === "ascending";
  table.querySelectorAll("th[aria-sort]").forEach((th) => th.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0], rows = [...body.rows];
  const key = new Map(rows.map((row) => [row, sortKey(row.cells[column])]));
  rows.sort((a, b) => compare(key.get(a), key.get(b), down ? -1 : 1));
  body.append(...rows);
}

function copied(table) {
  const line = (row) => [...row.cells].map((cell) => cell.textContent.trim()).join("\t");
  return [...table.rows].map(line).join("\n") + "\n";
}

/** Where a page of a file may not write to the clipboard, the text is selected to be copied. */
async function copy(table, button) {
  try {
    await navigator.clipboard.writeText(copied(table));
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(table);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
  }
  setTimeout(() => { button.textContent = "Copy table"; }, 2500);
}

/** Gives a table its buttons. */
function enhance(table) {
  [...table.tHead.rows[0].cells].forEach((th, column) => {
    const button = element("button", { type: "button", className: "sort" }, ...th.childNodes);
    button.addEventListener("click", () => sortBy(table, column, button));
    th.append(button);
  });
  const button = element("button", { type: "button", className: "tool" }, "Copy table");
  button.addEventListener("click", () => copy(table, button));
  table.parentElement.before(element("div", { className: "tools", role: "group" }, button));
}

/** The best value of a row among the schemes that know no future. */
function bestOf(chart, panel, row) {
  const values = panel.series.filter((s) => s.look !== null).map((s) => s.y[row]).filter((v) => v !== null);
  if (chart.better === "neither" || values.length < 2) return undefined;
  return chart.better === "more" ? Math.max(...values) : Math.min(...values);
}

function rowHead(chart, panel, i) {
  if (panel.labels.length) return panel.labels[i];
  return chart.kind === "tail" ? percentile(panel.x[i]) : shown[chart.x.unit].exact(panel.x[i]);
}

/** The points of a scatter: a row for each. */
function pointTable(chart, panel) {
  const caption = panel.label ? `${chart.title}, ${panel.label}` : chart.title;
  const heads = ["", chart.x.name, chart.y.name];
  const cell = (axis, value) => element("td", { "data-v": value }, shown[axis.unit].exact(value));
  const body = pointsOf(panel).map((p) => element("tr", {},
    element("th", { scope: "row", className: "l" }, p.series.name), cell(chart.x, p.x), cell(chart.y, p.y)));
  return { caption, heads, body };
}

/** The values of a chart: a row for each number or label, a column for each series. */
function valueTable(chart, panel) {
  return tableOf(chart.kind === "scatter" ? pointTable(chart, panel) : seriesTable(chart, panel));
}

function seriesTable(chart, panel) {
  const rows = Math.max(panel.labels.length, panel.x.length);
  const caption = panel.label ? `${chart.title}, ${panel.label}` : chart.title;
  const head = [chart.x.name, ...panel.series.map((s) => s.name)];
  const body = [...Array(rows).keys()].map((i) => {
    const best = bestOf(chart, panel, i);
    const cells = panel.series.map((s) => {
      const v = s.y[i] === undefined ? null : s.y[i];
      const cell = element("td", {}, v === null ? "–" : exactly(chart, s, i));
      if (v !== null) cell.dataset.v = v;
      if (v !== null && v === best && s.look !== null) cell.dataset.best = "";
      return cell;
    });
    const first = element("th", { scope: "row", className: "l" }, rowHead(chart, panel, i));
    if (panel.x.length) first.dataset.v = panel.x[i];
    return element("tr", {}, first, ...cells);
  });
  return { caption, heads: head, body };
}

function tableOf({ caption, heads: head, body }) {
  const heads = head.map((text, i) => element("th", { scope: "col", className: i ? "" : "l" }, text));
  const table = element("table", { className: "data" }, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body));
  const scroll = element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": caption }, table);
  return { scroll, table };
}

/** A map of cells in rows and columns, the more colour the more; the text of a cell is its value. */
function heatTable(chart, panel) {
  const most = Math.max(...chart.panels.flatMap((p) => p.series.flatMap((s) => s.y)));
  const { scroll, table } = valueTable(chart, panel);
  table.classList.add("heat");
  panel.series.forEach((s, channel) => s.y.forEach((v, column) => {
    const cell = table.tBodies[0].rows[column].cells[channel + 1], share = most > 0 ? v / most : 0;
    cell.style.setProperty("--heat", `${(100 * share).toFixed(1)}%`);
    if (share > 0.55) cell.dataset.hot = "";
    cell.title = `${s.name}, ${chart.x.name} ${panel.labels[column]}: ${shown[chart.y.unit].exact(v)}`;
    cell.textContent = shown[chart.y.unit].tick(v);
  }));
  const tick = shown[chart.y.unit].tick;
  const scale = element("div", { className: "scale" }, `Scale of all runs: ${tick(0)}`, element("i", {}), tick(most));
  return { scroll: element("div", {}, scale, scroll), table };
}
