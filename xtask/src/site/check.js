// Holds the engine in this browser against the records of the command, then opens the page itself.

import { BROKEN, CASES, FILES, MAPPED, TABLE } from './expected.js';
import { Pool } from './pool.js';

const say = (text) => console.log(`check: ${text}`);
const fail = (text) => { throw new Error(text); };
// The machine may be busy with other work: these times find what has become many times slower.
const FIRST_CURVE_MS = 20_000;

/** A record without what may differ. */
function bare(record) {
  const { version, config, run, ...rest } = record;
  return JSON.stringify(rest);
}

const fileOf = ({ name, bytes, text }) => new File([text ?? new Uint8Array(bytes)], name);

async function read(engine, file, keys = {}) {
  const sha256 = await engine.ask({ ask: 'hash' }, file);
  const { trace } = await engine.ask({ ask: 'read', name: file.name, keys }, file);
  await engine.ask({ ask: 'has-hash', sha256 });
  return trace;
}

async function records(engine, keys) {
  const { runs } = await engine.ask({ ask: 'plan', keys });
  const found = [];
  for (let number = 0; number < runs.length; number++) {
    const { record } = await engine.ask({ ask: 'run', number });
    if (record) found.push(record);
  }
  return found;
}

async function compareRecords(pool) {
  const engine = pool.engines[0];
  let compared = 0;
  await read(engine, fileOf(FILES[0]));
  await pool.copy(engine);
  const copied = pool.engines.at(-1);
  for (const { keys, records: expected } of CASES) {
    const found = await records(copied, keys);
    if (found.length !== expected.length) fail(`${JSON.stringify(keys)}: ${found.length} records, the command has ${expected.length}`);
    found.forEach((record, i) => {
      if (bare(record) === bare(expected[i])) return;
      const key = Object.keys(record).find((one) => JSON.stringify(record[one]) !== JSON.stringify(expected[i][one]) && !['version', 'config', 'run'].includes(one));
      fail(`${record.scheme} on ${record.device}: ${key} is ${JSON.stringify(record[key])}, the command has ${JSON.stringify(expected[i][key])}`);
    });
    compared += found.length;
  }
  say(`${compared} records equal those of the command`);
}

async function compareTable(pool) {
  const engine = await pool.extra();
  await read(engine, fileOf(TABLE), { 'trace-columns': TABLE.keys['trace-columns'] });
  const [record] = await records(engine, TABLE.keys);
  if (bare(record) !== bare(TABLE.records[0])) fail(`the table gives ${bare(record)}, the command has ${bare(TABLE.records[0])}`);
  engine.worker.terminate();
}

async function readFormats(pool) {
  const engine = await pool.extra();
  for (const packed of FILES) {
    const trace = await read(engine, fileOf(packed));
    if (trace.requests !== CASES[0].records[0].trace.requests) fail(`${packed.name} has ${trace.requests} requests`);
  }
  say(`${FILES.length} containers are read`);
  const fault = await engine.ask({ ask: 'read', name: BROKEN.name }, fileOf(BROKEN)).then(() => 'none', (error) => error.message);
  if (fault !== BROKEN.fault) fail(`the broken trace gives "${fault}", the command says "${BROKEN.fault}"`);
  say('a broken trace gives the words of the command');
  const full = await engine.ask({ ask: 'read', name: FILES[0].name, keys: { 'trace-memory': '64KiB' } }, fileOf(FILES[0]))
    .then(() => 'none', (error) => error.message);
  if (!full.includes('need more memory than a page') || !full.includes('`limit = 10000000`')) fail(`a trace that is too large gives "${full}"`);
  say('a trace that needs a temporary file is refused');
  engine.worker.terminate();
}

const until = async (what, test) => {
  for (const begun = performance.now(); performance.now() - begun < 300_000; ) {
    const found = test();
    if (found) return found;
    await new Promise((resume) => setTimeout(resume, 50));
  }
  return fail(`${what} does not come`);
};

/** The form of a table that fits no format, used as people do; the page is left with it. */
async function useForm(page, inside) {
  const { columns, desk, load, state } = inside.playground;
  const field = (label) => page.querySelector(`#columns [aria-label="${label}"]`) ?? page.getElementById(label) ?? fail(`no field ${label}`);
  const shown = (text) => page.getElementById('mapping').value.includes(text);
  const set = async (label, value, text) => {
    field(label).value = value;
    field(label).dispatchEvent(new inside.Event('change'));
    await until(`${text} in the mapping`, () => shown(text) && !columns.asking);
  };
  load({ file: fileOf(TABLE) });
  const fault = page.getElementById('columns-fault');
  await until('the form', () => page.getElementById('columns').open && !fault.hidden);
  if (!fault.textContent.includes('no known trace format fits')) fail(`the form says ${fault.textContent}`);
  if (!page.getElementById('fault').hidden) fail('the fault stands twice');
  await set('What x holds', 'time', 'time=x');
  await set('Unit of x', 's', 'time=x:s');
  await set('Words of kind for reads and writes', '0=R,1=W', 'op=kind:0=R,1=W');
  await set('What where holds', 'offset', 'offset=where');
  if (!fault.textContent.includes('no column is known as size')) fail(`without a size the form says ${fault.textContent}`);
  await set('What much holds', 'volume', 'volume=much');
  await set('What much holds', 'size', 'size=much');
  await set('Unit of where', 'sectors', 'offset=where:sectors');
  await set('Calculation with the numbers of much', '*0', 'size=much*0');
  if (!fault.textContent.includes('zero is no factor')) fail(`of *0 the form says ${fault.textContent}`);
  await set('Calculation with the numbers of much', '*512', 'size=much*512');
  await set('Unit of much', '', 'size=much*512,');
  if (!fault.hidden) fail(`the fault stays: ${fault.textContent}`);
  await set('What x holds', 'volume', 'volume=x');
  await set('What x holds', 'time', 'time=x');
  await set('Unit of x', 's', 'time=x:s');
  const mapping = page.getElementById('mapping').value;
  if (mapping !== TABLE.keys['trace-columns']) fail(`the mapping is ${mapping}`);
  const line = `destage trace info 'it'\\''s a table.txt' --trace-columns '${mapping}'`;
  if (page.getElementById('mapping-line').textContent !== line) fail(`the line is ${page.getElementById('mapping-line').textContent}`);
  page.querySelector('#columns form button').click();
  await until('the table', () => state.trace?.requests === TABLE.records[0].trace.requests);
  await until('the run file', () => page.getElementById('run-file').value.includes(mapping));
  const disks = 't,op,offset,size,disk\n1,R,0,512,a\n2,R,0,512,b\n';
  await columns.show(fileOf({ name: 't', text: disks }), 'separator=comma');
  await set('What disk holds', '', 'volume==all');
  for (const [text, wanted] of MAPPED) {
    await columns.show(fileOf({ name: 't', text }), wanted);
    const made = columns.chosen();
    const same = (await desk.ask({ ask: 'table', name: 't', keys: { 'trace-columns': made } }, fileOf({ name: 't', text }))).mapping;
    if (same !== wanted) fail(`the form makes ${made} of ${wanted}`);
  }
  say(`the form of a table is used, and makes ${MAPPED.length} mappings again`);
}

async function usePage() {
  const frame = document.getElementById('page');
  frame.src = 'index.html';
  await new Promise((resume) => frame.addEventListener('load', resume, { once: true }));
  const { contentDocument: page, contentWindow: inside } = frame;
  const faults = [];
  inside.addEventListener('error', (event) => faults.push(event.message));
  const done = () => /^All \d+ runs/.test(page.getElementById('status').textContent);
  await until('the first result', done);
  const marks = Object.fromEntries(inside.performance.getEntriesByType('mark').map((mark) => [mark.name, Math.round(mark.startTime)]));
  say(`engine ready after ${marks['engine-ready']} ms, first record after ${marks['first-record']} ms, 36 runs of the sample after ${marks['all-records']} ms`);
  if (marks['first-record'] > FIRST_CURVE_MS) fail('the first record takes too long');
  if (page.querySelectorAll('#hits .plot path').length < 12) fail('the curves are not drawn');

  const device = page.getElementById('device');
  device.value = 'req-block-128g';
  device.dispatchEvent(new inside.Event('change'));
  await until('the device', () => !done());
  await until('the results on the device', done);
  if (page.querySelectorAll('#flash .plot rect').length < 7) fail('the bars are not drawn');
  await until('the answer', () => /answers? (fastest|equally fast)/.test(page.getElementById('answer').textContent));

  const link = decodeURIComponent(inside.location.hash);
  if (!link.includes('device = "req-block-128g"') || !link.includes('scheme = ["lru"')) fail(`the link is ${link}`);
  inside.playground.load({ file: fileOf(BROKEN) });
  const fault = page.getElementById('fault');
  await until('the fault', () => !fault.hidden);
  if (fault.textContent !== `error: ${BROKEN.fault}`) fail(`the page says ${fault.textContent}`);
  inside.playground.load({ file: fileOf(FILES[1]) });
  await until('the trace', () => page.querySelector('#trace dl')?.textContent.includes('msr'));
  if (!fault.hidden) fail('the fault stays');

  await useForm(page, inside);

  for (const width of [390, 1280]) {
    frame.width = width;
    await new Promise((resume) => setTimeout(resume, 500));
    if (page.documentElement.scrollWidth > width) fail(`the page is ${page.documentElement.scrollWidth} wide at ${width}`);
  }
  const unnamed = [...page.querySelectorAll('button, select, input, textarea, svg[role=img], progress')].filter((one) => !(
    one.textContent.trim() || one.labels?.length || one.getAttribute('aria-label') || one.getAttribute('aria-labelledby')));
  if (unnamed.length) fail(`without a name: ${unnamed.map((one) => one.id || one.outerHTML.slice(0, 60))}`);
  const foreign = inside.performance.getEntriesByType('resource').filter((one) => !one.name.startsWith(location.origin));
  if (foreign.length) fail(`the page loads ${foreign[0].name}`);
  if (faults.length) fail(faults.join('; '));
  say('the page shows curves, a device, and faults, at 390 and 1280 pixels');
}

try {
  const pool = new Pool(await WebAssembly.compileStreaming(fetch('destage.wasm')));
  pool.size = Math.max(2, pool.size);
  await pool.restart();
  await compareRecords(pool);
  await compareTable(pool);
  await readFormats(pool);
  for (const engine of pool.engines) engine.worker.terminate();
  await usePage();
  say('done');
} catch (error) {
  say(`FAILED ${error.stack ?? error}`.replaceAll('\n', ' '));
}
