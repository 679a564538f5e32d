// The operations of the dies, each with its begin and end.

import { countUpTo, groupBy } from './sorted.js';

/** What an operation is drawn as, in the order of drawing: what is short comes last. */
export const ROLES = ['erase', 'collect', 'clean', 'program', 'read'];

const ROLE_OF_KIND = { read: 'read', program: 'program', copyback: 'program', erase: 'erase' };

const COLLECTION = 'collection';
const WRITE_BACK = 'write-back';

/** Collection and write-backs are told apart from the work that a request waits for. */
function roleOf(kind, cause) {
  const role = ROLE_OF_KIND[kind];
  if (!role) throw new Error(`operation \`${kind}\`; allowed: ${Object.keys(ROLE_OF_KIND).join(', ')}`);
  if (kind === 'erase') return 'erase';
  if (cause === COLLECTION) return 'collect';
  return role === 'program' && cause === WRITE_BACK ? 'clean' : role;
}

/** The stretches in which an operation stands still. A mere sum is put at its end, just before the last of the work. */
function pausesOf(given, begin, end) {
  if (Array.isArray(given)) return given;
  return given > 0 ? [[Math.max(begin, end - given), end]] : [];
}

export class Operations {
  /** `rows`: [[begin, end, die, kind, cause, units, suspended, queued, request, page]] */
  constructor(rows, dies) {
    this.all = rows.map(([begin, end, die, kind, cause, units, suspended, queued, request, page]) => {
      if (!(die >= 0 && die < dies)) throw new Error(`operation on die ${die}; allowed: 0 to ${dies - 1}`);
      if (!(begin <= end)) throw new Error(`operation from ${begin} to ${end} ns ends before it begins`);
      const pauses = pausesOf(suspended, begin, end);
      return { begin, end, die, kind, cause, units, pauses, queued: queued ?? begin, request, page, role: roleOf(kind, cause) };
    });
    this.all.sort((a, b) => a.begin - b.begin || a.end - b.end);
    this.begins = timesOf(this.all, 'begin');
    this.byRequest = groupBy(this.all.filter(({ request }) => request != null), ({ request }) => request);
    const byDie = groupBy(this.all, ({ die }) => die);
    this.lanes = Array.from({ length: dies }, (_, die) => {
      const list = byDie.get(die) ?? [];
      return { ...laneOf(list), queued: timesOf(list, 'queued').sort(), begins: timesOf(list, 'begin') };
    });
    this.tracks = this.lanes.map(({ list }) => {
      const byRole = groupBy(list, ({ role }) => role);
      return Object.fromEntries(ROLES.map((role) => [role, laneOf(byRole.get(role) ?? [])]));
    });
  }

  /** Calls `visit` with each operation of a die that is under way between two instants. */
  visit(die, from, to, visit) {
    const { list, latest } = this.lanes[die];
    for (let i = countUpTo(latest, from); i < list.length && list[i].begin <= to; i++) {
      if (list[i].end > from) visit(list[i]);
    }
  }

  /** The same for one role, without operations that end less than `apart` after the one before. */
  visitApart(die, role, from, to, apart, visit) {
    const { list, latest } = this.tracks[die][role];
    for (let i = countUpTo(latest, from); i < list.length && list[i].begin <= to;) {
      visit(list[i]);
      i = countUpTo(latest, list[i].end + apart, i + 1);
    }
  }

  /** The operations of a die at an instant; those that stand still come last. */
  at(die, t) {
    const found = [];
    this.visit(die, t, t, (one) => found.push(one));
    return found.sort((a, b) => isPaused(a, t) - isPaused(b, t));
  }

  /** The operations that begin at an instant. */
  beginningAt(t) {
    return this.all.slice(countUpTo(this.begins, t - 1), countUpTo(this.begins, t));
  }

  /** How many operations wait for a die. */
  waitingOn(die, t) {
    const { queued, begins } = this.lanes[die];
    return countUpTo(queued, t) - countUpTo(begins, t);
  }

  /** How many operations wait for their dies. */
  waiting(t) {
    return this.lanes.reduce((sum, _, die) => sum + this.waitingOn(die, t), 0);
  }

  /**
   * The operations that a request waits for: its own that end by its answer. It causes others too, such as programs of
   * pages that a read evicts. Nothing is known of a request that is answered after the scene.
   */
  awaited({ id, done }, t) {
    if (done === Infinity) return [];
    return (this.byRequest.get(id) ?? []).filter(({ queued, end }) => queued <= t && end > t && end <= done);
  }

  /** The operation that a request waits for longest, and what runs on its die if that has not begun. */
  heldBy(request, t) {
    const own = this.awaited(request, t);
    if (!own.length) return null;
    const last = own.reduce((a, b) => (b.end > a.end ? b : a));
    const [before] = last.begin > t ? this.at(last.die, t) : [];
    return { last, before: before ?? null, waiting: last.begin > t };
  }

  /** When collections begin: with the first operation of a die's collector after an erase. */
  collections() {
    const times = [];
    for (const { list } of this.lanes) {
      let under = false;
      for (const { role, cause, begin } of list) {
        if (cause !== COLLECTION && role !== 'erase') continue;
        if (!under) times.push(begin);
        under = role !== 'erase';
      }
    }
    return times;
  }
}

/** Does an operation stand still at an instant? */
export const isPaused = (operation, t) => operation.pauses.some(([from, to]) => from <= t && t < to);

const timesOf = (list, name) => Float64Array.from(list, (one) => one[name]);

/** The operations of a die, and the latest end up to each of them. */
function laneOf(list) {
  let most = -Infinity;
  return { list, latest: Float64Array.from(list, ({ end }) => (most = Math.max(most, end))) };
}
