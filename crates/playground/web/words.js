// What the picture shows, as text.

import { number, percent, time } from './format.js';
import { isPaused } from './operations.js';
import { groupBy } from './sorted.js';

export const OPERATIONS = { R: 'read', W: 'write', T: 'trim', F: 'flush' };

/** A time without zeros at its end: `1 ms`. */
export const plainTime = (ns) => time(ns).replace(/(\.\d*?)0+ /, '$1 ').replace(/\. /, ' ');

/** A time to the nanosecond, in seconds or milliseconds. */
export function exactTime(ns) {
  const [unit, digits, name] = ns >= 1e9 ? [1e9, 9, 's'] : [1e6, 6, 'ms'];
  return `${(ns / unit).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${name}`;
}

/** `1 page`, `2 pages`. */
export const many = (n, noun) => `${number(n)} ${noun}${n === 1 ? '' : 's'}`;

/** What an operation does, after the number of its die. */
const DOING = {
  read: 'reads data of a request', eviction: 'programs evicted pages', 'write-back': 'writes dirty pages back',
  collection: 'moves pages for collection', bypass: 'programs pages past the write buffer', flush: 'programs flushed pages',
  'read before program': 'reads old pages before a program', 'read before write-back': 'reads old pages before a write-back',
};

function doing({ kind, cause }) {
  if (kind === 'erase') return 'erases a block';
  const verb = { read: 'reads', program: 'programs', copyback: 'copies' }[kind];
  return DOING[cause] ?? `${verb} (${cause})`;
}

/** What a request waits for, in a few words; nothing if it waits for no die. */
export function reasonOf(scene, request, t) {
  const held = scene.operations.heldBy(request, t);
  if (!held) return '';
  const { last, before, waiting } = held;
  const what = (one) => (one.kind === 'erase' ? 'erase' : one.cause);
  return waiting && before ? `${what(last)} behind ${what(before)} on die ${last.die}` : `${what(last)} on die ${last.die}`;
}

/** `0, 3 to 5, and 9`. */
function ranges(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length; i++) {
    const first = i;
    while (numbers[i + 1] === numbers[i] + 1) i++;
    parts.push(i - first > 1 ? `${numbers[first]} to ${numbers[i]}` : numbers.slice(first, i + 1).join(', '));
  }
  return parts.join(', ');
}

/** What each die does at an instant; dies that do the same stand together. */
export function dieTexts(scene, t) {
  const groups = new Map();
  let idle = 0;
  for (let die = 0; die < scene.geometry.dies; die++) {
    const under = scene.operations.at(die, t);
    if (!under.length) idle++;
    for (const one of under) {
      const text = isPaused(one, t) ? `stands still for a read: it ${doing(one)}` : doing(one);
      if (!groups.has(text)) groups.set(text, []);
      if (groups.get(text).at(-1) !== die) groups.get(text).push(die);
    }
  }
  const texts = [...groups].map(([text, dies]) => (dies.length === 1 ? `die ${dies[0]} ${text}` : `dies ${ranges(dies)}: each ${text}`));
  if (idle) texts.push(idle === scene.geometry.dies ? 'all dies are idle' : `${many(idle, 'die')} ${idle === 1 ? 'is' : 'are'} idle`);
  return texts;
}

/** A noun with the numbers of pages or dies, of many the first ones. */
function listed(noun, numbers) {
  const [first, more] = [numbers.slice(0, 4).join(', '), numbers.length - 4];
  return `${noun}${numbers.length === 1 ? '' : 's'} ${first}${more > 0 ? ` and ${number(more)} more` : ''}`;
}

/** What events of a kind say together, in the order in which they are told. */
const TOLD = {
  request: (events) => events.map(([, , id, op, , pages]) => `request ${id} arrives, a ${OPERATIONS[op] ?? op} of ${many(pages, 'page')}`),
  evict(events) {
    const codes = events.flatMap(([, , pages]) => pages);
    return [['dirty', 1], ['clean', 0]].flatMap(([name, bit]) => {
      const pages = codes.filter((code) => code % 2 === bit).map((code) => Math.floor(code / 2));
      return pages.length ? `${name} ${listed('page', pages)} evicted` : [];
    });
  },
  'write-back': (events) => [...groupBy(events, ([, , , step]) => step)]
    .map(([step, rows]) => `write-back of ${listed('page', rows.map(([, , page]) => page))} ${step}`),
  bypass: (events) => `${listed('page', events.map(([, , page]) => page))} written past the write buffer`,
  discard: (events) => `${listed('page', events.flatMap(([, , pages]) => pages))} discarded, superseded by newer data`,
  rename: (events) => events.map(([, , from, to]) => `page ${from} renamed to page ${to}`),
  done: (events) => events.map(([, , id, response]) => `request ${id} answered in ${plainTime(response)}`),
};

/** What happens at an instant; nothing if nothing does. */
export function happenings(scene, t) {
  const events = groupBy(scene.eventsAt(t), ([kind]) => kind);
  const told = Object.entries(TOLD).flatMap(([kind, tell]) => (events.has(kind) ? tell(events.get(kind)) : []));
  const begun = groupBy(scene.operations.beginningAt(t), ({ kind, cause }) => `${kind} (${cause})`);
  for (const [what, list] of begun) told.push(`${what} begins on ${listed('die', [...new Set(list.map(({ die }) => die))])}`);
  return told.join('; ');
}

const busyDies = (scene, t) => Array.from({ length: scene.geometry.dies }, (_, die) => scene.operations.at(die, t).length).filter(Boolean).length;

/** The state of each part in a few words. */
export function captions(scene, t) {
  const { state, geometry } = scene;
  const fill = scene.fill();
  const blocks = scene.blockCounts();
  const [last] = scene.requests.lastAnswers(t, 1);
  const flying = state.flying.size ? `, ${many(state.flying.size, 'request')} in flight` : '';
  return {
    buffer: `${number(fill.pages)} of ${many(geometry.frames, 'page')}, ${number(fill.dirty)} dirty${flying}`,
    lanes: `${busyDies(scene, t)} of ${geometry.dies} busy, ${many(scene.operations.waiting(t), 'command')} waiting`,
    blocks: `${number(blocks.free)} of ${number(blocks.all)} free, ${number(blocks.open)} open`,
    times: last ? `last ${plainTime(last.response)}` : 'none in this scene yet',
  };
}

export const meanOf = ({ requests, response_sum: sum }) => (requests ? sum / requests : null);

function oldest(scene, request, t) {
  const what = `${OPERATIONS[request.op] ?? request.op} of ${many(request.pages, 'page')}`;
  const reason = reasonOf(scene, request, t);
  return `The oldest, a ${what}, has waited for ${plainTime(t - request.at)}${reason ? `: ${reason}` : ''}.`;
}

/** The text of a scheme at an instant, as short sentences. */
export function sentences(scene, t) {
  const { state, geometry, requests } = scene;
  const flying = [...state.flying].map((id) => requests.byId.get(id));
  const fill = scene.fill();
  const blocks = scene.blockCounts();
  const lists = state.lists.filter(({ pages }) => pages.length).map(({ name, pages }) => `${name} ${number(pages.length)}`);
  const answers = requests.lastAnswers(t, 5).map(({ response }) => plainTime(response));
  const now = happenings(scene, t);
  return [
    now ? `At this instant: ${now}.` : null,
    flying.length ? `${many(flying.length, 'request')} in flight. ${oldest(scene, flying[0], t)}` : 'No request in flight.',
    `Queues of the dies: ${many(scene.operations.waiting(t), 'command')} waiting.`,
    `Write buffer: ${number(fill.pages)} of ${many(geometry.frames, 'page')}, ${number(fill.dirty)} dirty. Lists: ${lists.join(', ') || 'empty'}.`,
    `Dies: ${dieTexts(scene, t).join('; ')}.`,
    blocks.all ? `Blocks: ${number(blocks.free)} of ${number(blocks.all)} free, ${number(blocks.open)} open.` : null,
    answers.length ? `Last response times, newest first: ${answers.join(', ')}.` : 'No response in this scene yet.',
  ].filter(Boolean);
}

/** Rows of the table of whole runs, as `destage run` prints them; none if the scenes do not have them. */
export function runRows(scenes) {
  const runs = scenes.map(({ run }) => run);
  if (runs.some((run) => run == null)) return [];
  const row = (name, key, ...show) => tableRow(name, runs.map((run) => run[key]), ...show);
  return [
    row('mean response time', 'mean_ns', time), row('99th percentile', 'p99_ns', time), row('requests', 'requests', number),
    row('page hit ratio', 'page_hit_ratio', percent, points), row('pages written to flash', 'flash_writes', number),
    row('blocks erased', 'erases', number),
  ];
}

const points = (ratio) => `${(100 * ratio).toFixed(1)} points`;

function tableRow(name, values, show, showDifference = show) {
  const [a, b] = values;
  const difference = values.length < 2 || a == null || b == null ? null : signed(b - a, showDifference);
  return { name, values: values.map((value) => (value == null ? '–' : show(value))), difference };
}

/** Rows of the table of counts: name, value of each scheme, and the difference of the second from the first. */
export function countRows(scenes, t) {
  const counts = scenes.map((scene) => scene.countsAt(t));
  const means = counts.map(meanOf);
  const of = (name) => counts.map((one) => one[name]);
  const ratios = counts.map(({ page_hits: hits, page_misses: misses }) => (hits + misses ? hits / (hits + misses) : null));
  return [
    tableRow('mean response time', means, time),
    tableRow('requests answered', of('requests'), number),
    tableRow('page hits', of('page_hits'), number),
    tableRow('page misses', of('page_misses'), number),
    tableRow('page hit ratio', ratios, percent, points),
    tableRow('pages written to flash', of('flash_writes'), number),
    tableRow('blocks erased', of('erases'), number),
  ];
}

function signed(difference, show) {
  if (difference === 0) return 'equal';
  return `${difference > 0 ? '+' : '−'}${show(Math.abs(difference))}`;
}

/** What the second scheme has counted more or less than the first. */
export function differences(scenes, t) {
  if (scenes.length < 2) return '';
  const [a, b] = scenes.map((scene) => scene.countsAt(t));
  const of = (name, noun) => `${noun} ${signed(b[name] - a[name], number)}`;
  const parts = [of('page_hits', 'page hits'), of('flash_writes', 'pages written to flash'), of('erases', 'blocks erased')];
  return `${scenes[1].scheme} compared with ${scenes[0].scheme}: ${parts.join(', ')}.`;
}

/** Who answers faster so far, in a sentence. */
export function verdict(scenes, t) {
  if (scenes.length < 2) return '';
  const [a, b] = scenes.map((scene) => ({ scheme: scene.scheme, counts: scene.countsAt(t), mean: meanOf(scene.countsAt(t)) }));
  if (a.mean === null || b.mean === null) return 'So far, no request of both schemes is answered.';
  const [fast, slow] = a.mean <= b.mean ? [a, b] : [b, a];
  if (fast.mean === slow.mean) return `So far, both answer in ${plainTime(a.mean)} on average.`;
  const factor = slow.mean / fast.mean;
  const times = factor >= 1.95
    ? `${number(factor, factor < 10 ? 1 : 0)} times as fast as` : `in ${number(100 * (1 - fast.mean / slow.mean), 1)} % less time than`;
  return `So far, ${fast.scheme} answers ${times} ${slow.scheme}: ${plainTime(fast.mean)} against ${plainTime(slow.mean)} on average.`;
}
