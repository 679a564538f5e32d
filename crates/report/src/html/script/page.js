// What happens on the page: charts are drawn one after the other, and answer to legends, choices of
// panels, logarithmic values, the width of the window and its theme.
"use strict";

document.documentElement.classList.add("js");
const views = [];

/** Charts that are to be drawn: each once, however often that was asked for since. */
const waiting = new Set();

/** Has a chart drawn soon; one that is folded is drawn when it is unfolded. */
function draw(view) {
  if (view.figure.closest("details:not([open])")) return;
  if (!waiting.size) setTimeout(drawNext);
  waiting.add(view);
}

/** One chart at a time, so that the page stays quick. */
function drawNext() {
  const [view] = waiting;
  waiting.delete(view);
  if (waiting.size) setTimeout(drawNext);
  paint(view);
}

/** Draws a chart as its view has it. */
function paint(view) {
  const { chart, plot } = view;
  view.width = plot.clientWidth || 320;
  if (chart.kind === "heat") {
    plot.replaceChildren(heatTable(chart, chart.panels[view.panel]).scroll);
  } else {
    plot.style.height = `${heightOf(chart, view)}px`;
    view.drawn = view.drawn || echarts.init(plot, null, { renderer: "svg" });
    view.drawn.resize();
    view.drawn.setOption(optionOf(chart, view), { notMerge: true });
  }
  if (view.values.open) fillValues(view);
}

function fillValues(view) {
  const { scroll, table } = valueTable(view.chart, view.chart.panels[view.panel]);
  view.values.replaceChildren(view.values.firstChild, scroll);
  enhance(table);
}

function panelChoice(view) {
  const { chart } = view;
  const options = chart.panels.map((p, i) => element("option", { value: i, selected: i === view.panel }, p.label));
  const choice = element("select", { "aria-label": `${chart.title}: what is shown` }, ...options);
  choice.addEventListener("change", () => {
    view.panel = Number(choice.value);
    if (view.legend) legendOf(view.legend, [view]);
    draw(view);
  });
  return choice;
}

function logSwitch(view) {
  const button = element("button", { type: "button", className: "tool", "aria-pressed": "false" }, "Log scale");
  button.addEventListener("click", () => {
    view.log = !view.log;
    button.setAttribute("aria-pressed", String(view.log));
    draw(view);
  });
  return button;
}

/** The chart as a picture of its own, with its legend below. */
function pictureOf(view) {
  const { chart } = view, t = theme(), option = optionOf(chart, view), width = Math.max(view.width, 480);
  const names = chart.panels[view.panel].series.map((s) => s.name).filter((name) => !view.hidden.has(name));
  const taken = names.reduce((sum, name) => sum + 50 + 7 * name.length, 0);
  const below = 14 + 24 * Math.ceil((1.3 * taken) / width), height = heightOf(chart, view) + below;
  const drawn = echarts.init(null, null, { renderer: "svg", ssr: true, width, height });
  const legend = { ...option.legend, show: true, data: names, bottom: 0, textStyle: { color: t.text }, itemWidth: chart.kind === "scatter" ? 12 : 25 };
  drawn.setOption({ ...option, backgroundColor: t.surface, legend, grid: { ...option.grid, bottom: below } });
  const svg = drawn.renderToSVGString();
  drawn.dispose();
  return { svg, width, height };
}

function download(view, kind, blob) {
  const name = `${view.chart.title} ${view.chart.panels[view.panel].label}`.trim().replace(/[^\w.-]+/g, "-");
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: `${name}.${kind}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function saveSvg(view) {
  download(view, "svg", new Blob([pictureOf(view).svg], { type: "image/svg+xml" }));
}

/** Twice the pixels of the screen. */
function savePng(view) {
  const { svg, width, height } = pictureOf(view), image = new Image();
  image.onload = () => {
    const canvas = element("canvas", { width: 2 * width, height: 2 * height }), pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0, 2 * width, 2 * height);
    canvas.toBlob((blob) => download(view, "png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

function saveButtons(view) {
  return [["SVG", saveSvg], ["PNG", savePng]].map(([name, saved]) => {
    const button = element("button", { type: "button", className: "tool", "aria-label": `Save ${view.chart.title} as ${name}` }, name);
    button.addEventListener("click", () => saved(view));
    return button;
  });
}

/** Stripes and dots of bars, as `hatching` has them. */
function hatchPath(l) {
  if (l.bound) return "M0 6L6 0M0 12L12 0M6 12L12 6";
  return ["", "M0 6L6 12M0 0L12 12M6 0L12 6", "M2 3h2M8 3h2M5 6h2M2 9h2M8 9h2", "M0 3H12M0 9H12"][l.round % 4];
}

/** A picture of how a series looks: its line and mark, and its bar if that has more than a colour. */
function swatch(series, bar) {
  const l = look(series, theme().dark), space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const hatch = hatchPath(l), width = bar ? 14 : 26 + (hatch ? 16 : 0);
  svg.setAttribute("viewBox", `0 0 ${width} 12`);
  svg.style.width = `${width}px`;
  svg.setAttribute("aria-hidden", "true");
  const part = (tag, attributes) => {
    const made = document.createElementNS(space, tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    svg.append(made);
  };
  const dashes = l.dashes === "solid" ? "none" : l.dashes.join(" ");
  const shapes = {
    [marks.circle]: "M9 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0", [marks.triangle]: "M13 1L18 11H8Z",
    [marks.square]: "M9 2H17V10H9Z", [marks.diamond]: "M13 0L18 6L13 12L8 6Z", [marks.down]: "M8 2H18L13 11Z",
  };
  if (bar || hatch) {
    const transform = `translate(${width - 13} 0)`;
    part("path", { d: "M0 0H12V12H0Z", fill: l.color, transform });
    part("path", { d: hatch, stroke: theme().surface, "stroke-width": 1.8, transform });
  }
  if (!bar) part("path", { d: "M0 6H26", stroke: l.color, "stroke-width": 3, "stroke-dasharray": dashes });
  if (!bar && shapes[l.mark]) part("path", { d: shapes[l.mark], fill: l.color });
  return svg;
}

/** Buttons that hide and show a series in all of `charts`. */
function legendOf(place, charts) {
  const all = new Map();
  charts.forEach((view) => view.chart.panels.forEach((panel) => panel.series.forEach((s) => {
    if (!all.has(s.name)) all.set(s.name, s);
  })));
  const buttons = [...all.values()].map((series) => {
    const hidden = charts[0].hidden.has(series.name);
    const picture = swatch(series, charts.every((view) => !["lines", "tail", "scatter"].includes(view.chart.kind)));
    const button = element("button", { type: "button", "aria-pressed": String(!hidden) }, picture, series.name);
    button.addEventListener("click", () => {
      const show = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(show));
      charts.forEach((view) => {
        view.hidden[show ? "delete" : "add"](series.name);
        draw(view);
      });
    });
    return button;
  });
  place.replaceChildren(...buttons);
}

/** Everything around a chart. */
function prepare(figure) {
  const chart = report.charts[Number(figure.dataset.chart)];
  const values = element("details", { className: "values" }, element("summary", {}, "Values as a table"));
  const view = {
    chart, figure, values, plot: figure.querySelector(".plot"), panel: chart.chosen, log: false, hidden: new Set(),
  };
  const tools = element("div", { className: "tools" });
  if (chart.panels.length > 1) tools.append(panelChoice(view));
  else if (chart.panels[0].label) tools.append(element("span", { className: "about" }, chart.panels[0].label));
  if (["lines", "bars"].includes(chart.kind) && chart.baseline === undefined) tools.append(logSwitch(view));
  if (chart.kind === "bars" && chart.baseline !== undefined) tools.append(logSwitch(view));
  if (chart.kind !== "heat") tools.append(element("span", { className: "save" }, ...saveButtons(view)));
  if (tools.childNodes.length) view.plot.before(tools);
  if (chart.own_legend) {
    view.legend = element("div", { className: "legend own", role: "group", "aria-label": `${chart.title}: series` });
    view.plot.after(view.legend);
    legendOf(view.legend, [view]);
  }
  if (chart.kind === "heat") view.plot.removeAttribute("role");
  else figure.append(values);
  values.addEventListener("toggle", () => { if (values.open) fillValues(view); });
  views.push(view);
}

function legends() {
  document.querySelectorAll(".group > .legend").forEach((place) => {
    const charts = views.filter((v) => v.figure.closest(".group") === place.parentElement);
    const shared = charts.filter((v) => !v.chart.own_legend && v.chart.kind !== "heat");
    if (shared.length) legendOf(place, shared);
  });
}

function themeSwitch() {
  const words = { auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };
  const order = Object.keys(words), root = document.documentElement;
  const button = element("button", { type: "button", className: "tool theme" });
  const set = (name) => {
    root.dataset.theme = name;
    button.textContent = words[name];
  };
  set(order.includes(location.hash.slice(1)) ? location.hash.slice(1) : "auto");
  button.addEventListener("click", () => {
    set(order[(order.indexOf(root.dataset.theme) + 1) % order.length]);
    redraw();
  });
  document.querySelector("header").append(button);
}

/** Draws all charts anew. */
function redraw() {
  views.forEach((view) => { if (view.legend) legendOf(view.legend, [view]); });
  legends();
  views.forEach(draw);
}

themeSwitch();
document.querySelectorAll("figure[data-chart]").forEach(prepare);
document.querySelectorAll("table.data").forEach(enhance);
document.querySelectorAll("details.fold").forEach((fold) => fold.addEventListener("toggle", () => {
  if (fold.open) views.filter((view) => fold.contains(view.figure)).forEach(draw);
}));
redraw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) redraw();
  width = innerWidth;
});
