// The page: what is chosen, which runs that means, and what is shown of them.

import { EngineError, Pool } from './pool.js';
import { MEASURES, Results, View } from './view.js';
import { save } from './chart.js';
import { bytes, element, number, sizeOption } from './format.js';

const $ = (id) => document.getElementById(id);

const SCHEMES = ['lru', 'arc', 'cflru', 'prober(lru)', 'req-block', 'belady', '2q', 's3-fifo', 'lirs', 'sieve', 'ecr', 'procache'];
const CHOSEN = 6;
const KIB = 1024;
const LARGEST_CACHE = 4 * KIB ** 3;
/** From so many bytes on, a look at the first requests is worth its time. */
const LONG_FILE = 24 * KIB ** 2;
const FIRST_REQUESTS = 100_000;

const state = {
  /** What is generated or read: { sample } or { file }. */
  source: null,
  trace: null,
  schemes: SCHEMES.map((text, i) => ({ text, on: i < CHOSEN })),
  sizes: [],
  /** The keys of the run file beside schemes, sizes, and device. */
  keys: {},
  device: 'none',
  plan: null,
  warnings: [],
  records: new Map(),
  preview: new Map(),
};
let pool, desk, catalogue, view, planned = 0, begun = 0, first = true;

/** Shows why something failed, or that nothing did. */
function fault(error) {
  $('fault').hidden = !error;
  $('fault').textContent = error ? `error: ${error.message ?? error}` : '';
  if (error) status('');
}

function status(text, share) {
  $('status').textContent = text;
  $('bar').hidden = share === undefined;
  if (share !== undefined) $('bar').value = share;
}

/** All options of the runs, as a run file has them. */
function allKeys() {
  const chosen = (list) => list.filter((one) => one.on).map((one) => one.text);
  const keys = { ...state.keys, scheme: chosen(state.schemes), cache: chosen(state.sizes) };
  if (state.device !== 'none') keys.device = state.device;
  return keys;
}

/** Takes the options of a run file. */
function takeKeys(keys) {
  const { scheme, cache, device, trace, ...others } = keys;
  const list = (value) => [value ?? []].flat().map(String);
  const choose = (known, wanted) => {
    for (const one of known) one.on = wanted.includes(one.text);
    for (const text of wanted) if (!known.some((one) => one.text === text)) known.push({ text, on: true });
  };
  if (scheme !== undefined) choose(state.schemes, list(scheme));
  if (cache !== undefined) choose(state.sizes, list(cache));
  state.device = device ?? 'none';
  state.keys = others;
}

// What is about reading goes to the reader, and the rest to the runs.
const READING = ['format', 'limit', 'skip-bad-lines', 'tags', 'volumes', 'event', 'time-unit'];
const readingKeys = () => Object.fromEntries(Object.entries(state.keys).filter(([key]) => READING.includes(key)));

// ---- The trace

async function load(source) {
  const number_ = ++begun;
  const stale = () => number_ !== begun;
  Object.assign(state, { source, trace: null, plan: null, records: new Map(), preview: new Map() });
  fault(null);
  show();
  status(source.file ? `Reading ${source.file.name}` : `Generating ${source.sample}`, 0);
  let hash, ahead;
  try {
    await pool.restart();
    if (source.file) {
      hash = beside((engine) => engine.ask({ ask: 'hash' }, source.file));
      if (source.file.size >= LONG_FILE) ahead = lookAhead(source.file, stale);
    }
    const question = source.file
      ? { ask: 'read', name: source.file.name, keys: readingKeys() }
      : { ask: 'sample', name: source.sample, seed: 1 };
    const { trace, warnings } = await pool.teach(question, source.file);
    if (hash) await pool.teach({ ask: 'has-hash', sha256: await hash });
    if (stale()) return;
    state.trace = { ...trace, warnings };
    state.preview = new Map();
    if (state.sizes.length === 0) state.sizes = usualSizes(trace.footprint_bytes);
    show();
    await plan();
    pool.pump();
    await pool.copy();
  } catch (error) {
    if (!stale()) {
      state.source = null;
      showTrace();
      fault(error);
    }
  }
}

/** Does something in a worker of its own. */
async function beside(work) {
  const engine = await pool.extra();
  try {
    return await work(engine);
  } finally {
    engine.worker.terminate();
  }
}

/** Runs over the first requests of a long file while the rest is read. */
function lookAhead(file, stale) {
  return beside(async (engine) => {
    const keys = { ...readingKeys(), limit: FIRST_REQUESTS };
    const { trace } = await engine.ask({ ask: 'read', name: file.name, keys }, file);
    if (state.sizes.length === 0) state.sizes = usualSizes(trace.footprint_bytes);
    const { device, ...cacheOnly } = allKeys();
    const ahead = await engine.ask({ ask: 'plan', keys: { scheme: cacheOnly.scheme, cache: cacheOnly.cache } });
    for (const [number_, run] of ahead.runs.entries()) {
      if (stale() || state.trace) return;
      const { record } = await engine.ask({ ask: 'run', number: number_ });
      if (stale() || state.trace) return;
      if (record) state.preview.set(run.identity, record);
      state.plan = ahead;
      showResults();
    }
  }).catch(() => {}); // The reader of the whole file says what is wrong.
}

/** Powers of two around what the trace touches, six of them chosen. */
function usualSizes(footprint) {
  const largest = Math.min(2 ** Math.ceil(Math.log2(Math.max(footprint, 64 * KIB))), LARGEST_CACHE);
  const sizes = [];
  for (let size = Math.max(64 * KIB, largest / 1024); size <= largest; size *= 2) sizes.push(size);
  const last = Math.max(CHOSEN, sizes.length - 2) - 1;
  return sizes.map((size, i) => ({ text: sizeOption(size), on: i <= last && i > last - CHOSEN }));
}

// ---- Runs

/** Finds the runs that the choices come to, and starts those without a record. */
async function plan() {
  const number_ = ++planned;
  const keys = allKeys();
  showChoices();
  if (!state.trace) return;
  try {
    const made = await desk.ask({ ask: 'plan', keys });
    if (number_ !== planned) return;
    fault(null);
    state.plan = made;
    state.warnings = [];
    $('run-file').value = made.run_file;
    showLink(made.run_file);
    start(made, keys);
    showResults();
  } catch (error) {
    if (number_ !== planned) return;
    pool.replaceJobs([]);
    fault(error);
  }
}

function start(made, keys) {
  const id = planned;
  const open = made.runs.map((run, i) => [run, i]).filter(([run]) => !state.records.has(run.identity));
  const filled = made.runs.find((run) => run.filled) && JSON.stringify([keys.device, keys.set, keys.seed]);
  holdForDevice(filled, open.length);
  pool.replaceJobs(open.map(([run, i]) => async (engine) => {
    if (state.records.has(run.identity)) return;
    try {
      if (engine.plan !== id) await engine.ask({ ask: 'plan', keys });
      engine.plan = id;
      const { record, warnings } = await engine.ask({ ask: 'run', number: i });
      state.records.set(run.identity, { record, warnings });
      await shareDevice(engine, filled);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      state.records.set(run.identity, { record: null, warnings: [`${run.scheme}, ${bytes(run.cache_bytes)}: ${error.message}`] });
    }
    showResults();
  }));
}

/** A filled device is prepared by the first worker, and the others wait to be its copies. */
function holdForDevice(filled, runs) {
  const holds = filled && runs > 1 && pool.engines.some((engine) => engine.filled !== filled);
  pool.held = holds ? (engine) => engine !== pool.engines[0] : null;
}

async function shareDevice(engine, filled) {
  if (!filled || engine.filled === filled) return;
  engine.filled = filled;
  if (!pool.held || engine !== pool.engines[0]) return;
  pool.held = null;
  await pool.copy(engine);
  for (const one of pool.engines) one.filled = filled;
}

function showProgress({ stage, done, all, read, size }) {
  if (stage === 'reading') {
    status(`Reading ${state.source?.file?.name ?? ''}: ${number(done)} requests`, size ? read / size : 0);
  } else if (stage === 'preparing' && all > 0) {
    status(`Preparing the device: ${number(done / 1e6, 1)} of ${number(all / 1e6, 1)} million pages are written`, done / all);
  }
}

// ---- What is shown

function show() {
  showTrace();
  showChoices();
  showResults();
}

function showTrace() {
  const { trace } = state;
  if (!trace) {
    const text = state.source ? 'The trace is being read.' : 'No trace yet.';
    return $('trace').replaceChildren(element('p', { class: 'note' }, text));
  }
  const facts = [
    ['trace', trace.name], ['format', trace.container === 'plain' ? trace.format : `${trace.format}, ${trace.container}`],
    ['requests', number(trace.requests)],
    ['reads', `${number(trace.reads)} (${bytes(trace.read_bytes)})`], ['writes', `${number(trace.writes)} (${bytes(trace.written_bytes)})`],
    ['pages touched', bytes(trace.footprint_bytes)], ['duration', `${number(trace.seconds, trace.seconds < 100 ? 1 : 0)} s`],
  ];
  const list = element('dl', {}, ...facts.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))));
  const warnings = trace.warnings.map((text) => element('li', {}, text));
  $('trace').replaceChildren(list, ...(warnings.length ? [element('ul', { class: 'warnings' }, ...warnings)] : []));
}

/** Buttons that are pressed or not; they stay the same elements, so that the focus stays. */
function chips(place, list) {
  for (const one of list) {
    one.chip ??= element('button', { type: 'button', onclick: () => { one.on = !one.on; plan(); } });
    one.chip.textContent = one.text.replace(/(\d)([KMGT]iB)$/, '$1 $2');
    one.chip.setAttribute('aria-pressed', String(one.on));
    const about = aboutOf(one.text);
    if (about) one.chip.title = about;
  }
  const now = list.map((one) => one.chip);
  if (now.some((chip, i) => place.children[i] !== chip) || place.children.length !== now.length) place.replaceChildren(...now);
}

function aboutOf(scheme) {
  return catalogue?.schemes.find((one) => one.name === scheme.split('(')[0] || one.aliases.includes(scheme))?.summary;
}

function showChoices() {
  chips($('schemes'), state.schemes);
  chips($('sizes'), state.sizes);
  $('device').value = state.device;
  const device = catalogue?.devices.find((one) => one.name === state.device);
  $('device-about').textContent = device?.about ?? 'Without a device, hits and data written to flash are counted, and nothing takes time.';
}

const recordOf = (run) => state.records.get(run.identity)?.record ?? state.preview.get(run.identity);

function showResults() {
  const { plan: made } = state;
  if (!made) return view.show(null, false);
  const done = made.runs.filter((run) => state.records.has(run.identity));
  view.show(new Results(made, recordOf), !state.trace);
  const all = [...made.refused, ...made.warnings, ...done.flatMap((run) => state.records.get(run.identity).warnings)];
  const texts = [...new Set(all)];
  $('warnings').hidden = texts.length === 0;
  $('warnings').replaceChildren(...texts.map((text) => element('li', {}, text)));
  $('save-records').disabled = done.length === 0;
  if (!state.trace) return;
  const text = done.length === made.runs.length ? `All ${made.runs.length} runs are done.` : `${done.length} of ${made.runs.length} runs are done.`;
  status(text, made.runs.length ? done.length / made.runs.length : 1);
  if (first && done.length) {
    first = false;
    performance.mark('first-record');
  }
  if (done.length === made.runs.length) performance.mark('all-records');
}

/** The address holds the run file, and the name of a sample, which is no file. */
function showLink(runFile) {
  const parts = [`run=${encodeURIComponent(runFile)}`];
  if (state.source?.sample) parts.push(`sample=${state.source.sample}`);
  history.replaceState(null, '', `#${parts.join('&')}`);
  const { file, sample } = state.source;
  const trace = file?.name ?? `${sample}.bin`;
  const quoted = /^[\w.-]+$/.test(trace) ? trace : `'${trace.replaceAll("'", "'\\''")}'`;
  const made = `destage trace synth ${sample} --requests ${state.trace.requests} --to destage-bin -o ${trace}\n`;
  $('command').textContent = sample === 'demo'
    ? '# This sample is the trace of `destage demo`; a trace of your own is run by\ndestage run TRACE --config run.toml'
    : `${file ? '' : made}destage run ${quoted} --config run.toml`;
}

async function readLink() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const text = parts.get('run');
  if (text) takeKeys(await desk.ask({ ask: 'read-run-file', text }));
  return parts.get('sample');
}

// ---- What people do

function listen() {
  $('file').addEventListener('change', ({ target }) => { if (target.files[0]) takeFile(target.files[0]); });
  const drop = $('drop');
  for (const name of ['dragenter', 'dragover']) {
    document.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add('over'); });
  }
  document.addEventListener('dragleave', (event) => { if (!event.relatedTarget) drop.classList.remove('over'); });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    const file = event.dataTransfer.files[0];
    if (file) takeFile(file);
  });
  $('sample').addEventListener('change', ({ target }) => { if (target.value) takeSample(target.value); });
  $('device').addEventListener('change', ({ target }) => { state.device = target.value; plan(); });
  $('add-scheme').addEventListener('submit', (event) => {
    event.preventDefault();
    const text = $('scheme').value.trim();
    if (!text) return;
    takeKeys({ ...allKeys(), scheme: [...allKeys().scheme, text] });
    $('scheme').value = '';
    plan();
  });
  $('apply').addEventListener('click', apply);
  $('copy').addEventListener('click', async ({ target }) => {
    await navigator.clipboard.writeText(location.href);
    target.textContent = 'Copied';
    setTimeout(() => { target.textContent = 'Copy the link'; }, 2000);
  });
  $('save-run').addEventListener('click', () => save(new Blob([$('run-file').value], { type: 'text/plain' }), 'run.toml'));
  $('save-records').addEventListener('click', () => {
    const records = state.plan.runs.map((run) => state.records.get(run.identity)?.record).filter(Boolean);
    const lines = records.map((record) => `${JSON.stringify(record)}\n`);
    save(new Blob(lines, { type: 'application/x-ndjson' }), 'results.jsonl');
  });
}

/** Another trace has sizes of its own. */
function takeFile(file) {
  $('sample').value = '';
  $('sample-about').textContent = '';
  state.sizes = [];
  return load({ file });
}

function takeSample(name) {
  $('sample').value = name;
  $('sample-about').textContent = catalogue.samples.find((one) => one.name === name)?.about ?? '';
  state.sizes = [];
  return load({ sample: name });
}

async function apply() {
  try {
    const before = JSON.stringify(readingKeys());
    takeKeys(await desk.ask({ ask: 'read-run-file', text: $('run-file').value }));
    if (JSON.stringify(readingKeys()) !== before && state.source?.file) return await load(state.source);
    await plan();
  } catch (error) {
    fault(error);
  }
}

async function open() {
  listen();
  const module = await WebAssembly.compileStreaming(fetch('destage.wasm'));
  pool = new Pool(module);
  pool.onprogress = showProgress;
  desk = await pool.extra();
  catalogue = await desk.ask({ ask: 'catalogue' });
  performance.mark('engine-ready');
  view = new View(aboutOf);
  $('version').textContent = catalogue.version;
  $('known').append(...catalogue.schemes.map((one) => element('option', { value: one.name }, one.summary)));
  $('sample').append(new Option('choose one', ''), ...catalogue.samples.map((one) => new Option(one.name, one.name)));
  $('device').append(new Option('none: count hits only', 'none'), ...catalogue.devices.map((one) => new Option(one.name, one.name)));
  const sample = await readLink();
  const given = catalogue.samples.find((one) => one.name === sample) ?? catalogue.samples[0];
  const sizes = state.sizes;
  const loading = takeSample(given.name);
  if (sizes.length) state.sizes = sizes;
  await loading;
}

open().catch(fault);

// For tests, and for people at the console.
globalThis.playground = { state, load, plan, get pool() { return pool; }, get desk() { return desk; }, MEASURES };
