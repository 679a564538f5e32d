// The requests of the host, each with its arrival and its answer.

import { Sums, countUpTo } from './sorted.js';

export class Requests {
  /** `flying`: [[id, at, op, first page, pages]]; `events`: those of the scene. */
  constructor(flying, events) {
    const arrivals = events.filter(([kind]) => kind === 'request');
    const rows = [...flying, ...arrivals.map(([, at, id, op, first, pages]) => [id, at, op, first, pages])];
    this.list = rows.map(([id, at, op, first, pages]) => ({ id, at, op, first, pages, done: Infinity, response: null }));
    this.list.sort((a, b) => a.at - b.at);
    this.arrivals = Float64Array.from(this.list, ({ at }) => at);
    this.byId = new Map(this.list.map((one) => [one.id, one]));
    const answers = events.filter(([kind]) => kind === 'done');
    for (const [, done, id, response, accesses, hits] of answers) {
      const request = this.byId.get(id);
      if (!request) throw new Error(`request ${id} ends at ${done} ns, but it never came`);
      Object.assign(request, { done, response, hits, accesses });
    }
    this.answers = answers.map(([, , id]) => this.byId.get(id));
    this.answered = new Sums(['requests', 'response_sum'],
      answers.map(([, t, , response, , , counts = 1]) => [t, counts, counts * response]));
  }

  /** The requests that came last, oldest first. */
  latest(t, count) {
    const end = countUpTo(this.arrivals, t);
    return this.list.slice(Math.max(0, end - count), end);
  }

  /** The requests that were answered last, newest first. */
  lastAnswers(t, count) {
    const end = countUpTo(this.answered.times, t);
    return this.answers.slice(Math.max(0, end - count), end).reverse();
  }
}
