// How a chart of the report becomes an option of Apache ECharts. A chart and its panels are what
// `report/chart.rs` declares; `view` is what the reader chose: panel, logarithmic values, hidden series.
"use strict";

const report = JSON.parse(document.getElementById("report-data").textContent);

/** At most `digits` digits, none of them a zero at the end. */
function digits(value, digits) {
  return value.toLocaleString("en-US", { maximumSignificantDigits: digits, useGrouping: true });
}

const TIMES = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
const COUNTS = [["G", 1e9], ["M", 1e6], ["k", 1e3]];

/** `value` in the unit of `most`, so that all marks of an axis have the same. */
function time(value, n, most = value) {
  const [name, size] = TIMES.find(([, size]) => Math.abs(most) >= size) || TIMES[3];
  return `${digits(value / size, n)} ${name}`;
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024;
  return digits(value, 4) + units[unit];
}

/** The same of a count. Below 10,000 all digits fit. */
function count(value, n, most = value) {
  if (Math.abs(most) < 1e4) return digits(value, n);
  const [name, size] = COUNTS.find(([, size]) => Math.abs(most) >= size);
  return `${digits(value / size, n)} ${name}`;
}

/** Short on axes, exact where the reader points at. */
const shown = {
  percent: { tick: (v) => `${digits(100 * v, 3)} %`, exact: (v) => `${digits(100 * v, 6)} %` },
  ns: { tick: (v, most) => time(v, 3, most), exact: (v) => time(v, 6) },
  bytes: { tick: bytes, exact: bytes },
  count: { tick: (v, most) => count(v, 3, most), exact: (v) => digits(v, 15) },
  ratio: { tick: (v) => digits(v, 3), exact: (v) => digits(v, 6) },
};

/** The share of faster requests, as people call it: p99.9. */
function percentile(slower) {
  return `p${digits(100 * (1 - slower), 8)}`;
}

/** Colours of the page, and how large the text of its charts is: a little larger on a phone. */
function theme(width) {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    dark: of("--dark") === "1", font: width < 560 ? 13 : 12,
    text: of("--text"), soft: of("--soft"), line: of("--line"), surface: of("--surface"),
  };
}

/** The marks by their names in the style. */
const marks = {
  circle: "circle", triangle: "triangle", square: "rect", diamond: "diamond", down: "path://M0,0L10,0L5,9Z",
};

/** Colour, line and mark of a series, by the rules that pictures have too (`series_style.rs`). */
function look(series, dark) {
  const style = report.style, mode = dark ? "dark" : "light";
  if (series.look === null) {
    return { color: style.bound[mode], dashes: style.bound.dashes, mark: "none", round: 0, bound: true };
  }
  const colours = style[mode], round = Math.floor(series.look / colours.length);
  const dashes = style.dashes[round % style.dashes.length];
  return {
    color: colours[series.look % colours.length],
    dashes: dashes[1] > 0 ? dashes : "solid",
    mark: marks[style.marks[series.look % style.marks.length]],
    round,
  };
}

/** Beyond the colours there are, bars are hatched. */
function hatching(l, t) {
  const color = t.surface;
  if (l.bound) return { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: -Math.PI / 4, color };
  return [
    undefined,
    { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: Math.PI / 4, color },
    { symbol: "circle", dashArrayX: [[8, 8], [0, 8, 8, 0]], dashArrayY: [6, 0], symbolSize: 0.8, color },
    { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [3, 3], rotation: 0, color },
  ][l.round % 4];
}

/** Ends and steps of an axis of bytes: a power of two, so that its marks are whole units. */
function binarySteps(unit, values, view, zero = true) {
  const all = values.filter((v) => v !== null && v !== undefined);
  const most = Math.max(...all, ...(zero ? [0] : [])), least = Math.min(...all, ...(zero ? [0] : []));
  if (unit !== "bytes" || !(most > least)) return {};
  const step = 2 ** Math.ceil(Math.log2((most - least) / (view.width < 560 ? 3 : 5)));
  return { interval: step, min: Math.floor(least / step) * step, max: Math.ceil(most / step) * step };
}

/** The values of a panel, or their sums where they lie on each other. */
function valuesOf(panel, stacked) {
  if (!stacked) return panel.series.flatMap((s) => s.y);
  const places = panel.series.length ? panel.series[0].y : [];
  return places.map((_, i) => panel.series.reduce((sum, s) => sum + (s.y[i] || 0), 0));
}

/** An axis of values from 0 on, or a logarithmic one. */
function valueAxis(chart, panel, view) {
  const bytes = chart.y.unit === "bytes";
  if (view.log) return { type: "log", logBase: bytes ? 2 : 10 };
  return { type: "value", ...binarySteps(chart.y.unit, valuesOf(panel, ["stack", "areas"].includes(chart.kind)), view) };
}

/** An axis. On a linear one, all marks have the unit of the largest of `values`. */
function axisOf(t, axis, more, values = []) {
  const all = values.filter((v) => v !== null && v !== undefined).map(Math.abs);
  const most = more.type === "value" && all.length ? Math.max(...all) : undefined;
  return {
    name: axis.name, nameLocation: "middle", nameGap: 30,
    nameTextStyle: { color: t.soft, fontSize: t.font }, axisLine: { show: true, lineStyle: { color: t.line } },
    axisTick: { lineStyle: { color: t.line } }, splitLine: { lineStyle: { color: t.line, opacity: 0.5 } },
    minorSplitLine: { show: false }, ...more,
    axisLabel: { color: t.soft, fontSize: t.font, hideOverlap: true, formatter: (v) => shown[axis.unit].tick(v, most), ...more.axisLabel },
  };
}

const escape = (text) => echarts.format.encodeHTML(String(text));

/** What is shown where the reader points at: exact values, largest first. */
function tooltip(t, head, format) {
  return {
    trigger: "axis", confine: true, backgroundColor: t.surface, borderColor: t.line,
    textStyle: { color: t.text, fontSize: 12 }, axisPointer: { type: "line", lineStyle: { color: t.soft } },
    formatter(items) {
      const all = items.filter((item) => item.seriesName && valueOf(item) !== null);
      all.sort((a, b) => valueOf(b) - valueOf(a));
      const rows = all.map((item) => `<tr><td>${item.marker}${escape(item.seriesName)}</td>` +
        `<td style="text-align:right;padding-left:12px">${escape(format(valueOf(item), item))}</td></tr>`);
      return all.length ? `<b>${escape(head(all[0]))}</b><table>${rows.join("")}</table>` : "";
    },
  };
}

function valueOf(item) {
  const value = Array.isArray(item.value) ? item.value[item.seriesType === "line" ? 1 : 0] : item.value;
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** A value as exactly as it is known, with its range if it has one. */
function exactly(chart, series, i) {
  const exact = shown[chart.y.unit].exact, range = (series.range || [])[i];
  return exact(series.y[i]) + (range ? ` (${exact(range[0])} to ${exact(range[1])})` : "");
}

/** The same of what is pointed at. */
const pointedAt = (chart, panel) => (_, item) =>
  exactly(chart, panel.series.find((s) => s.name === item.seriesName), item.dataIndex);

function base(chart, view, t) {
  const legend = { show: false, selected: {} };
  view.hidden.forEach((name) => { legend.selected[name] = false; });
  return {
    animation: false, backgroundColor: "transparent", textStyle: { fontFamily: "system-ui, sans-serif" }, legend,
    grid: { left: 4, right: 16, top: 16, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" },
    aria: { enabled: false },
  };
}

/** Values that a logarithmic axis can have. */
const positive = (view) => (value) => (view.log && !(value > 0) ? null : value);

function lineSeries(series, points, t, sparse) {
  const l = look(series, t.dark);
  const every = Math.ceil(points.length / 8), shift = series.look === null ? 0 : series.look * 3;
  return {
    type: "line", name: series.name, data: points, connectNulls: false,
    symbol: l.mark, showSymbol: true, itemStyle: { color: l.color },
    // Over time a mark at every point would hide the line.
    symbolSize: sparse ? (_, p) => ((p.dataIndex + shift) % every === 0 ? 7 : 0) : 7,
    lineStyle: { color: l.color, width: 2, type: l.dashes }, emphasis: { focus: "series" },
  };
}

/** The range of values as a band: nothing up to its least, and what is between on top of that. */
function band(series, xs, t) {
  const range = series.range || [];
  if (!range.length) return [];
  const color = look(series, t.dark).color, stack = `range of ${series.name}`;
  const part = (of) => ({
    type: "line", stack, stackStrategy: "all", silent: true, symbol: "none", lineStyle: { opacity: 0 },
    tooltip: { show: false }, data: xs.map((x, i) => [x, range[i] ? of(range[i]) : null]),
  });
  return [part((r) => r[0]), { ...part((r) => r[1] - r[0]), areaStyle: { color, opacity: 0.2 } }];
}

function lines(chart, panel, view, t) {
  const sizes = chart.x.unit === "bytes", areas = chart.kind === "areas";
  const xs = sizes ? panel.x.map(Math.log2) : panel.x;
  const pad = sizes && xs.length > 1 ? (xs[xs.length - 1] - xs[0]) * 0.03 : 0;
  const label = sizes ? { customValues: xs, formatter: (x) => panel.labels[nearest(xs, x)] || "" } : {};
  const series = panel.series.flatMap((s) => {
    const points = s.y.map((y, i) => [xs[i], positive(view)(y)]);
    const drawn = lineSeries(s, points, t, points.length > 40);
    const area = { stack: "all", areaStyle: { color: look(s, t.dark).color, opacity: 0.35 }, symbol: "none" };
    return [...(areas || view.log || view.hidden.has(s.name) ? [] : band(s, xs, t)), areas ? { ...drawn, ...area } : drawn];
  });
  return {
    ...base(chart, view, t), series,
    tooltip: tooltip(t, (item) => {
      const x = panel.x[nearest(xs, item.axisValue)];
      return sizes ? panel.labels[nearest(xs, item.axisValue)] : `${chart.x.name} ${shown[chart.x.unit].exact(x)}`;
    }, pointedAt(chart, panel)),
    xAxis: axisOf(t, chart.x, {
      type: "value", min: sizes ? Math.min(...xs) - pad : 0, max: Math.max(...xs) + pad, splitLine: { show: false },
      axisTick: sizes ? { customValues: xs, lineStyle: { color: t.line } } : {}, axisLabel: label,
    }, panel.x),
    yAxis: axisOf(
      t, { ...chart.y, name: "" }, { ...(view.log ? {} : { min: 0 }), ...valueAxis(chart, panel, view) }, valuesOf(panel, areas),
    ),
  };
}

function nearest(values, x) {
  return values.reduce((best, v, i) => (Math.abs(v - x) < Math.abs(values[best] - x) ? i : best), 0);
}

/** Time to the right, percentiles upward, both logarithmic. */
function tail(chart, panel, view, t) {
  const series = panel.series.map((s) => {
    const points = s.y.map((y, i) => [y === null ? null : Math.max(y, 1), panel.x[i]]);
    return lineSeries(s, points.filter((p) => p[0] !== null), t, true);
  });
  const percentiles = { ...chart.x, name: "" };
  return {
    ...base(chart, view, t), series,
    tooltip: {
      ...tooltip(t, () => "", String), trigger: "item",
      formatter: (item) => `<b>${escape(item.seriesName)}</b><br>${escape(percentile(item.value[1]))}: ` +
        escape(shown.ns.exact(item.value[0])),
    },
    xAxis: axisOf(t, chart.y, { type: "log", position: "bottom", axisLine: { onZero: false } }),
    yAxis: axisOf(t, percentiles, { type: "log", inverse: true, max: 1, axisLabel: { formatter: percentile } }),
  };
}

/** The points of a scatter: one of each series. */
function pointsOf(panel) {
  const points = panel.series.map((series) => {
    const i = series.y.findIndex((y) => y !== null);
    return { series, x: panel.x[i], y: series.y[i] };
  });
  return points.filter((p) => p.y !== undefined);
}

/** Points that no other beats in both; what knows the future is no contestant. */
function frontOf(points) {
  const all = points.filter((p) => p.series.look !== null).sort((a, b) => a.x - b.x || a.y - b.y);
  let least = Infinity;
  return all.filter((p) => {
    const is = p.y < least;
    least = Math.min(least, p.y);
    return is;
  });
}

/** A point for each run, and a line through the best ones. */
function scatter(chart, panel, view, t) {
  const points = pointsOf(panel), xs = points.map((p) => p.x), front = frontOf(points.filter((p) => !view.hidden.has(p.series.name)));
  const series = points.map(({ series: s, x, y }) => {
    const l = look(s, t.dark), best = front.some((p) => p.series === s);
    return {
      type: "scatter", name: s.name, data: [[x, y]], symbol: l.bound ? "emptyCircle" : l.mark, symbolSize: 11,
      itemStyle: { color: l.color }, emphasis: { focus: "series" }, z: best ? 4 : 3,
      label: { show: best, formatter: s.name, position: "top", align: "left", color: t.text, fontSize: t.font, textBorderColor: t.surface, textBorderWidth: 3 },
    };
  });
  series.push({
    type: "line", data: front.map((p) => [p.x, p.y]), silent: true, symbol: "none", tooltip: { show: false },
    lineStyle: { color: t.soft, width: 1.5, type: "dashed" },
  });
  const exact = (item) => `<b>${escape(item.seriesName)}</b><br>${escape(chart.x.name)}: ` +
    `${escape(shown[chart.x.unit].exact(item.value[0]))}<br>${escape(chart.y.name)}: ` +
    escape(shown[chart.y.unit].exact(item.value[1]));
  // Room for the names to the right of the last points.
  const room = { ...base(chart, view, t), grid: { left: 4, right: view.width < 560 ? 56 : 90, top: 24, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" } };
  return {
    ...room, series, tooltip: { ...tooltip(t, () => "", String), trigger: "item", formatter: exact },
    xAxis: axisOf(t, chart.x, { type: "value", scale: true, ...binarySteps(chart.x.unit, xs, view, false) }, xs),
    yAxis: axisOf(t, { ...chart.y, name: "" }, { type: "value", scale: true }, points.map((p) => p.y)),
  };
}

/** Bars lie where there are many of them, or little width: names stay readable. */
const lies = (bars, view) => view.width < 560 || bars * 14 > view.width;

/** The value of a bar stands at its end. */
function barOf(value, lying) {
  const ends = lying ? ["left", "right"] : ["bottom", "top"];
  return value === null ? null : { value, label: { position: ends[value < 0 ? 0 : 1] } };
}

function barOption(chart, panel, view, t) {
  const stack = chart.kind === "stack", beside = chart.kind === "beside";
  const bars = panel.labels.length * (stack ? 1 : panel.series.length);
  const lying = stack || beside || lies(bars, view);
  const limit = limitOf(panel);
  const series = panel.series.map((s) => {
    const l = look(s, t.dark);
    return {
      type: "bar", name: s.name, data: s.y.map(positive(view)).map((v) => barOf(v, lying)), stack: stack ? "all" : undefined,
      barMaxWidth: bars > 14 ? 26 : 70, barGap: "8%", barCategoryGap: "22%",
      itemStyle: { color: l.color, decal: hatching(l, t), borderColor: t.surface, borderWidth: stack ? 1 : 0 },
      emphasis: { focus: "series" }, label: valueLabel(chart, panel, bars * 46 < view.width || lying, t),
      markLine: ranges(s, lying, limit, t),
    };
  });
  if (chart.baseline !== undefined && series.length) {
    const at = { [lying ? "xAxis" : "yAxis"]: chart.baseline };
    series.push({
      type: "line", data: [], silent: true,
      markLine: { silent: true, symbol: "none", label: { show: false }, data: [at],
        lineStyle: { color: t.text, type: "solid", width: 1, opacity: 0.7 } },
    });
  }
  const names = axisOf(t, { ...chart.x, name: lying ? "" : chart.x.name, unit: "ratio" }, {
    type: "category", data: panel.labels, inverse: lying, splitLine: { show: false },
    axisLabel: {
      formatter: (text) => text, interval: 0, hideOverlap: false, lineHeight: 14,
      width: lying ? Math.max(70, Math.min(260, view.width * 0.3)) : undefined, overflow: lying ? "break" : "none",
    },
  });
  const values = axisOf(t, lying ? chart.y : { ...chart.y, name: "" }, {
    ...valueAxis(chart, panel, view), ...(limit.used && !view.log ? { min: limit.min, max: limit.max } : {}),
    boundaryGap: beside ? (view.width < 560 ? ["25%", "25%"] : ["9%", "9%"]) : undefined,
  }, valuesOf(panel, stack));
  const exact = tooltip(t, (item) => item.name, pointedAt(chart, panel));
  return {
    ...base(chart, view, t), series, tooltip: { ...exact, axisPointer: { type: "shadow" } },
    xAxis: lying ? values : names, yAxis: lying ? names : values,
  };
}

/** A few bars have room for their values. */
function valueLabel(chart, panel, room, t) {
  return {
    show: room && chart.kind !== "stack" && panel.labels.length * panel.series.length <= 400, color: t.soft, fontSize: t.font - 1,
    formatter: (item) => (item.value === null ? "" : shown[chart.y.unit].tick(item.value)),
  };
}

/** Ranges have room on the axis, but one outlier is not to hide all bars. */
function limitOf(panel) {
  const values = panel.series.flatMap((s) => s.y).filter((v) => v !== null);
  const ends = panel.series.flatMap((s) => s.range || []).filter(Boolean).flat();
  const most = 3 * Math.max(...values.map(Math.abs), 0);
  const clip = (v) => Math.max(-most, Math.min(most, v));
  const all = ends.map(clip);
  const around = (of, end) => (v) => of(v[end], ...all);
  return { used: all.length > 0, clip, min: around(Math.min, "min"), max: around(Math.max, "max") };
}

function ranges(series, lying, limit, t) {
  const place = (value, i) => [limit.clip(value), i];
  const at = (value, i) => ({ coord: lying ? place(value, i) : place(value, i).reverse() });
  const lines = (series.range || []).map((r, i) => r && [at(r[0], i), at(r[1], i)]);
  const data = lines.filter(Boolean);
  return data.length === 0 ? undefined : {
    silent: true, symbol: ["none", "none"], label: { show: false }, data,
    lineStyle: { color: t.text, width: 1.5, type: "solid" },
  };
}

/** Pixels that a chart is high. */
function heightOf(chart, view) {
  const panel = chart.panels[view.panel], rows = panel.labels.length;
  const series = panel.series.filter((s) => !view.hidden.has(s.name)).length;
  if (chart.kind === "stack") return 70 + rows * 30;
  const bars = rows * series;
  if (chart.kind === "beside") return 70 + rows * 52;
  if (chart.kind === "bars" && lies(bars, view)) return 70 + bars * 15 + rows * 10;
  return 300;
}

function optionOf(chart, view) {
  const panel = chart.panels[view.panel], t = theme(view.width);
  if (chart.kind === "tail") return tail(chart, panel, view, t);
  if (chart.kind === "scatter") return scatter(chart, panel, view, t);
  if (chart.kind === "lines" || chart.kind === "areas") return lines(chart, panel, view, t);
  return barOption(chart, panel, view, t);
}
