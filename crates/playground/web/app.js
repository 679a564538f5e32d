// The page: reads traces, runs what is chosen, and shows it.

import { EngineError, Pool } from './pool.js';
import { MEASURES, View } from './view.js';
import { Results, middleOf } from './results.js';
import { save } from './chart.js';
import { READS, allKeys, chooseSchemes, drainedOf, readingKeys, state, takeKeys, takeReading, takeUsual, takeUsualSchemes } from './choices.js';
import { ColumnsForm } from './columns.js';
import { commandOf, together, traceFacts } from './facts.js';
import { bytes, element, number, prose } from './format.js';

const $ = (id) => document.getElementById(id);

const KIB = 1024;
/** From so many bytes on, a look at the first requests is worth its time. */
const LONG_FILE = 24 * KIB ** 2;
const FIRST_REQUESTS = 100_000;

let pool, desk, catalogue, columns, view, planned = 0, begun = 0, first = true;

/** A fault that goes away when bad lines are skipped. */
const SKIPPED = /--skip-bad-lines/;

/** Shows why something failed, or that nothing did; `place` is the element beside which that stands. */
function fault(error, place) {
  $('fault').hidden = !error || Boolean(place);
  $('fault').textContent = error ? `error: ${error.message ?? error}` : '';
  $('skip').hidden = !SKIPPED.test(error?.message);
  if (!error) return;
  status('');
  (place || $('fault')).scrollIntoView({ block: 'nearest' });
}

function status(text, share) {
  $('status').textContent = text;
  $('bar').hidden = share === undefined;
  if (share !== undefined) $('bar').value = share;
}

// ---- The trace

/** The options about reading; `mapping` is that of the form. */
const reading = (mapping) => readingKeys(catalogue.reading_keys, mapping);

/** Reads the trace again as the form says. */
function readAgain(mapping) {
  takeReading(catalogue.reading_keys, reading(mapping));
  if (!state.sizesChosen) state.sizes = [];
  return load(state.source);
}

/** Shows which columns hold what, open if that is doubted; `error`: the trace was not read. */
async function showColumns(doubted, error) {
  const { file } = state.source;
  if (!file) return fault(error);
  const table = await columns.show(file, undefined, error);
  if (state.source.file !== file) return;
  // What fits a format has other faults than its columns.
  const wrong = error && table && (!table.format || table.format === 'table');
  if (doubted || wrong) columns.open();
  if (error) fault(error, wrong && columns.place);
}

async function load(source) {
  const number_ = ++begun;
  const stale = () => number_ !== begun;
  if (source !== state.source) columns.hide();
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
      ? { ask: 'read', name: source.file.name, keys: reading() }
      : { ask: 'sample', name: source.sample, seed: 1 };
    const { trace, warnings } = await pool.teach(question, source.file);
    if (hash) await pool.teach({ ask: 'has-hash', sha256: await hash });
    if (stale()) return;
    state.trace = { ...trace, warnings };
    state.preview = new Map();
    takeUsual(trace);
    show();
    showColumns(trace.doubted);
    await plan();
    pool.pump();
    await pool.copy();
  } catch (error) {
    if (!stale()) {
      showTrace('No trace yet.');
      await showColumns(false, error);
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
    const keys = { ...reading(), limit: FIRST_REQUESTS };
    const { trace } = await engine.ask({ ask: 'read', name: file.name, keys }, file);
    takeUsual(trace);
    const { scheme, cache, [READS]: reads } = allKeys();
    const ahead = await engine.ask({ ask: 'plan', keys: { scheme, cache, ...(reads && { [READS]: reads }) } });
    for (const [number_, run] of ahead.runs.entries()) {
      if (stale() || state.trace) return;
      const { record, compared } = await engine.ask({ ask: 'run', number: number_ });
      if (stale() || state.trace) return;
      if (record) state.preview.set(run.identity, { record, compared });
      state.plan = ahead;
      showResults();
    }
  }).catch(() => {}); // The reader of the whole file says what is wrong.
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
    // A drive with a bounded buffer drains it.
    if (!state.schemesChosen && drainedOf(made).length) {
      chooseSchemes(drainedOf(made));
      return await plan();
    }
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
  const open = soonestAnswer(made.runs).filter(([run]) => !state.records.has(run.identity));
  const filled = made.runs.find((run) => run.filled) && JSON.stringify([keys.device, keys.set, keys.seed]);
  holdForDevice(filled, open.length);
  pool.replaceJobs(open.map(([run, i]) => async (engine) => {
    if (state.records.has(run.identity)) return;
    try {
      if (engine.plan !== id) await engine.ask({ ask: 'plan', keys });
      engine.plan = id;
      state.records.set(run.identity, await engine.ask({ ask: 'run', number: i }));
      await shareDevice(engine, filled);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      state.records.set(run.identity, { record: null, warnings: [`${run.scheme}, ${bytes(run.cache_bytes)}: ${error.message}`] });
    }
    showResults();
  }));
}

/** The runs with their numbers: all schemes of the middle size first, so that the answer comes soon. */
function soonestAnswer(runs) {
  const sizes = [...new Set(runs.map((run) => run.cache_bytes))].filter(Boolean).sort((a, b) => a - b);
  const middle = middleOf(sizes);
  const far = (run) => Math.abs(Math.log2((run.cache_bytes || middle) / middle));
  return runs.map((run, i) => [run, i]).sort(([a], [b]) => far(a) - far(b));
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

function showTrace(otherwise = 'The trace is being read.') {
  const { trace } = state;
  if (!trace) return $('trace').replaceChildren(element('p', { class: 'note' }, otherwise));
  $('trace').replaceChildren(...traceFacts(trace));
}

/** Somebody has chosen from a list. */
function chosen(list) {
  if (list === state.schemes) state.schemesChosen = true;
  else state.sizesChosen = true;
}

/** Buttons that are pressed or not; they stay the same elements, so that the focus stays. */
function chips(place, list) {
  for (const one of list) {
    one.chip ??= element('button', { type: 'button', onclick: () => { one.on = !one.on; chosen(list); plan(); } });
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
  $('reads').value = state.keys[READS] ?? 'scheme';
  $('device').value = state.device;
  const device = catalogue?.devices.find((one) => one.name === state.device);
  $('device-about').replaceChildren(...prose(device?.about ?? 'Without a device, hits and data written to flash are counted, and nothing takes time.'));
}

const found = (run) => [state.records, state.preview].map((of) => of.get(run.identity)).find((one) => one?.record);
const recordOf = (run) => found(run)?.record;
const comparedOf = (run) => found(run)?.compared;

function showResults() {
  const { plan: made } = state;
  view.show(made && new Results(made, recordOf, (run) => state.records.has(run.identity), comparedOf), !state.trace);
  $('warnings').hidden = !made;
  if (!made) return;
  const done = made.runs.filter((run) => state.records.has(run.identity));
  const all = [...made.refused, ...made.warnings, ...done.flatMap((run) => state.records.get(run.identity).warnings)];
  const texts = together(all);
  $('drain').hidden = drainedOf(made).length === 0;
  $('warnings').hidden = texts.length === 0;
  $('warnings').replaceChildren(...texts.map((text) => element('li', {}, text)));
  $('save-records').disabled = done.length === 0;
  if (!state.trace) return;
  const text = done.length === made.runs.length ? `All ${made.runs.length} runs are done.` : `${done.length} of ${made.runs.length} runs are done.`;
  status(text, done.length < made.runs.length ? done.length / made.runs.length : undefined);
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
  $('command').textContent = commandOf(state.source, state.trace);
}

async function readLink() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const text = parts.get('run');
  if (text) takeKeys(await desk.ask({ ask: 'read-run-file', text }));
  state.linked = Boolean(text);
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
  $('reads').addEventListener('change', ({ target }) => {
    [state.keys[READS], state.readsChosen] = [target.value, true];
    plan();
  });
  $('device').addEventListener('change', ({ target }) => {
    state.device = target.value;
    takeUsualSchemes();
    plan();
  });
  $('drain').addEventListener('click', () => {
    chooseSchemes(drainedOf(state.plan));
    plan();
  });
  $('add-scheme').addEventListener('submit', (event) => {
    event.preventDefault();
    addScheme($('scheme').value.trim());
  });
  $('skip').addEventListener('click', () => {
    state.keys['skip-bad-lines'] = true;
    load(state.source);
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

/** Adds a scheme that can be written so, or says why not. */
async function addScheme(text) {
  if (!text) return;
  try {
    await desk.ask({ ask: 'plan', keys: { scheme: [text] } });
  } catch (error) {
    return fault(error);
  }
  chosen(state.schemes);
  const known = state.schemes.find((one) => one.text === text);
  if (known) known.on = true;
  else state.schemes.push({ text, on: true });
  $('scheme').value = '';
  return plan();
}

/** Another trace has sizes and a reading of its own, but for those of the link. */
function takeOther() {
  [state.sizes, state.sizesChosen] = [[], false];
  takeReading(catalogue.reading_keys, {});
}

function takeFile(file) {
  $('sample').value = '';
  $('sample-about').textContent = '';
  if (!state.linked) takeOther();
  state.linked = false;
  return load({ file });
}

function takeSample(name) {
  $('sample').value = name;
  $('sample-about').replaceChildren(...prose(catalogue.samples.find((one) => one.name === name)?.about ?? ''));
  takeOther();
  return load({ sample: name });
}

async function apply() {
  try {
    const before = JSON.stringify(reading());
    takeKeys(await desk.ask({ ask: 'read-run-file', text: $('run-file').value }));
    if (JSON.stringify(reading()) !== before && state.source?.file) return await load(state.source);
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
  view = new View(aboutOf, (groups) => desk.ask({ ask: 'answers', groups }));
  columns = new ColumnsForm((mapping, file) => desk.ask({ ask: 'table', name: file.name, keys: reading(mapping) }, file), readAgain);
  $('version').textContent = catalogue.version;
  $('known').append(...catalogue.schemes.map((one) => element('option', { value: one.name }, one.summary)));
  $('sample').append(new Option('choose one', ''), ...catalogue.samples.map((one) => new Option(one.name, one.name)));
  $('device').append(new Option('none: count hits only', 'none'), ...catalogue.devices.map((one) => new Option(one.name, one.name)));
  const sample = await readLink();
  if (state.linked && !sample) {
    showTrace('The link has the choices below, and no trace. Drop the trace to see its result.');
    showChoices();
    return;
  }
  state.linked = false;
  const given = catalogue.samples.find((one) => one.name === sample) ?? catalogue.samples[0];
  const sizes = state.sizes;
  const loading = takeSample(given.name);
  if (sizes.length) state.sizes = sizes;
  await loading;
}

open().catch(fault);

// For tests, and for people at the console.
globalThis.playground = { state, load, plan, get pool() { return pool; }, get desk() { return desk; }, get columns() { return columns; }, MEASURES };
