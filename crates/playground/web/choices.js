// What is chosen, and which options of `run` that is.

import { readsOf, usualSizes } from './facts.js';

const SCHEMES = ['lru', 'arc', 's3-fifo', 'prober(lru)', 'req-block', 'belady', '2q', 'cflru', 'lirs', 'sieve', 'ecr', 'procache'];
/** How many of them are chosen at first. */
const CHOSEN = 6;

export const state = {
  /** What is generated or read: { sample } or { file }. */
  source: null,
  trace: null,
  schemes: SCHEMES.map((text, i) => ({ text, on: i < CHOSEN })),
  /** Did somebody choose schemes, or is it up to the device? */
  schemesChosen: false,
  sizes: [],
  /** Did somebody choose sizes, or is it up to the trace? */
  sizesChosen: false,
  /** The keys of the run file beside schemes, sizes, and device. */
  keys: {},
  /** Did somebody choose what reads do, or is it up to the trace? */
  readsChosen: false,
  /** Are the choices those of the link, for a trace that is still to come? */
  linked: false,
  device: 'none',
  plan: null,
  warnings: [],
  records: new Map(),
  preview: new Map(),
};

/** All options of the runs, as a run file has them. */
export function allKeys() {
  const chosen = (list) => list.filter((one) => one.on).map((one) => one.text);
  const keys = { ...state.keys, scheme: chosen(state.schemes), cache: chosen(state.sizes) };
  if (state.device !== 'none') keys.device = state.device;
  return keys;
}

/** Chooses what is wanted, and nothing else. */
function choose(known, wanted) {
  for (const one of known) one.on = wanted.includes(one.text);
  for (const text of wanted) if (!known.some((one) => one.text === text)) known.push({ text, on: true });
}

/** The drained versions of schemes that leave the buffer of a drive undrained. */
export const drainedOf = (plan) => [...new Set(plan.runs.map((run) => run.drained).filter(Boolean))];

export const chooseSchemes = (wanted) => choose(state.schemes, wanted);

/** Takes the schemes that suit any device where nobody has chosen. */
export function takeUsualSchemes() {
  if (!state.schemesChosen) chooseSchemes(SCHEMES.slice(0, CHOSEN));
}

/** Takes the options of a run file. */
export function takeKeys(keys) {
  const { scheme, cache, device, trace, ...others } = keys;
  const list = (value) => [value ?? []].flat().map(String);
  if (scheme !== undefined) {
    choose(state.schemes, list(scheme));
    state.schemesChosen = true;
  }
  if (cache !== undefined) {
    choose(state.sizes, list(cache));
    state.sizesChosen = true;
  }
  state.device = device ?? 'none';
  state.keys = others;
  state.readsChosen = true;
}

/** Takes what suits a trace where nobody has chosen. */
export function takeUsual(trace) {
  if (state.sizes.length === 0) state.sizes = usualSizes(trace.footprint_bytes);
  if (!state.readsChosen) state.keys[READS] = readsOf(trace);
}

/** Whether pages that a read missed enter the cache. */
export const READS = 'read-alloc';

/** The options that are about reading, whose keys are `known`; `mapping` stands in the place of all that say the same. */
export function readingKeys(known, mapping) {
  const keys = Object.entries(state.keys).filter(([key]) => known.includes(key));
  if (!mapping) return Object.fromEntries(keys);
  return { ...Object.fromEntries(keys.filter(([key]) => !['format', 'time-unit'].includes(key))), [MAPPING]: mapping };
}

/** Which columns of a table hold what. */
const MAPPING = 'trace-columns';

/** Takes the options about reading, and no others. */
export function takeReading(known, keys) {
  for (const key of known) delete state.keys[key];
  Object.assign(state.keys, keys);
}
