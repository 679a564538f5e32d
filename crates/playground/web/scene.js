// A scene: what a watched run did, and the state of its drive at any instant. The format is in docs/WATCH.md.

import { Operations } from './operations.js';
import { Requests } from './requests.js';
import { countUpTo, distinctTimes } from './sorted.js';

const SCENE_FORMAT = 'destage-scene-1';
/** Checkpoints are so many events apart at least, and so many at most. */
const LEAST_APART = 256;
const MOST_CHECKPOINTS = 256;
const NO_PAGES = new Set();
/** What `counts` events have. */
const COUNTERS = ['page_hits', 'page_misses', 'flash_writes', 'erases'];

/** Lists, blocks, and requests in flight. `version` changes with them. */
class State {
  constructor({ lists, blocks, open, flying }) {
    this.lists = lists.map(({ name, pages }) => ({ name, pages: [...pages] }));
    this.valid = Int32Array.from(blocks?.valid ?? []);
    this.written = Int32Array.from(blocks?.written ?? []);
    this.open = new Set(open);
    this.flying = new Set(flying.map(([id]) => id));
    this.forget();
    this.version = { lists: 0, blocks: 0 };
  }

  /** Begins anew with what the events since then did: pages that they put somewhere, and pages with new addresses. */
  forget() {
    Object.assign(this, { placed: new Set(), renamed: [] });
  }

  copy() {
    const { valid, written, open, flying } = this;
    return {
      lists: this.lists.map(({ name, pages }) => ({ name, pages: [...pages] })),
      valid: valid.slice(), written: written.slice(), open: new Set(open), flying: new Set(flying),
    };
  }

  restore(kept) {
    const { version } = this;
    Object.assign(this, State.prototype.copy.call(kept));
    this.version = { lists: version.lists + 1, blocks: version.blocks + 1 };
  }

  apply(event) {
    const change = CHANGES[event[0]];
    if (!change) throw new Error(`\`${event[0]}\` is no event; allowed: op, ${Object.keys(CHANGES).join(', ')}`);
    change(this, event);
  }
}

/** What each event changes. */
const CHANGES = {
  request(state, [, , id]) {
    if (state.flying.has(id)) throw new Error(`request ${id} comes again`);
    state.flying.add(id);
  },
  done(state, [, , id]) {
    if (!state.flying.delete(id)) throw new Error(`request ${id} is not in flight`);
  },
  splice(state, [, , number, start, removed, pages]) {
    const list = state.lists[number]?.pages;
    if (!list) throw new Error(`list ${number}; allowed: 0 to ${state.lists.length - 1}`);
    if (start + removed > list.length) {
      throw new Error(`list ${number} has ${list.length} pages, and ${removed} from ${start} on leave`);
    }
    list.splice(start, removed, ...pages);
    for (const code of pages) state.placed.add(Math.floor(code / 2));
    state.version.lists++;
  },
  list(state, [, , number, name]) {
    if (number !== state.lists.length) throw new Error(`list ${number}; the next new list is ${state.lists.length}`);
    state.lists.push({ name, pages: [] });
    state.version.lists++;
  },
  rename(state, [, , from, to]) {
    state.renamed.push([from, to]);
  },
  blocks(state, [, , changes]) {
    for (const [block, valid, written] of changes) {
      if (!(block in state.valid)) throw new Error(`block ${block}; allowed: 0 to ${state.valid.length - 1}`);
      state.valid[block] = valid;
      state.written[block] = written;
    }
    state.version.blocks++;
  },
  open(state, [, , blocks]) {
    state.open = new Set(blocks);
    state.version.blocks++;
  },
  // What leaves the lists or moves is in splices, and counts are looked up by their time.
  evict() {},
  'write-back'() {},
  bypass() {},
  discard() {},
  counts() {},
};

export class Scene {
  /** `json`: as in docs/WATCH.md. Everything is replayed once, so that a scene that cannot be right is refused. */
  constructor(json) {
    checkHead(json);
    const { scheme, device, trace, geometry, from, to, start, events, run } = json;
    Object.assign(this, { scheme, device, trace, geometry, from, to, before: start.so_far, run, promise: { at: null, pages: NO_PAGES } });
    const rows = events.filter(([kind]) => kind === 'op').map((event) => event.slice(1));
    this.operations = new Operations([...start.busy, ...rows, ...(json.end.waiting ?? [])], geometry.dies);
    this.requests = new Requests(start.flying, events);
    this.flow = events.filter(([kind]) => kind !== 'op');
    this.times = Float64Array.from(this.flow, (event) => event[1]);
    this.listNames = [...start.lists.map(({ name }) => name), ...this.flow.filter(([kind]) => kind === 'list').map((event) => event[3])];
    const counts = this.flow.filter(([kind]) => kind === 'counts');
    this.counted = { times: Float64Array.from(counts, (event) => event[1]), rows: counts.map((event) => event.slice(2)) };
    this.state = new State(start);
    this.keepCheckpoints();
    this.checkCounts(json.end.so_far);
    this.steps = this.stepsOf();
    this.seek(from);
  }

  /** Replays all events, and keeps the state now and then. */
  keepCheckpoints() {
    this.apart = Math.max(LEAST_APART, Math.ceil(this.flow.length / MOST_CHECKPOINTS));
    this.checkpoints = [{ next: 0, state: this.state.copy() }];
    let before = this.from;
    for (let i = 0; i < this.flow.length; i++) {
      if (i > 0 && i % this.apart === 0) this.checkpoints.push({ next: i, state: this.state.copy() });
      const event = this.flow[i];
      try {
        if (!(event[1] >= before)) throw new Error(`its time is before ${before} ns`);
        before = event[1];
        this.state.apply(event);
      } catch (error) {
        throw new Error(`${this.scheme}: ${event[0]} at ${event[1]} ns: ${error.message}`);
      }
    }
    this.next = this.flow.length;
  }

  /** What is counted event by event must be what the run counted. */
  checkCounts(expected) {
    const found = this.countsAt(this.to);
    const wrong = Object.keys(found).filter((name) => found[name] !== expected[name]);
    if (!wrong.length) return;
    const differences = wrong.map((name) => `${name} ${found[name]} (the run has ${expected[name]})`);
    throw new Error(`${this.scheme}: the events come to ${differences.join(', ')}`);
  }

  /** Instants to step to. */
  stepsOf() {
    const at = (name) => distinctTimes(this.flow.filter(([kind]) => kind === name).map((event) => event[1]));
    const backs = this.flow.filter(([kind, , , step]) => kind === 'write-back' && step === 'started').map((event) => event[1]);
    const erases = this.operations.all.filter(({ kind }) => kind === 'erase').map(({ begin }) => begin);
    const within = (times) => distinctTimes(times).filter((t) => t >= this.from && t <= this.to);
    return {
      request: at('request'), eviction: at('evict'), 'write-back': distinctTimes(backs),
      collection: within(this.operations.collections()), erase: within(erases),
    };
  }

  /** Brings the state to an instant: all events up to and at `t`. Says how many events were applied. */
  seek(t) {
    const target = countUpTo(this.times, t);
    const nearest = this.checkpoints[Math.min(Math.floor(target / this.apart), this.checkpoints.length - 1)];
    if (target < this.next || nearest.next > this.next) {
      this.state.restore(nearest.state);
      this.next = nearest.next;
    }
    const begun = this.next;
    this.state.forget();
    while (this.next < target) this.state.apply(this.flow[this.next++]);
    return target - begun;
  }

  /** What happens at an instant, but for operations. */
  eventsAt(t) {
    return this.flow.slice(countUpTo(this.times, t - 1), countUpTo(this.times, t));
  }

  /** The counts of the run up to an instant. */
  countsAt(t) {
    const answered = this.requests.answered.upTo(t);
    const { times, rows } = this.counted;
    const last = rows[countUpTo(times, t) - 1] ?? COUNTERS.map((name) => this.before[name]);
    return {
      requests: this.before.requests + answered.requests, response_sum: this.before.response_sum + answered.response_sum,
      ...Object.fromEntries(COUNTERS.map((name, i) => [name, last[i]])),
    };
  }

  /** The pages that leave the buffer at an instant, coded as they were before it. Some come and leave at once. */
  leftAt(t) {
    const codes = () => this.state.lists.flatMap(({ pages }) => pages);
    this.seek(t - 1);
    const before = codes();
    this.seek(t);
    const kept = new Set([...codes().map((code) => Math.floor(code / 2)), ...this.state.renamed.map(([from]) => from)]);
    const evicted = this.eventsAt(t).filter(([kind]) => kind === 'evict').flatMap((event) => event[2]);
    const left = new Map([...before, ...evicted].map((code) => [Math.floor(code / 2), code]));
    return [...left].filter(([page]) => !kept.has(page)).map(([, code]) => code);
  }

  /** The pages that the promise names, at its instant. */
  promisedAt(t) {
    return t === this.promise.at ? this.promise.pages : NO_PAGES;
  }

  /** The request whose operations have frames: the one that the promise is about, or the one in flight for longest. */
  watched(t) {
    const { flying } = this.state;
    const [last] = t === this.promise.at ? this.requests.latest(t, 1) : [];
    if (last && flying.has(last.id)) return last;
    const [id] = flying;
    return id === undefined ? null : this.requests.byId.get(id);
  }

  /** Pages in the write buffer, and how many of them are dirty. */
  fill() {
    let [pages, dirty] = [0, 0];
    for (const list of this.state.lists) {
      pages += list.pages.length;
      for (const code of list.pages) dirty += code & 1;
    }
    return { pages, dirty };
  }

  /** Blocks without data, and blocks that are written now. */
  blockCounts() {
    let free = 0;
    for (const [block, units] of this.state.written.entries()) free += units === 0 && !this.state.open.has(block);
    return { free, open: this.state.open.size, all: this.state.written.length };
  }
}

/** Refuses what is no scene. */
function checkHead(json) {
  if (json?.format !== SCENE_FORMAT) throw new Error(`the format is ${JSON.stringify(json?.format)}, not "${SCENE_FORMAT}"`);
  for (const key of ['scheme', 'geometry', 'from', 'to', 'start', 'events', 'end']) {
    if (json[key] == null) throw new Error(`a scene without \`${key}\``);
  }
  if (json.run && json.run.host_writes == null) throw new Error(`${json.scheme}: a run without \`host_writes\``);
  if (!json.start.blocks) return;
  const { dies, planes_per_die: planes, blocks_per_plane: blocks } = json.geometry;
  const { valid, written } = json.start.blocks;
  // Blocks that span all dies are no blocks of a plane.
  const all = planes ? dies * planes * blocks : Math.ceil(valid.length / blocks) * blocks;
  if (valid.length !== all || written.length !== all) {
    throw new Error(`${json.scheme}: ${valid.length} and ${written.length} blocks, but the geometry has ${all}`);
  }
}
