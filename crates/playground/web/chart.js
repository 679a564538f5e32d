// Charts as SVG. A chart is drawn with the colours of a theme, so a saved picture does not depend on the page.

const NS = 'http://www.w3.org/2000/svg';

/** The colours of `crates/report/src/style.rs`: a scheme at the same place looks the same in a report. */
export const THEMES = {
  light: {
    ground: '#ffffff', ink: '#1d2530', muted: '#56616f', grid: '#dfe4ea', bound: '#404040',
    series: ['#0c95ff', '#a93106', '#0f6a72', '#880dcb', '#fb5f2b', '#16287b', '#a78a9c', '#5c1b22'],
  },
  dark: {
    ground: '#171c23', ink: '#e8edf3', muted: '#a3b0be', grid: '#2f3843', bound: '#d0d0d0',
    series: ['#4351ff', '#ed8601', '#18be9b', '#bf8cff', '#c92710', '#66efff', '#9c5d9b', '#d8df6e'],
  },
};

/** The colour of a scheme; a bound, which is no contestant, has that of the text. */
export const colourOf = (theme, style) => (style == null ? theme.bound : theme.series[style % theme.series.length]);

const FONT = 'system-ui, -apple-system, "Segoe UI", sans-serif';
const MARKS = [
  (r) => `M${-r},0a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`,
  (r) => `M${-r},${-r}H${r}V${r}H${-r}Z`,
  (r) => `M0,${-1.25 * r}L${1.2 * r},${0.9 * r}H${-1.2 * r}Z`,
  (r) => `M0,${-1.35 * r}L${1.35 * r},0L0,${1.35 * r}L${-1.35 * r},0Z`,
  (r) => `M0,${1.25 * r}L${1.2 * r},${-0.9 * r}H${-1.2 * r}Z`,
];
export const markPath = (i, r = 4) => MARKS[(i ?? 0) % MARKS.length](r);

function node(name, attributes, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) if (value != null) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const label = (x, y, content, attributes) => node('text', { x, y, ...attributes }, content);

/** Below this width text is larger, and names stand above bars or in the legend alone. */
const NARROW = 560;

function frame({ width, height, theme, title }) {
  const svg = node('svg', {
    xmlns: NS, viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': title,
    'font-family': FONT, 'font-size': width < NARROW ? 13 : 12, fill: theme.ink,
  });
  svg.append(node('rect', { width, height, fill: theme.ground }));
  return svg;
}

/** Steps of 1, 2, or 5 times a power of ten, or of a power of two, over a range that begins at 0 or below its least value. */
function linearTicks(least, most, about, binary) {
  const raw = (most - least) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = binary ? 2 ** Math.ceil(Math.log2(raw)) : [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const ticks = [];
  for (let at = Math.floor(least / step); at * step < most + step * 0.999; at++) ticks.push(at * step);
  return ticks;
}

function logTicks(least, most) {
  const ticks = [];
  const first = Math.floor(Math.log10(least));
  for (let e = first; e <= Math.max(Math.ceil(Math.log10(most)), first + 1); e++) ticks.push(10 ** e);
  return ticks;
}

/** Keeps labels of line ends apart: each is moved down as far as the one above needs. */
function spread(labels, gap, top, bottom) {
  labels.sort((a, b) => a.y - b.y);
  let last = top - gap;
  for (const one of labels) last = one.y = Math.max(one.y, last + gap);
  let over = bottom;
  for (const one of [...labels].reverse()) over = (one.y = Math.min(one.y, over)) - gap;
}

/**
 * Lines over named positions, such as cache sizes.
 * `series`: [{ name, style, dashed, values: [number|null per position] }]
 */
export function lineChart({ width, height = 340, theme, title, positions, series, yTitle, xTitle, show, log = false, binary = false }) {
  const narrow = width < NARROW;
  const longest = Math.max(0, ...series.map((one) => one.name.length));
  const right = narrow ? 14 : Math.min(210, 40 + 6.6 * longest);
  const box = { left: 58, top: 26, right: width - right, bottom: height - 46 };
  const svg = frame({ width, height, theme, title });
  const all = series.flatMap((one) => one.values).filter((v) => v != null && (!log || v > 0));
  const most = all.length ? Math.max(...all) : 1;
  const least = all.length ? Math.min(...all) : 1;
  // Curves that lie close together are told apart when the axis begins near them.
  const from = log ? least : least > 0.5 * most ? least - 0.15 * (most - least || most) : 0;
  const ticks = log ? logTicks(least, most) : linearTicks(Math.max(0, from), most || 1, 5, binary);
  const [low, high] = [ticks[0], ticks[ticks.length - 1]];
  const scale = (v) => (log ? Math.log10(v / low) / Math.log10(high / low) : (v - low) / (high - low));
  const y = (v) => box.bottom - scale(v) * (box.bottom - box.top);
  const step = positions.length > 1 ? (box.right - box.left - 24) / (positions.length - 1) : 0;
  const x = (i) => (positions.length > 1 ? box.left + 12 + i * step : (box.left + box.right) / 2);
  for (const tick of ticks) {
    svg.append(node('line', { x1: box.left, x2: box.right, y1: y(tick), y2: y(tick), stroke: theme.grid }));
    svg.append(label(box.left - 8, y(tick) + 4, show(tick), { 'text-anchor': 'end', fill: theme.muted }));
  }
  const every = Math.ceil((positions.length * 54) / (box.right - box.left));
  positions.forEach((name, i) => {
    if (i % every === 0 || i === positions.length - 1 && (i % every) * step > 60) {
      svg.append(label(x(i), box.bottom + 18, name, { 'text-anchor': 'middle', fill: theme.muted }));
    }
  });
  svg.append(label(box.left - 48, 15, yTitle, { fill: theme.muted }));
  svg.append(label((box.left + box.right) / 2, height - 8, xTitle, { 'text-anchor': 'middle', fill: theme.muted }));
  const ends = [];
  for (const one of series) {
    const colour = colourOf(theme, one.style);
    const points = one.values.map((v, i) => (v == null || (log && v <= 0) ? null : [x(i), y(v)]));
    const there = points.filter(Boolean);
    if (there.length === 0) continue;
    svg.append(node('path', {
      d: there.map(([px, py], i) => `${i ? 'L' : 'M'}${px.toFixed(1)},${py.toFixed(1)}`).join(''),
      fill: 'none', stroke: colour, 'stroke-width': 2, 'stroke-dasharray': one.dashed ? '6 4' : null,
      'stroke-linejoin': 'round', opacity: one.preview ? 0.45 : 1,
    }));
    for (const [px, py] of there) {
      svg.append(node('path', {
        d: markPath(one.style), transform: `translate(${px.toFixed(1)},${py.toFixed(1)})`,
        fill: theme.ground, stroke: colour, 'stroke-width': 2, opacity: one.preview ? 0.45 : 1,
      }));
    }
    ends.push({ name: one.name, style: one.style, colour, y: there[there.length - 1][1] + 4 });
  }
  if (!narrow) {
    spread(ends, 15, box.top + 4, box.bottom + 4);
    for (const { name, style, colour, y: at } of ends) {
      svg.append(node('path', {
        d: markPath(style), transform: `translate(${box.right + 16},${at - 4})`, fill: 'none', stroke: colour, 'stroke-width': 2,
      }));
      svg.append(label(box.right + 26, at, name, { fill: theme.ink }));
    }
  }
  // Where a pointer is, for the figures beside it.
  svg.positionAt = (px) => {
    const at = positions.map((_, i) => Math.abs(x(i) - px));
    return at.indexOf(Math.min(...at));
  };
  svg.markAt = (i) => {
    svg.querySelector('.cross')?.remove();
    if (i == null) return;
    svg.insertBefore(node('line', {
      class: 'cross', x1: x(i), x2: x(i), y1: box.top, y2: box.bottom, stroke: theme.muted, 'stroke-dasharray': '3 3',
    }), svg.children[1]);
  };
  return svg;
}

/**
 * Horizontal bars, each of parts that follow each other.
 * `rows`: [{ name, style, parts: [number], note }], `parts`: names of the parts.
 */
export function barChart({ width, theme, title, rows, parts, xTitle }) {
  const [bar, gap, top] = [22, 12, parts.length > 1 ? 30 : 10];
  const height = top + rows.length * (bar + gap) + 26;
  const narrow = width < NARROW;
  const longest = Math.max(0, ...rows.map((row) => row.name.length));
  const left = narrow ? 10 : Math.min(190, 16 + 6.8 * longest);
  const lift = narrow ? 15 : 0;
  const svg = frame({ width, height: height + lift * rows.length, theme, title });
  const sum = (row) => row.parts.reduce((a, b) => a + b, 0);
  const noteWidth = Math.max(0, ...rows.map((row) => row.note.length)) * (narrow ? 7.2 : 6.6) + 10;
  const most = Math.max(...rows.map(sum), 0) || 1;
  const scale = (width - left - noteWidth - 12) / most;
  rows.forEach((row, i) => {
    const y = top + i * (bar + gap + lift) + lift;
    const colour = colourOf(theme, row.style);
    const name = narrow ? [left, y - 4, 'start'] : [left - 8, y + 15, 'end'];
    svg.append(label(name[0], name[1], row.name, { 'text-anchor': name[2] }));
    let x = left;
    row.parts.forEach((part, at) => {
      svg.append(node('rect', {
        x: x.toFixed(1), y, width: (part * scale).toFixed(1), height: bar,
        fill: colour, opacity: [1, 0.5, 0.25][at],
      }));
      x += part * scale;
    });
    svg.append(label(x + 8, y + 15, row.note, { fill: theme.ink }));
  });
  if (parts.length > 1) {
    let x = left;
    parts.forEach((part, at) => {
      svg.append(node('rect', { x, y: 6, width: 12, height: 12, fill: theme.ink, opacity: [1, 0.5, 0.25][at] }));
      svg.append(label(x + 18, 16, part, { fill: theme.muted }));
      x += 36 + 6.8 * part.length;
    });
  }
  svg.append(label(left, height + lift * rows.length - 8, xTitle, { fill: theme.muted }));
  return svg;
}

/** Offers `blob` as a file. */
export function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export const svgText = (svg) => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;

/** The picture in pixels, three to a unit. */
export async function pngOf(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = 3 * svg.getAttribute('width');
  canvas.height = 3 * svg.getAttribute('height');
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}
