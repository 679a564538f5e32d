// What the picture shows, as text.

import { number, percent, time } from './format.js';
import { isPaused } from './operations.js';
import { groupBy } from './sorted.js';

/** Means of fewer answers of a scene say little. */
const LEAST_ANSWERS = 5;

/** Lists that the page knows: the pattern of their names, a name, and a meaning. */
const LISTS = [
  [/^pages$/, 'pages', 'the pages of the scheme that no other list has'],
  [/^working region$/, 'working region', 'CFLRU: pages that were used last'],
  [/^clean-first region$/, 'clean-first region', 'CFLRU: pages that were used longest ago; clean ones leave before dirty ones'],
  [/^IRL$/, 'IRL', 'Req-block: pages of new requests'],
  [/^SRL$/, 'SRL', 'Req-block: pages of small requests that were hit'],
  [/^DRL$/, 'DRL', 'Req-block: pages that were hit, divided from large requests'],
  [/^LDR$/, 'LDR', 'Prober: pages of streams of large writes, which leave first'],
  [/^clean$/, 'clean', 'clean pages, which leave without a program'],
  [/^chip \d+/, 'chip N', 'ECR: dirty pages that chip N will program'],
];

export const OPERATIONS = { R: 'read', W: 'write', T: 'trim', F: 'flush' };

/** A time without zeros at its end: `1 ms`. */
export const plainTime = (ns) => time(ns).replace(/(\.\d*?)0+ /, '$1 ').replace(/\. /, ' ');

const SIX_DECIMALS = new Intl.NumberFormat('en', { minimumFractionDigits: 6, maximumFractionDigits: 6 });

/** An instant with six decimals, in seconds or milliseconds. */
export function instantText(ns) {
  const [unit, name] = ns >= 1e9 ? [1e9, 's'] : [1e6, 'ms'];
  return `${SIX_DECIMALS.format(ns / unit)} ${name}`;
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

/** A noun with the numbers of pages or dies, of many the first ones. Numbers of `named` come before others. */
export function listed(noun, numbers, named = new Set()) {
  const ordered = [...numbers].sort((a, b) => named.has(b) - named.has(a));
  const [first, more] = [ordered.slice(0, 4).join(', '), numbers.length - 4];
  return `${noun}${numbers.length === 1 ? '' : 's'} ${first}${more > 0 ? ` and ${number(more)} more` : ''}`;
}

/** What events of a kind say together, in the order in which they are told; `named` are the pages to tell first. */
const TOLD = {
  request: (events) => [...groupBy(events, ([, , , op, , pages]) => `${OPERATIONS[op] ?? op}|${many(pages, 'page')}`)].map(([key, rows]) => {
    const [op, pages] = key.split('|');
    return rows.length === 1 ? `request ${rows[0][2]} arrives, a ${op} of ${pages}` : `${many(rows.length, op)} of ${pages} arrive`;
  }),
  evict(events, named) {
    const codes = events.flatMap(([, , pages]) => pages);
    return [['dirty', 1], ['clean', 0]].flatMap(([name, bit]) => {
      const pages = codes.filter((code) => code % 2 === bit).map((code) => Math.floor(code / 2));
      return pages.length ? `${name} ${listed('page', pages, named)} evicted` : [];
    });
  },
  'write-back': (events, named) => [...groupBy(events, ([, , , step]) => step)]
    .map(([step, rows]) => `write-back of ${listed('page', rows.map(([, , page]) => page), named)} ${step}`),
  bypass: (events, named) => `${listed('page', events.map(([, , page]) => page), named)} written past the write buffer`,
  discard: (events, named) => `${listed('page', events.flatMap(([, , pages]) => pages), named)} discarded, superseded by newer data`,
  rename: (events) => events.map(([, , from, to]) => `page ${from} renamed to page ${to}`),
  done: (events) => [...groupBy(events, ([, , , response]) => plainTime(response))]
    .map(([response, rows]) => `${rows.length === 1 ? `request ${rows[0][2]}` : many(rows.length, 'request')} answered in ${response}`),
};

/** What happens at an instant; nothing if nothing does. */
export function happenings(scene, t) {
  const events = groupBy(scene.eventsAt(t), ([kind]) => kind);
  const told = Object.entries(TOLD).flatMap(([kind, tell]) => (events.has(kind) ? tell(events.get(kind), scene.promisedAt(t)) : []));
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

/** The request whose operations have frames. */
function watchedText(scene, t) {
  const request = scene.watched(t);
  const [oldest] = scene.state.flying;
  const what = `${OPERATIONS[request.op] ?? request.op} of ${many(request.pages, 'page')}`;
  const reason = reasonOf(scene, request, t);
  const name = request.id === oldest ? 'The oldest' : `Request ${request.id}`;
  return `${name}, a ${what}, has waited for ${plainTime(t - request.at)}${reason ? `: ${reason}` : ''}.`;
}

/** The text of a scheme at an instant, as short sentences. Those of `happenings` come before them. */
export function sentences(scene, t) {
  const { state, geometry, requests } = scene;
  const fill = scene.fill();
  const blocks = scene.blockCounts();
  const lists = state.lists.filter(({ pages }) => pages.length).map(({ name, pages }) => `${name} ${number(pages.length)}`);
  const answers = requests.lastAnswers(t, 5).map(({ response }) => plainTime(response));
  return [
    state.flying.size ? `${many(state.flying.size, 'request')} in flight. ${watchedText(scene, t)}` : 'No request in flight.',
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
    row('page hit ratio', 'page_hit_ratio', percent, points), row('flash writes', 'host_writes', number),
    row('with collection and metadata', 'flash_writes', number), row('blocks erased', 'erases', number),
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
  const inScene = scenes.map((scene) => scene.requests.answered.upTo(t));
  const counts = scenes.map((scene) => scene.countsAt(t));
  const means = counts.map(meanOf);
  const of = (name) => counts.map((one) => one[name]);
  const ratios = counts.map(({ page_hits: hits, page_misses: misses }) => (hits + misses ? hits / (hits + misses) : null));
  return [
    tableRow('in this scene: mean response time', inScene.map(meanOf), time),
    tableRow('in this scene: requests answered', inScene.map(({ requests }) => requests), number),
    tableRow('mean response time', means, time),
    tableRow('requests answered', of('requests'), number),
    tableRow('page hits', of('page_hits'), number),
    tableRow('page misses', of('page_misses'), number),
    tableRow('page hit ratio', ratios, percent, points),
    tableRow('flash writes with collection and metadata', of('flash_writes'), number),
    tableRow('blocks erased', of('erases'), number),
  ];
}

function signed(difference, show) {
  const text = show(Math.abs(difference));
  return /[1-9]/.test(text) ? `${difference > 0 ? '+' : '−'}${text}` : 'equal';
}

/** What the second scheme has counted more or less than the first. */
export function differences(scenes, t) {
  if (scenes.length < 2) return '';
  const [a, b] = scenes.map((scene) => scene.countsAt(t));
  const of = (name, noun) => `${noun} ${signed(b[name] - a[name], number)}`;
  const parts = [of('page_hits', 'page hits'), of('flash_writes', 'flash writes with collection and metadata'), of('erases', 'blocks erased')];
  return `Since the start of the run, ${scenes[1].scheme} minus ${scenes[0].scheme}: ${parts.join(', ')}.`;
}

/** The mean response times of the scene, once each scheme has some answers, or else those since the start of the run. */
export function meansAt(scenes, t) {
  const inScene = scenes.map((scene) => scene.requests.answered.upTo(t));
  if (inScene.every(({ requests }) => requests >= LEAST_ANSWERS)) return { since: 'in this scene', means: inScene.map(meanOf) };
  return { since: 'since the start of the run', means: scenes.map((scene) => meanOf(scene.countsAt(t))) };
}

/** How many requests of the run came before the scene. */
export function requestsBefore(scenes) {
  const counts = scenes.map(({ before }) => number(before.requests));
  return `${[...new Set(counts)].join(' and ')} requests before this scene`;
}

/** Which scheme has the lower mean, in a few words. */
function comparison([a, b], means) {
  if (means[0] === means[1]) return `both answer in ${plainTime(means[0])} on average`;
  const [fast, slow, least, most] = means[0] < means[1] ? [a, b, ...means] : [b, a, means[1], means[0]];
  const factor = most / least;
  const times = factor >= 1.95
    ? `${number(factor, factor < 10 ? 1 : 0)} times as fast as` : `in ${number(100 * (1 - least / most), 1)} % less time than`;
  return `${fast.scheme} answers ${times} ${slow.scheme}: ${plainTime(least)} against ${plainTime(most)} on average`;
}

/** How many requests of the scene each scheme has answered, if one waits longer: a mean lacks the requests that wait. */
function unevenAnswers(scenes, t) {
  const [a, b] = scenes.map((scene) => scene.requests.answered.upTo(t).requests);
  return a === b ? '' : ` ${scenes[0].scheme} has answered ${many(a, 'request')} of this scene, ${scenes[1].scheme} ${number(b)}.`;
}

/** Which scheme answers faster up to an instant, and in the whole run. */
export function verdict(scenes, t) {
  if (scenes.length < 2) return '';
  const { since, means } = meansAt(scenes, t);
  const now = means.includes(null) ? 'No request of both schemes is answered yet.'
    : `So far ${since}, ${comparison(scenes, means)}.${unevenAnswers(scenes, t)}`;
  const whole = scenes.map(({ run }) => run?.mean_ns ?? null);
  return whole.includes(null) ? now : `${now} In the whole run, ${comparison(scenes, whole)}.`;
}

/** How the ends of lists are told apart. Only of some schemes it is known that the last page leaves next. */
export function endsOf({ scheme, listNames }) {
  const known = listNames.length === 1 && /^((cac|drain|idle-clean)\()*(fifo|lru)\)*$/.test(scheme);
  return known ? { first: 'newest', last: 'leaves next' } : { first: 'head', last: 'tail' };
}

/** The lists of scenes that the page knows, each with its meaning. */
export function listTexts(scenes) {
  const names = [...new Set(scenes.flatMap(({ listNames }) => listNames))];
  const known = LISTS.filter(([pattern]) => names.some((name) => pattern.test(name)));
  return known.map(([, name, text]) => `${name}: ${text}`);
}
