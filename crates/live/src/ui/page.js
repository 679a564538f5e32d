"use strict";
// Asks the server for its figures once an interval and draws them.

const COLOURS = ["#1459c7", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be185d", "#0e7490", "#4b5563"];
const DARK = ["#8ab4ff", "#fdba74", "#86efac", "#d8b4fe", "#fde047", "#f9a8d4", "#67e8f9", "#d1d5db"];
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
const HEIGHT = 200;

const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

const percent = (v) => (v === null || v === undefined ? null : v * 100);
const shadowName = (shadow, i) => `shadow ${i + 1}: ${shadow.model ? `${shadow.model.scheme}, ${shadow.model.cache}` : "?"}`;

// How much a counter grew in a second.
const rate = (name) => (r, every) => (r[name] ?? 0) / every;
const programs = (f) => f.flash_writes_host + (f.flash_writes_gc ?? 0) + (f.flash_writes_meta ?? 0) + (f.padded_places ?? 0);

// What each chart shows: lines have a name and a value of an interval. All charts have the same times.
const CHARTS = [
  { title: "Hit ratio", about: "pages that hit, % of those accessed", lines: (latest) => [
    ["all", (r) => percent(r.page_hit)], ["reads", (r) => percent(r.read_hit)], ["writes", (r) => percent(r.write_hit)],
    ...latest.shadows.map((s, i) => [shadowName(s, i), (r) => percent(r.shadows[i]?.[0])]),
  ] },
  { title: "Response time", about: "simulated, us", lines: () => [
    ["read median", (r) => r.read_p50_us], ["read 99 %", (r) => r.read_p99_us],
    ["write median", (r) => r.write_p50_us], ["write 99 %", (r) => r.write_p99_us],
  ] },
  { title: "Mean response time", about: "simulated, us: the export and its shadows", lines: (latest) => [
    ["export", (r) => r.mean_us], ...latest.shadows.map((s, i) => [shadowName(s, i), (r) => r.shadows[i]?.[1]]),
  ] },
  { title: "Queues of the dies", about: "operations of the host that wait or are served, at the end of the second", lines: () => [
    ["longest", (r) => r.queue_max], ["mean", (r) => r.queue_mean],
  ] },
  { title: "What the cache holds", about: "pages, and what the scheme's lists hold", lines: (latest) => [
    ["cached", (r) => r.cached_pages], ["dirty", (r) => r.dirty_pages],
    ...latest.figures.lists.map(([name]) => [name.replaceAll("_", " "),
      (r) => (r.lists.find((l) => l[0] === name) ?? [null, null])[1]]),
  ] },
  { title: "Flash traffic", about: "pages a second; mapping units where the device has them", lines: (latest) => [
    ["host reads", rate("flash_reads_host")], ["host programs", rate("flash_writes_host")],
    ["GC reads", rate("flash_reads_gc")], ["GC programs", rate("flash_writes_gc")],
    ...(latest.figures.padded_places ? [["padding", rate("padded_places")]] : []),
  ] },
  { title: "Collections", about: "blocks a second", lines: () => [
    ["collected", rate("gc_victims")], ["erased", rate("erases")],
  ] },
  { title: "Requests", about: "of the host, a second", lines: () => [["requests", rate("requests")]] },
];

// Charts that are drawn now, and which lines they have.
let drawn = { key: "", plots: [] };

function lineOptions([name], i) {
  const stroke = (dark.matches ? DARK : COLOURS)[i % COLOURS.length];
  const dash = DASHES[Math.floor(i / 4) % DASHES.length];
  return { label: name, stroke, width: 2, dash, spanGaps: false, points: { show: true, size: 4 }, value: (u, v) => shown(v) };
}

function shown(v) {
  if (v === null || v === undefined) return "-";
  return Math.abs(v) >= 100 ? Math.round(v).toLocaleString("en") : String(Number(v.toPrecision(3)));
}

function make(place, chart, lines) {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const title = document.createElement("h2");
  title.textContent = chart.title;
  const about = document.createElement("p");
  about.textContent = chart.about;
  const plot = document.createElement("div");
  plot.className = "plot";
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${chart.title}: ${lines.map((l) => l[0]).join(", ")} over time`);
  caption.append(title, about);
  figure.append(caption, plot);
  place.append(figure);
  const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") } };
  const upper = (u, min, max) => [0, Math.max(1, max * 1.05)];
  const options = {
    width: plot.clientWidth, height: HEIGHT, legend: { live: true },
    scales: { x: { time: false }, y: { range: upper } },
    axes: [{ ...axis, label: "s", labelSize: 18, size: 34, labelFont: "12px system-ui" },
      { ...axis, size: 58, values: (u, splits) => splits.map(shown) }],
    series: [{ label: "s", value: (u, v) => shown(v) }, ...lines.map(lineOptions)],
  };
  return new uPlot(options, [[], ...lines.map(() => [])], plot);
}

function draw(every, { latest, intervals }) {
  const charts = CHARTS.map((chart) => ({ chart, lines: chart.lines(latest) }));
  const names = charts.map(({ lines }) => lines.map((l) => l[0]));
  const key = JSON.stringify([latest.name, names, dark.matches]);
  if (key !== drawn.key) {
    drawn.plots.forEach((plot) => plot.destroy());
    const place = byId("charts");
    place.replaceChildren();
    drawn = { key, plots: charts.map(({ chart, lines }) => make(place, chart, lines)) };
  }
  const times = intervals.map((r) => r.t);
  charts.forEach(({ lines }, i) => {
    const values = lines.map(([, value]) => intervals.map((r) => value(r, every) ?? null));
    drawn.plots[i].setData([times, ...values]);
  });
}

function total(name, value) {
  const pair = document.createElement("div");
  const [dt, dd] = ["dt", "dd"].map((tag) => document.createElement(tag));
  [dt.textContent, dd.textContent] = [name, value];
  pair.append(dt, dd);
  return pair;
}

const hits = (f) => (f.page_accesses ? f.page_hits / f.page_accesses : null);
const mean = (f) => (f.responses ? f.response_ns / f.responses / 1e3 : null);

function tell(latest) {
  const { model, figures } = latest;
  byId("about").textContent = `${model.device}, ${model.scheme} with ${model.cache}`;
  byId("totals").replaceChildren(
    total("requests", shown(figures.requests)),
    total("page hit %", shown(percent(hits(figures)))),
    total("mean us", shown(mean(figures))),
    total("flash programs", shown(programs(figures))),
    total("erases", shown(figures.erases)),
    total("simulated s", shown(latest.simulated_ns / 1e9)),
    total("power cuts", shown(latest.power_cuts)),
    total("late replies", `${shown(latest.replies_behind)} of ${shown(latest.replies)}`),
  );
  byId("watching").hidden = latest.shadows.length === 0;
  const rows = [latest, ...latest.shadows].filter((d) => d.model && d.figures);
  const complete = rows.filter((d) => !d.lost_requests);
  const best = (of, pick) => pick(...complete.map((d) => of(d.figures)).filter((v) => v !== null));
  const [mostHits, leastMean] = [best(hits, Math.max), best(mean, Math.min)];
  byId("shadows").tBodies[0].replaceChildren(...rows.map((d) => {
    const f = d.figures, row = document.createElement("tr");
    const cells = [d.model.device, d.model.scheme, d.model.cache, shown(percent(hits(f))), shown(mean(f)),
      shown(programs(f)), shown(f.erases), d.lost_requests ? `${d.lost_requests}: incomplete` : "0"];
    row.append(...cells.map((text) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    }));
    const whole = !d.lost_requests;
    row.cells[3].classList.toggle("best", whole && hits(f) === mostHits);
    row.cells[4].classList.toggle("best", whole && mean(f) === leastMean);
    return row;
  }));
}

function choose(exports) {
  const select = byId("export");
  const names = exports.map((e) => e.latest.name);
  if ([...select.options].map((o) => o.value).join("\n") !== names.join("\n") || select.options.length !== names.length) {
    select.replaceChildren(...names.map((name) => new Option(name || "(no name)", name)));
  }
  byId("choice").hidden = names.length < 2;
  return exports[Math.max(0, select.selectedIndex)];
}

let seen = null;

function show() {
  if (!seen || !seen.exports.length) return;
  const chosen = choose(seen.exports);
  tell(chosen.latest);
  draw(seen.every_s, chosen);
}

async function ask() {
  const state = byId("state");
  try {
    const reply = await fetch("stats");
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    seen = await reply.json();
    show();
    state.className = "";
    state.textContent = "live";
  } catch (error) {
    state.className = "lost";
    state.textContent = `the server does not answer (${error.message}); these are its last figures`;
  }
  setTimeout(ask, (seen?.every_s ?? 1) * 1000);
}

addEventListener("resize", () => drawn.plots.forEach((plot) => {
  plot.setSize({ width: plot.root.parentElement.clientWidth, height: HEIGHT });
}));
dark.addEventListener("change", show);
byId("export").addEventListener("change", show);
ask();
