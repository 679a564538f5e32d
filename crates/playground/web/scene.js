// A scene: what a watched run did, and the state of its drive at any instant. The format is in docs/WATCH.md.

import { Operations } from './operations.js';
import { Requests } from './requests.js';
import { countUpTo, distinctTimes } from './sorted.js';

const SCENE_FORMAT = 'destage-scene-1';
/** Checkpoints are so many events apart at least, and so many at most. */
const LEAST_APART = 256;
const MOST_CHECKPOINTS = 256;
export const COUNTS = ['requests', 'response_sum', 'page_hits', 'page_misses', 'flash_writes', 'erases'];

/** Lists, blocks, and requests in flight. `version` changes with them. */
class State {
  constructor({ lists, blocks, open, flying }) {
    this.lists = lists.map(({ name, pages }) => ({ name, pages: [...pages] }));
    this.valid = Int32Array.from(blocks.valid);
    this.written = Int32Array.from(blocks.written);
    this.open = new Set(open);
    this.flying = new Set(flying.map(([id]) => id));
    [this.hostQueue, this.commandQueue] = [null, null];
    this.evicted = null;
    this.version = { lists: 0, blocks: 0 };
  }

  copy() {
    const { valid, written, open, flying, hostQueue, commandQueue, evicted } = this;
    return {
      lists: this.lists.map(({ name, pages }) => ({ name, pages: [...pages] })),
      valid: valid.slice(), written: written.slice(), open: new Set(open), flying: new Set(flying),
      hostQueue, commandQueue, evicted,
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
    state.version.lists++;
  },
  list(state, [, , number, name]) {
    if (number !== state.lists.length) throw new Error(`list ${number}; the next new list is ${state.lists.length}`);
    state.lists.push({ name, pages: [] });
    state.version.lists++;
  },
  evict(state, [, t, pages, cause]) {
    state.evicted = { t, pages, cause };
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
  queue(state, [, , host, commands]) {
    [state.hostQueue, state.commandQueue] = [host, commands];
  },
};

export class Scene {
  /** `json`: as in docs/WATCH.md. Everything is replayed once, so that a scene that cannot be right is refused. */
  constructor(json) {
    checkHead(json);
    const { scheme, device, trace, geometry, from, to, start, events } = json;
    Object.assign(this, { scheme, device, trace, geometry, from, to, before: start.so_far });
    const rows = events.filter(([kind]) => kind === 'op').map((event) => event.slice(1));
    this.operations = new Operations([...start.busy, ...rows], geometry.dies);
    this.requests = new Requests(start.flying, events);
    this.flow = events.filter(([kind]) => kind !== 'op');
    this.times = Float64Array.from(this.flow, (event) => event[1]);
    this.listsEver = start.lists.length + this.flow.filter(([kind]) => kind === 'list').length;
    /** Mapping units of a block. */
    this.blockUnits = geometry.pages_per_block * geometry.page_bytes / geometry.mapping_bytes;
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
    const wrong = COUNTS.filter((name) => name in expected && found[name] !== expected[name]);
    if (!wrong.length) return;
    const differences = wrong.map((name) => `${name} ${found[name]} (the run has ${expected[name]})`);
    throw new Error(`${this.scheme}: the events come to ${differences.join(', ')}`);
  }

  /** Instants to step to. */
  stepsOf() {
    const at = (name) => distinctTimes(this.flow.filter(([kind]) => kind === name).map((event) => event[1]));
    const erases = this.operations.all.filter(({ kind }) => kind === 'erase').map(({ begin }) => begin);
    const within = (times) => distinctTimes(times).filter((t) => t >= this.from && t <= this.to);
    return {
      request: at('request'), eviction: at('evict'), collection: within(this.operations.collections()), erase: within(erases),
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
    while (this.next < target) this.state.apply(this.flow[this.next++]);
    return target - begun;
  }

  /** The counts of the run up to an instant: what has ended by then. */
  countsAt(t) {
    const counted = { ...this.requests.answered.upTo(t), ...this.operations.ended.upTo(t) };
    return Object.fromEntries(COUNTS.map((name) => [name, this.before[name] + counted[name]]));
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

  /** The blocks that are collected or erased at an instant, if the operations name them. */
  victims(t) {
    const found = new Set();
    for (let die = 0; die < this.geometry.dies; die++) {
      for (const { role, kind, block } of this.operations.at(die, t)) {
        if (block !== null && (role === 'erase' || (role === 'collect' && kind === 'read'))) found.add(block);
      }
    }
    return [...found];
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
  const { dies, planes_per_die: planes, blocks_per_plane: blocks } = json.geometry;
  const { valid, written } = json.start.blocks;
  const all = dies * planes * blocks;
  if (valid.length !== all || written.length !== all) {
    throw new Error(`${json.scheme}: ${valid.length} and ${written.length} blocks, but the geometry has ${all}`);
  }
}
