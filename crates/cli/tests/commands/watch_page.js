// Holds the page of scenes against a plain replay of their events. The scenes are drawn at random, from a fixed seed.

const DIES = 4, BLOCKS = 8, UNITS = 4, FRAMES = 24, REQUESTS = 1000;

function makeScene(scheme, seed) {
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const state = { lists: [[]], valid: [], written: [] };
  for (let block = 0; block < DIES * BLOCKS; block++) {
    state.written.push(random(UNITS + 1));
    state.valid.push(random(state.written[block] + 1));
  }
  for (let page = 0; page < 10; page++) state.lists[0].push(2 * page + random(2));
  const soFar = { requests: 7, response_sum: 7000, page_hits: 3, page_misses: 4, flash_writes: 5, erases: 1 };
  const start = {
    lists: [{ name: 'old', pages: [...state.lists[0]] }], blocks: { valid: [...state.valid], written: [...state.written] },
    open: [1, 9], busy: [[500, 2500, 1, 'program', 'eviction', 1, [[1200, 1500]], 400, 6, 40]], flying: [[6, 900, 'R', 40, 2]], so_far: { ...soFar },
  };
  const events = [['done', 1800, 6, 900, 2, 0]];
  const counters = [3, 4, 5, 1];
  const from = 1000;
  let [t, next] = [from, 100];
  for (let i = 0; i < REQUESTS; i++) {
    t += 1 + random(3000);
    const [id, op] = [7 + i, random(3) ? 'W' : 'R'];
    events.push(['request', t, id, op, next, 1]);
    if (i === 20) events.push(['list', t, 1, 'new']);
    const number = i > 20 && random(2) ? 1 : 0;
    if (i > 20) events.push(...changeLists(state, number, next++, t, random));
    events.push(operation(t, id, random));
    const block = random(DIES * BLOCKS);
    if (random(3) === 0) {
      const written = random(UNITS + 1);
      events.push(['blocks', t, [[block, random(written + 1), written]]]);
    }
    if (random(20) === 0) events.push(['open', t, [block]]);
    if (random(10) === 0) events.push(['write-back', t, 5, 'started'], ['bypass', t, 5], ['discard', t, [5]]);
    counters.forEach((_, place) => { counters[place] += random(3); });
    events.push(['counts', t, ...counters]);
    const response = 1 + random(40_000);
    // Some come in the warm-up, whose times do not count.
    events.push(['done', t + response, id, response, 1, 1, ...(random(4) ? [] : [random(2)])]);
  }
  const to = t + 60_000;
  events.sort((a, b) => a[1] - b[1]);
  const json = {
    format: 'destage-scene-1', scheme, device: 'test', trace: 'random', from, to, start, events,
    geometry: {
      channels: 2, chips_per_channel: 2, dies: DIES, planes_per_die: 1, blocks_per_plane: BLOCKS, units_per_block: UNITS,
      page_bytes: 4096, mapping_bytes: 4096, frames: FRAMES,
    },
  };
  json.end = { so_far: replay(json, to).counts };
  json.run = { requests: 2000, mean_ns: 40_000 + seed % 100, p99_ns: 90_000, page_hit_ratio: 0.5, host_writes: 1234, flash_writes: 5678, erases: 90 };
  return json;
}

function operation(t, request, random) {
  const [begin, kind] = [t + random(400), ['read', 'program', 'erase', 'program'][random(4)]];
  const end = begin + { read: 500, program: 2000, erase: 5000 }[kind];
  const cause = kind === 'erase' ? 'collection' : ['read', 'eviction', 'write-back', 'collection'][random(4)];
  const pauses = random(5) ? [] : [[begin + 100, begin + 200]];
  return ['op', begin, end, random(DIES), kind, cause, 1, pauses, t, request, null];
}

/** A page comes to the head of a list; from a full buffer the last page of a list leaves. */
function changeLists({ lists }, number, page, t, random) {
  lists[1] ??= [];
  const events = [];
  if (lists[0].length + lists[1].length === FRAMES) {
    const from = lists[0].length ? 0 : 1;
    const gone = lists[from].pop();
    events.push(['splice', t, from, lists[from].length, 1, []]);
    events.push(['evict', t, [gone], 'demand']);
  }
  const code = 2 * page + random(2);
  lists[number].unshift(code);
  events.push(['splice', t, number, 0, 0, [code]]);
  if (random(4) === 0) {
    const at = random(lists[number].length);
    lists[number][at] ^= 1;
    events.push(['splice', t, number, at, 1, [lists[number][at]]]);
  }
  return events;
}

/** The state at `t`, from the first event on. */
function replay({ start, events }, t) {
  const lists = start.lists.map(({ pages }) => [...pages]);
  const [valid, written] = [[...start.blocks.valid], [...start.blocks.written]];
  let open = [...start.open];
  const flying = start.flying.map(([id]) => id);
  const counts = { ...start.so_far };
  const { busy } = start;
  const operations = [...busy, ...events.filter(([kind]) => kind === 'op').map((event) => event.slice(1))];
  const waiting = operations.filter(([begin, , , , , , , queued]) => queued <= t && begin > t).length;
  for (const [kind, at, a, b, c, d, e = 1] of events) {
    if (at > t || kind === 'op') continue;
    if (kind === 'request') flying.push(a);
    if (kind === 'done') {
      flying.splice(flying.indexOf(a), 1);
      counts.requests += e;
      counts.response_sum += e * b;
    }
    if (kind === 'counts') Object.assign(counts, { page_hits: a, page_misses: b, flash_writes: c, erases: d });
    if (kind === 'list') lists.push([]);
    if (kind === 'splice') lists[a].splice(b, c, ...d);
    if (kind === 'open') open = a;
    if (kind === 'blocks') for (const [block, v, w] of a) [valid[block], written[block]] = [v, w];
  }
  return { lists, valid, written, open, flying, counts, waiting };
}

const stories = {
  format: 'destage-scenes-1', story: { name: 'test', title: 'A test', about: 'Two sentences. These are they.', at: 1_234_567, promise: 'A request waits.', pages: [] },
  scenes: [makeScene('lru', 11), makeScene('idle-clean(lru)', 12)],
};
const place = document.createElement('script');
Object.assign(place, { type: 'application/json', id: 'scenes', textContent: JSON.stringify(stories) });
document.head.append(place);

const faultsOfCheck = [];
function same(what, found, expected) {
  const [a, b] = [found, expected].map((one) => JSON.stringify(one));
  if (a !== b) faultsOfCheck.push(`${what}: ${a?.slice(0, 300)}, expected ${b?.slice(0, 300)}`);
}
const later = (ms) => new Promise((resume) => setTimeout(resume, ms));
/** Until the picture and its text are those of the instant. A browser without a window draws too seldom by itself. */
const settled = async (watch) => {
  watch.frame(performance.now());
  await later(500);
};

function stateOf(scene, t) {
  const { state } = scene;
  return {
    lists: state.lists.map(({ pages }) => pages), valid: [...state.valid], written: [...state.written], open: [...state.open],
    flying: [...state.flying], counts: scene.countsAt(t), waiting: scene.operations.waiting(t),
  };
}

/** Any instant, in any order, has the state that a replay of all events before it has. */
function checkSeeking(Scene) {
  for (const json of stories.scenes) {
    const scene = new Scene(json);
    const instants = [json.to, json.from, json.to - 1];
    for (let i = 1; i <= 120; i++) instants.push(json.from + ((i * 7919 * 7919) % (json.to - json.from)));
    for (const event of json.events.filter((_, i) => i % 97 === 0)) instants.push(event[1], event[1] - 1);
    for (const t of instants) {
      scene.seek(t);
      same(`${json.scheme} at ${t}`, stateOf(scene, t), replay(json, t));
    }
    if (scene.checkpoints.length < 8) faultsOfCheck.push(`only ${scene.checkpoints.length} checkpoints`);
  }
}

/** Steps land on the events of their kind in either scene, forth and back. */
function checkSteps({ controls }) {
  const all = stories.scenes.flatMap((scene) => scene.events);
  const times = (test) => [...new Set(all.filter(test).map((event) => event[1]))].sort((a, b) => a - b);
  const kinds = {
    request: times(([kind]) => kind === 'request'), eviction: times(([kind]) => kind === 'evict'),
    'write-back': times(([kind]) => kind === 'write-back'),
    erase: times(([kind, , , , what]) => kind === 'op' && what === 'erase'),
  };
  for (const [kind, expected] of Object.entries(kinds)) {
    controls.choose(kind);
    controls.go(0);
    const found = expected.slice(0, 40).map(() => (controls.step(1), controls.t));
    same(`next ${kind}`, found, expected.slice(0, 40));
    const back = found.slice(1).map(() => (controls.step(-1), controls.t)).reverse();
    same(`last ${kind}`, back, expected.slice(0, 39));
  }
  controls.choose('collection');
  controls.go(0);
  for (let i = 0; i < 20; i++) {
    controls.step(1);
    const begins = all.some(([kind, t, , , , cause]) => kind === 'op' && t === controls.t && cause === 'collection');
    if (!begins) faultsOfCheck.push(`no collection begins at ${controls.t}`);
  }
  controls.choose('request');
}

async function checkKeys(watch) {
  const { controls } = watch;
  const press = (key) => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  controls.go(500_000);
  const expected = controls.steps.request.find((t) => t > 500_000);
  press('ArrowRight');
  same('the right arrow', controls.t, expected);
  press('ArrowLeft');
  same('the left arrow', controls.t, controls.steps.request.filter((t) => t < expected).at(-1));
  const before = controls.t;
  controls.takeSpeed(3);
  press(' ');
  same('it plays', controls.playing, true);
  const now = performance.now();
  watch.frame(now);
  watch.frame(now + 20);
  same('20 ms at 10 µs a second', Math.round(controls.t - before), 200);
  press(' ');
  same('it pauses', controls.playing, false);
}

async function checkWords(watch) {
  const { controls } = watch;
  controls.go(1_234_567);
  await settled(watch);
  const words = document.getElementById('words').textContent;
  if (!words.startsWith('At 1.234567 ms. So far in this scene, ')) faultsOfCheck.push(`the text of the pause is ${words}`);
  for (const json of stories.scenes) {
    const { lists, flying } = replay(json, 1_234_567);
    const pages = lists.flat();
    const fill = `Write buffer: ${pages.length} of ${FRAMES} pages, ${pages.filter((code) => code % 2).length} dirty.`;
    if (!words.includes(fill)) faultsOfCheck.push(`no "${fill}" in ${words}`);
    if (!words.includes(flying.length ? `${flying.length} request` : 'No request in flight')) faultsOfCheck.push(`no ${flying.length} requests in ${words}`);
  }
}

/** At the end the table has the counts of the runs. */
async function checkTable(watch) {
  const { controls } = watch;
  controls.go(Infinity);
  await settled(watch);
  const rows = Object.fromEntries([...document.getElementById('counts').rows].map((row) => [row.cells[0].textContent, [...row.cells].slice(1, 3).map((cell) => cell.textContent)]));
  const ends = stories.scenes.map(({ end }) => end.so_far);
  const shown = (name) => ends.map((end) => end[name].toLocaleString('en'));
  same('requests', rows['requests answered'], shown('requests'));
  same('hits', rows['page hits'], shown('page_hits'));
  same('misses', rows['page misses'], shown('page_misses'));
  same('flash writes', rows['flash writes with collection and metadata'], shown('flash_writes'));
  const begun = stories.scenes.map(({ start }) => start.so_far);
  const inScene = ends.map((end, i) => ({ requests: end.requests - begun[i].requests, response_sum: end.response_sum - begun[i].response_sum }));
  same('requests of the scene', rows['in this scene: requests answered'], inScene.map(({ requests }) => requests.toLocaleString('en')));
  same('erases', rows['blocks erased'], shown('erases'));
  const mean = ({ response_sum: sum, requests }) => (sum / requests / 1000).toPrecision(3);
  same('mean', rows['mean response time'], ends.map((end) => `${mean(end)} µs`));
  same('mean of the scene', rows['in this scene: mean response time'], inScene.map((one) => `${mean(one)} µs`));
  same('mean above the picture', watch.panels[0].mean.textContent, `mean in this scene: ${mean(inScene[0])} µs`);
  same('mean in the tab', document.querySelector('#tabs button').textContent, `lru ${mean(inScene[0])} µs`);
  same('requests before', document.getElementById('since').textContent, '7 requests before this scene');
  const runs = [...document.getElementById('runs').rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  same('the head', runs[0][3], 'difference (second minus first)');
  same('writes of the host', runs.find(([name]) => name === 'flash writes'), ['flash writes', '1,234', '1,234', 'equal']);
  same('all writes', runs.find(([name]) => name === 'with collection and metadata').slice(1, 3), ['5,678', '5,678']);
  // A mean lacks the requests that wait, so the sentence says where one scheme has answered more of them.
  const dones = stories.scenes.map(({ events }) => events.filter(([kind, , , , , , timed]) => kind === 'done' && timed).map(([, t]) => t));
  const upTo = (times, t) => times.filter((done) => done <= t).length;
  const uneven = dones.flat().find((t) => upTo(dones[0], t) !== upTo(dones[1], t));
  for (const t of [Infinity, uneven]) {
    if (t === undefined) continue;
    controls.go(t);
    await settled(watch);
    const said = document.getElementById('verdict').textContent.includes(' has answered ');
    same(`answers at ${t}`, said, upTo(dones[0], t) !== upTo(dones[1], t));
  }
  if (uneven === undefined) faultsOfCheck.push('both schemes answer everything at the same times');
  controls.go(0);
  await settled(watch);
  const early = document.getElementById('verdict').textContent;
  if (!early.startsWith('So far since the start of the run, ') || !early.includes('In the whole run, ')) faultsOfCheck.push(`the first sentence is ${early}`);
}

/** What cannot be a scene is refused, and the words say why. */
function checkRefusals(readStory) {
  const cases = [
    ['the format', (json) => { json.format = 'x'; }, 'scene 1: the format is "x"'],
    ['no events', (json) => { delete json.events; }, 'a scene without `events`'],
    ['counts', (json) => { json.end.so_far.page_hits += 1; }, 'page_hits'],
    ['lists', (json) => { json.events.find(([kind]) => kind === 'splice')[2] = 5; }, 'list 5; allowed: 0 to 1'],
    ['pages', (json) => { json.events.find(([kind]) => kind === 'splice')[4] = 99; }, '99 from 0 on leave'],
    ['blocks', (json) => { json.events.find(([kind]) => kind === 'blocks')[2] = [[32, 0, 0]]; }, 'block 32; allowed: 0 to 31'],
    ['dies', (json) => { json.events.find(([kind]) => kind === 'op')[3] = 4; }, 'die 4; allowed: 0 to 3'],
    ['order', (json) => { json.events.filter(([kind]) => kind === 'counts')[5][1] = json.from; }, 'its time is before'],
    ['words', (json) => { json.events[0][0] = 'jump'; }, '`jump` is no event'],
    ['runs', (json) => { delete json.run.host_writes; }, 'a run without `host_writes`'],
    ['geometry', (json) => { json.geometry.dies = 3; }, 'the geometry has 24'],
  ];
  for (const [what, spoil, words] of cases) {
    const json = structuredClone(stories.scenes[0]);
    spoil(json);
    let message = 'it is taken';
    try {
      readStory(json);
    } catch (error) {
      message = error.message;
    }
    if (!message.includes(words)) faultsOfCheck.push(`${what}: ${message}`);
  }
}

/** A read that waits for its own read behind a collection, and not for the program that it causes too. */
function readBehindCollection() {
  const json = makeScene('lru', 13);
  const operations = [
    [1100, 4100, 0, 'program', 'collection', 1, [[1500, 1600]], 1100, null, null],
    [4100, 4600, 0, 'read', 'read', 1, [], 1200, 50, 7],
    [1200, 9000, 1, 'program', 'eviction', 1, 0, 1200, 50, 8],
  ];
  json.start.busy = [];
  json.start.flying = [];
  json.events = [['request', 1200, 50, 'R', 7, 1], ['done', 4600, 50, 3400, 1, 0], ...operations.map((row) => ['op', ...row])];
  json.events.sort((a, b) => a[1] - b[1]);
  json.to = 10_000;
  json.end.so_far = replay(json, json.to).counts;
  delete json.run;
  return json;
}

/** The picture says what the oldest request waits for, and what stands at a point of each picture. */
async function checkReason(watch, readStory) {
  watch.show(readStory(readBehindCollection()));
  const { controls, panels: [{ views }] } = watch;
  const text = async (t) => {
    controls.go(t);
    await settled(watch);
    return document.getElementById('in-words').textContent;
  };
  controls.takeSpeed(0);
  const arrival = await text(1200);
  const now = 'At this instant request 50 arrives, a read of 1 page; program (eviction) begins on die 1.';
  if (!arrival.includes(now)) faultsOfCheck.push(`no "${now}" in ${arrival}`);
  const words = await text(1550);
  for (const part of [
    'At 0.001550 ms.', '1 request in flight. The oldest, a read of 1 page, has waited for 350 ns: read behind collection on die 0.',
    'Queues of the dies: 1 command waiting.', 'die 0 stands still for a read: it moves pages for collection', 'die 1 programs evicted pages', '2 dies are idle',
  ]) if (!words.includes(part)) faultsOfCheck.push(`no "${part}" in ${words}`);
  same('queues', [0, 1, 2, 3].map((die) => watch.panels[0].scene.operations.waitingOn(die, 1550)), [1, 0, 0, 0]);
  same('the lane of a queue', views.lanes.describe(views.lanes.end + 2, 5), 'die 0: 1 command waiting');
  await text(4200);
  same('the lanes', views.lanes.describe(views.lanes.now - 1, 5), 'die 0: read (read) for request 50, 500 ns, queued 2.9 µs before');
  same('the last request', views.times.describe(views.times.surface.width - 3), 'request 50: read of 1 page from page 7, waiting for 3 µs');
  readBehindCollection().start.lists[0].pages.forEach((code, i) => {
    const [page, dirty] = [Math.floor(code / 2), code % 2];
    const { x, y } = views.buffer.pages.get(page);
    same('the buffer', views.buffer.describe(x + 1, y + 1), `page ${page}: ${dirty ? 'dirty' : 'clean'}, place ${i + 1} of 10 in list old`);
  });
  if (!/^block 0 of die 0: /.test(views.blocks.describe(2, 16))) faultsOfCheck.push(`the first block is ${views.blocks.describe(2, 16)}`);
}

/**
 * Three writes and two reads at once; a page enters, and two leave. The promise names one that leaves and one that stays.
 * Long after that a page comes back.
 */
function momentOfPromise() {
  const json = makeScene('lru', 14);
  const pages = [10, 11, 12, 13, 14];
  json.start.lists = [{ name: 'pages', pages: pages.map((page) => 2 * page) }];
  json.start.busy = [[1100, 400_000, 0, 'program', 'eviction', 1, [], 1100, 49, 3]];
  json.start.flying = [[49, 900, 'W', 3, 1]];
  const arrivals = [[50, 'W'], [51, 'W'], [52, 'W'], [53, 'R'], [54, 'R']];
  json.events = [
    ['splice', 4995, 0, 0, 1, []],
    ...arrivals.map(([id, op]) => ['request', 5000, id, op, 20, 1]),
    ['splice', 5000, 0, 2, 2, []], ['evict', 5000, [2 * 13, 2 * 14], 'demand'], ['splice', 5000, 0, 0, 0, [2 * 20 + 1]],
    ['op', 5000, 300_000, 1, 'program', 'eviction', 1, [], 5000, 54, 14],
    ...[50, 51, 52, 53].map((id) => ['done', 6000, id, 1000, 1, 0]), ['done', 300_000, 54, 295_000, 1, 0], ['done', 400_000, 49, 399_100, 1, 0],
    ['splice', 2_000_000, 0, 0, 0, [2 * 14]],
  ];
  json.to = 4_000_000;
  json.end.so_far = replay(json, json.to).counts;
  return { scenes: [json], story: { name: 'promise', title: 'A promise', promise: 'It leaves.', at: 5000, pages: [14, 11] } };
}

/** The instant of the promise: its button, what leaves, what is framed, and what is spoken. */
async function checkPromise(watch, readStory) {
  watch.show(readStory(momentOfPromise()));
  const { controls, panels: [{ views, scene }] } = watch;
  const left = () => views.buffer.leaving.map(({ page }) => page).sort();
  const spoken = document.getElementById('happenings');
  await settled(watch);
  const promised = 'lru: At this instant 3 writes of 1 page arrive; 2 reads of 1 page arrive; clean pages 14, 13 evicted; program (eviction) begins on die 1.';
  same('the spoken sentence', spoken.textContent, promised);
  same('the role of what is spoken', [spoken.getAttribute('role'), document.querySelectorAll('[role=status], [aria-live]').length], ['status', 1]);
  same('what leaves', left(), [13, 14]);
  same('the pages of the promise', [...views.buffer.promised], [14, 11]);
  same('the framed request', scene.watched(5000).id, 54);
  if (!document.getElementById('words').textContent.includes('Request 54, a read of 1 page, has waited for 0 ns: eviction on die 1.')) faultsOfCheck.push('the words have another request');
  const page = views.buffer.pages.get(12);
  same('rows run to the right', page.x > views.buffer.pages.get(11).x, true);
  controls.go(5500);
  await settled(watch);
  same('what has left before', [left(), views.buffer.promised.size, scene.watched(5500).id, spoken.textContent], [[], 0, 49, '']);
  const button = document.querySelector('#promise button');
  same('the time of the promise', button.textContent, '0.005000 ms');
  controls.go(3_000_000);
  button.click();
  await settled(watch);
  same('back at the promise', [controls.t, controls.playing, left()], [5000, false, [13, 14]]);
  // Four requests are answered in 1 µs: their boxes stay for a while.
  controls.go(6500);
  watch.frame(performance.now());
  const answered = () => views.buffer.answered.map(({ request }) => request.id).sort();
  same('answered requests', answered(), [50, 51, 52, 53]);
  for (const ms of [90, 90, 90, 90, 90, 90, 90, 90, 90]) watch.frame(watch.last + ms);
  same('answered requests, later', answered(), []);
  // Nothing happens for 1.6 ms, which would take 1600 seconds.
  controls.takeSpeed(0);
  controls.go(400_000);
  controls.pass(0.5);
  same('half of the gap', Math.round(controls.t), 1_200_000);
  controls.pass(0.5);
  same('the end of the gap', controls.t, 2_000_000);
}

/** Buttons say what they do, tables never say -0, and a page that stands alone has no links. */
function checkLabels({ controls }) {
  same('links of a page that stands alone', document.getElementById('stories').hidden, true);
  const names = [...document.querySelectorAll('#steps button')].map((button) => button.textContent);
  same('the steps', names, ['Next request', 'Next eviction', 'Next write-back', 'Next collection', 'Next erase']);
  controls.choose('eviction');
  same('the step back', document.getElementById('back').textContent, 'Previous eviction');
  controls.choose('request');
  const cells = [...document.querySelectorAll('td')].map((cell) => cell.textContent);
  same('cells of nothing', cells.filter((text) => /^[-−+][0. ]*( |$)/.test(text)), []);
}

/** A packed story is read as a plain one. */
async function checkPacked(storyOfPage) {
  const packed = new Response(new Blob([JSON.stringify(stories)]).stream().pipeThrough(new CompressionStream('gzip')));
  const bytes = new Uint8Array(await packed.arrayBuffer());
  let letters = '';
  for (const byte of bytes) letters += String.fromCharCode(byte);
  place.textContent = btoa(letters);
  place.dataset.encoding = 'gzip-base64';
  const story = await storyOfPage();
  same('a packed story', [story.title, story.at, story.scenes.length], [stories.story.title, stories.story.at, 2]);
}

/** An address that names no file says which stories there are. */
async function checkMissing(storyOfPage) {
  const kept = [URLSearchParams.prototype.get, globalThis.fetch];
  URLSearchParams.prototype.get = () => 'none.json';
  globalThis.fetch = async () => new Response('', { status: 404, statusText: 'Not Found' });
  place.remove();
  const message = await storyOfPage().catch((error) => error.message);
  document.head.append(place);
  [URLSearchParams.prototype.get, globalThis.fetch] = kept;
  if (!message.startsWith?.('none.json cannot be read: 404 Not Found. Stories of this site: why-lru-waits, ')) faultsOfCheck.push(`no file: ${message}`);
}

/** How many different colours a canvas has: one that is empty has one. */
function coloursOf(canvas) {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}

async function checkPage({ Scene, readStory, storyOfPage, watch }) {
  await watch.ready;
  await settled(watch);
  same('the instant of the story', watch.controls.t, stories.story.at);
  checkSeeking(Scene);
  checkSteps(watch);
  await checkKeys(watch);
  await checkWords(watch);
  await checkTable(watch);
  checkRefusals(readStory);
  await checkPacked(storyOfPage);
  await checkMissing(storyOfPage);
  await checkReason(watch, readStory);
  await checkPromise(watch, readStory);
  watch.show(readStory(stories));
  checkLabels(watch);
  watch.controls.go(1_234_567);
  await settled(watch);
  const seen = [...document.querySelectorAll('canvas')].filter((canvas) => canvas.clientWidth);
  const named = (one) => one.textContent.trim() || one.labels?.length || one.getAttribute('aria-label') || one.getAttribute('aria-labelledby');
  return {
    title: document.getElementById('title').textContent,
    colours: seen.map(coloursOf),
    fault: document.getElementById('fault').textContent,
    unnamed: [...document.querySelectorAll('button, select, input, canvas, section')].filter((one) => !one.hidden && !named(one)).map((one) => one.outerHTML.slice(0, 80)),
    width: document.documentElement.scrollWidth,
    low: lowButtons(),
    theme: getComputedStyle(document.body).backgroundColor,
    loaded: performance.getEntriesByType('resource').map((one) => one.name),
  };
}

/** Buttons that are too low for a finger, on a narrow page. */
function lowButtons() {
  if (innerWidth > 720) return [];
  const seen = [...document.querySelectorAll('button, summary')].filter((one) => one.getClientRects().length);
  return seen.filter((one) => one.getBoundingClientRect().height < 40).map((one) => one.textContent);
}

/** Tells the page around this one what there is. */
async function check(parts) {
  const told = await checkPage(parts).catch((error) => ({ failed: String(error.stack ?? error) }));
  parent.postMessage(JSON.stringify({ ...told, faults: [...faults, ...faultsOfCheck].slice(0, 8) }), '*');
}
