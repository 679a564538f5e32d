// What a trace is like, and which choices suit it.

import { bytes, element, number, shellText, sizeOption } from './format.js';

/** How many sizes are chosen at first. */
const CHOSEN = 6;
const KIB = 1024;
const LARGEST_CACHE = 4 * KIB ** 3;

/** Powers of two around what the trace touches, six of them chosen. */
export function usualSizes(footprint) {
  const largest = Math.min(2 ** Math.ceil(Math.log2(Math.max(footprint, 64 * KIB))), LARGEST_CACHE);
  const sizes = [];
  for (let size = Math.max(64 * KIB, largest / 1024); size <= largest; size *= 2) sizes.push(size);
  const last = Math.max(CHOSEN, sizes.length - 2) - 1;
  return sizes.map((size, i) => ({ text: sizeOption(size), on: i <= last && i > last - CHOSEN }));
}

/** A write buffer suits a trace that mostly writes. All schemes do the same, so that their hits compare. */
export const readsOf = (trace) => (trace.writes < trace.reads ? 'on' : 'off');

/** Texts without repetitions: those of a scheme at several sizes, such as `lru, 4MiB: no`, become one. */
export function together(texts) {
  const groups = new Map();
  for (const text of new Set(texts)) {
    const [, scheme, reason] = /^(.+?), [\d.]+(?:B|[KMGT]iB): (.+)$/s.exec(text) ?? [];
    const key = scheme ? `${scheme}: ${reason}` : text;
    groups.set(key, [...(groups.get(key) ?? []), text]);
  }
  return [...groups].map(([key, all]) => (all.length > 1 ? key.replace(': ', ` at ${all.length} sizes: `) : all[0]));
}

/** The trace at a glance, with the warnings of its reader. */
export function traceFacts(trace) {
  const facts = [
    ['trace', trace.name], ['format', trace.container === 'plain' ? trace.format : `${trace.format}, ${trace.container}`],
    ['requests', number(trace.requests)],
    ['reads', `${number(trace.reads)} (${bytes(trace.read_bytes)})`], ['writes', `${number(trace.writes)} (${bytes(trace.written_bytes)})`],
    ['pages touched', bytes(trace.footprint_bytes)], ['duration', `${number(trace.seconds, trace.seconds < 100 ? 1 : 0)} s`],
  ];
  const list = element('dl', {}, ...facts.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))));
  const warnings = trace.warnings.map((text) => element('li', {}, text));
  return [list, ...(warnings.length ? [element('ul', { class: 'warnings' }, ...warnings)] : [])];
}

/** The commands that repeat the runs over a trace. */
export function commandOf({ file, sample }, trace) {
  const name = file?.name ?? `${sample}.bin`;
  const quoted = shellText(name);
  const made = `destage trace synth ${sample} --requests ${trace.requests} --to destage-bin -o ${name}\n`;
  return sample === 'demo'
    ? '# This sample is the trace of `destage demo`; a trace of your own is run by\ndestage run TRACE --config run.toml'
    : `${file ? '' : made}destage run ${quoted} --config run.toml`;
}
