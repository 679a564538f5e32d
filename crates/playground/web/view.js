// The charts and tables of the runs that have a record.

import { THEMES, barChart, colourOf, lineChart, markPath, pngOf, save, svgText } from './chart.js';
import { answer } from './answer.js';
import { against, bytes, element, number, percent, time } from './format.js';
import { baseOf, bestValue, flashHost, flashParts, middleOf, total } from './results.js';

const $ = (id) => document.getElementById(id);
const dark = matchMedia('(prefers-color-scheme: dark)');

/** What the first chart can show. */
export const MEASURES = {
  page: { name: 'hits of all pages', value: (r) => r.ratios.page_hit_ratio, show: percent, axis: 'hits per page access' },
  read: { name: 'hits of read pages', value: (r) => r.ratios.read_page_hit_ratio, show: percent, axis: 'hits per read page' },
  write: { name: 'hits of written pages', value: (r) => r.ratios.write_page_hit_ratio, show: percent, axis: 'hits per written page' },
  flash: { name: 'data written to flash', value: flashHost, show: (n) => bytes(n), axis: 'written to flash for the host, pages left included' },
};

const PERCENTILES = [['p50', '50 %'], ['p95', '95 %'], ['p99', '99 %'], ['p999', '99.9 %'], ['p9999', '99.99 %'], ['max', 'longest']];

export class View {
  /** `ask` gives the sentences of the engine about groups of runs. */
  constructor(aboutOf, ask) {
    Object.assign(this, { aboutOf, ask, asked: 0 });
    this.charts = {};
    for (const [id, measure] of Object.entries(MEASURES)) $('measure').append(new Option(measure.name, id));
    for (const figure of document.querySelectorAll('figure')) this.addSaves(figure);
    for (const id of ['measure', 'requests']) $(id).addEventListener('change', () => this.draw());
    $('at').addEventListener('change', ({ target }) => {
      this.chosen = Number(target.value);
      this.draw();
    });
    dark.addEventListener('change', () => this.draw());
    new ResizeObserver(() => this.draw()).observe($('result'));
    const plot = $('hits').querySelector('.plot');
    plot.addEventListener('pointermove', (event) => this.point(event));
    plot.addEventListener('pointerleave', () => this.point(null));
  }

  /** Number of a scheme among those that are no bounds. */
  styleOf(scheme) {
    const { schemes, bounds } = this.results;
    return bounds.has(scheme) ? null : schemes.filter((one) => !bounds.has(one)).indexOf(scheme);
  }

  show(results, preview) {
    this.results = results;
    this.preview = preview;
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.due);
    this.due = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    const { results } = this;
    const any = results?.runs.some((run) => results.recordOf(run));
    $('result').hidden = !any;
    $('hits').hidden = !any;
    $('of-device').hidden = !any || !results.device;
    $('answer').hidden = !any;
    $('for-size').hidden = !any;
    if (!any) return $('tables').replaceChildren();
    this.chooseSize();
    this.plot('hits', (frame) => this.hits(frame));
    if (results.device) {
      this.plot('times', (frame) => this.times(frame));
      this.plot('flash', (frame) => this.flash(frame));
    }
    this.legends();
    this.answer();
    $('tables').replaceChildren(...this.tables());
  }

  /** The size that was chosen, or else the one in the middle. */
  chooseSize() {
    const { sizes } = this.results;
    this.at = sizes.includes(this.chosen) ? this.chosen : middleOf(sizes);
    $('at').replaceChildren(...sizes.map((size) => new Option(bytes(size), size)));
    $('at').value = this.at;
  }

  async answer() {
    const { results, at, preview } = this;
    const number_ = ++this.asked;
    const answers = await this.ask(results.groups());
    if (number_ !== this.asked) return;
    const lines = answer(results, at, answers, this.aboutOf, preview);
    const text = lines.map((line) => line.textContent).join(' ');
    if ($('answer').textContent.trim() !== text) $('answer').replaceChildren(...lines.flatMap((line) => [line, ' ']));
  }

  plot(id, make) {
    const place = $(id).querySelector('.plot');
    const width = Math.max(280, Math.floor(place.clientWidth || $('result').clientWidth - 36));
    const svg = make({ width, theme: THEMES[dark.matches ? 'dark' : 'light'] });
    place.replaceChildren(svg);
    this.charts[id] = { svg, make };
  }

  hits(frame) {
    const { results } = this;
    const measure = MEASURES[$('measure').value];
    const series = results.schemes.map((scheme) => ({
      name: scheme,
      style: this.styleOf(scheme),
      dashed: results.bounds.has(scheme),
      preview: this.preview,
      values: results.sizes.map((size) => {
        const record = results.at(scheme, size);
        return record ? measure.value(record) : null;
      }),
    }));
    const first = results.runs.map((run) => results.recordOf(run)).find(Boolean);
    return lineChart({
      ...frame, series, positions: results.sizes.map((size) => bytes(size)), yTitle: measure.axis, xTitle: 'cache size',
      binary: measure === MEASURES.flash,
      show: measure.show === percent ? (v) => `${+(100 * v).toPrecision(3)} %` : measure.show,
      title: `${measure.name} over the cache size, ${first.trace.name}`,
    });
  }

  times(frame) {
    const of = $('requests').value;
    const rows = this.rows();
    const series = rows.map(({ scheme, record }) => ({
      name: scheme, style: this.styleOf(scheme), dashed: this.results.bounds.has(scheme),
      values: PERCENTILES.map(([key]) => record.latency_ns?.[of][key] ?? null),
    }));
    return lineChart({
      ...frame, height: 300, series, log: true, positions: PERCENTILES.map(([, name]) => name),
      show: (ns) => time(ns).replace(/\.0+ /, ' '),
      yTitle: 'response time', xTitle: 'share of requests',
      title: `response times with a cache of ${bytes(this.at)} on ${this.results.device}`,
    });
  }

  flash(frame) {
    const rows = this.rows();
    const base = this.results.at(baseOf(this.results), this.at);
    const parts = ['for the host', 'by garbage collection', 'for the map and padding', 'still in the cache'];
    const used = parts.map((_, i) => i === 0 || rows.some(({ record }) => flashParts(record)[i] > 0));
    return barChart({
      ...frame, xTitle: 'written to flash', parts: parts.filter((_, i) => used[i]),
      title: `data written to flash with a cache of ${bytes(this.at)} on ${this.results.device}`,
      rows: rows.map(({ scheme, record }) => ({
        name: scheme, style: this.styleOf(scheme), parts: flashParts(record).filter((_, i) => used[i]),
        note: base && base !== record ? `${bytes(total(record), 2)} (${against(total(record), total(base))})` : bytes(total(record), 2),
      })),
    });
  }

  rows() {
    const rows = this.results.schemes.map((scheme) => ({ scheme, record: this.results.at(scheme, this.at) }));
    return rows.filter((row) => row.record);
  }

  legends() {
    const theme = THEMES[dark.matches ? 'dark' : 'light'];
    for (const legend of document.querySelectorAll('.legend')) {
      legend.replaceChildren(...this.results.schemes.map((scheme) => {
        const style = this.styleOf(scheme);
        const item = element('span', {});
        item.innerHTML = `<svg width="14" height="12" viewBox="-7 -6 14 12" aria-hidden="true"><path d="${markPath(style)}"
          fill="none" stroke="${colourOf(theme, style)}" stroke-width="2"/></svg>`;
        item.append(this.results.bounds.has(scheme) ? `${scheme} (bound: knows the future)` : scheme);
        return item;
      }));
    }
  }

  tables() {
    const { results } = this;
    const measure = MEASURES[$('measure').value];
    const larger = measure !== MEASURES.flash;
    const winners = results.sizes.map((size) => bestValue(results, size, measure.value, larger, larger));
    const rows = results.schemes.map((scheme) => [scheme, ...results.sizes.map((size, i) => {
      const record = results.at(scheme, size);
      return { text: record ? measure.show(measure.value(record)) : '…', best: record && !results.bounds.has(scheme) && measure.value(record) === winners[i] };
    })]);
    const made = [this.table(`${measure.name} by cache size`, ['scheme', ...results.sizes.map((size) => bytes(size))], rows)];
    if (results.device) made.push(this.deviceTable());
    return made;
  }

  deviceTable() {
    const { results, at } = this;
    const base = results.at(baseOf(results), at);
    const mean = (r) => r.latency_ns?.all.mean;
    const columns = [
      ['mean', mean, time], ['p99', (r) => r.latency_ns?.all.p99, time], ['p99.9', (r) => r.latency_ns?.all.p999, time],
      ['to flash', total, (n) => bytes(n, 2)], ['erases', (r) => r.counts.erases, number], ['write amplification', (r) => r.ratios.waf, (n) => (n == null ? '–' : n.toFixed(2))],
    ];
    const least = columns.map(([, value]) => bestValue(results, at, value, false));
    const rows = this.rows().map(({ scheme, record }) => [scheme,
      ...columns.map(([, value, show], i) => ({
        text: value(record) == null ? '–' : show(value(record)), best: !results.bounds.has(scheme) && value(record) === least[i],
      })),
      { text: base ? against(mean(record), mean(base)) : '–' }, { text: base ? against(total(record), total(base)) : '–' },
    ]);
    const against_ = baseOf(results);
    const head = ['scheme', ...columns.map(([name]) => name), `mean against ${against_}`, `flash against ${against_}`];
    return this.table(`On ${results.device} with a cache of ${bytes(at)}`, head, rows);
  }

  table(caption, head, rows) {
    const row = ([first, ...cells]) => element('tr', {}, element('th', { scope: 'row' }, first),
      ...cells.map((cell) => element('td', { class: cell.best ? 'best' : '' }, cell.text)));
    const heads = element('tr', {}, ...head.map((text) => element('th', { scope: 'col' }, text)));
    const table = element('table', {}, element('caption', {}, caption), element('thead', {}, heads), element('tbody', {}, ...rows.map(row)));
    return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption }, table);
  }

  /** Shows the figures at the size under the pointer. */
  point(event) {
    const { svg } = this.charts.hits ?? {};
    const read = $('hits').querySelector('.read');
    if (!svg) return;
    if (!event) {
      svg.markAt(null);
      read.textContent = '';
      return;
    }
    const place = svg.getBoundingClientRect();
    const i = svg.positionAt(((event.clientX - place.left) * svg.getAttribute('width')) / place.width);
    svg.markAt(i);
    const size = this.results.sizes[i];
    const measure = MEASURES[$('measure').value];
    const figures = this.results.schemes.map((scheme) => [scheme, this.results.at(scheme, size)]);
    const shown = figures.filter(([, record]) => record).map(([scheme, record]) => `${scheme} ${measure.show(measure.value(record))}`);
    read.textContent = `${bytes(size)}: ${shown.join(', ')}`;
  }

  addSaves(figure) {
    const button = (kind, run) => {
      const made = element('button', { type: 'button', 'aria-label': `Save this chart as ${kind}` }, kind);
      made.addEventListener('click', run);
      return made;
    };
    const forPaper = () => this.charts[figure.id].make({ width: 760, theme: THEMES.light });
    const name = `destage-${figure.id}`;
    figure.querySelector('figcaption').append(element('span', { class: 'saves' },
      button('SVG', () => save(new Blob([svgText(forPaper())], { type: 'image/svg+xml' }), `${name}.svg`)),
      button('PNG', async () => save(await pngOf(forPaper()), `${name}.png`))));
  }
}
