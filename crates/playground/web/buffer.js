// The write buffer: the requests above it, its pages in the lists of the scheme, and below them the pages that leave.

import { number } from './format.js';
import { CANVAS_FONT } from './surface.js';
import { OPERATIONS, endsOf, listed, many, plainTime, reasonOf } from './words.js';

/** A line for requests in flight, and one for requests that were just answered. */
const REQUEST_LINE = 25;
const REQUESTS_HEIGHT = 2 * REQUEST_LINE + 2;
/** Room for the number of requests that are not shown. */
const MORE = 86;
/** Names of few lists stand above them; those of many stand at their left. */
const LIST_HEAD = 17;
const LIST_LEFT = { from: 4, width: 92, height: 14 };
const FRAME = { most: 15, least: 4, area: 34_000 };
/** With more lists than this the lists follow each other without names. */
const MOST_NAMED = 24;
/** The line of the pages that leave, and room for its name. */
const LEFT = { height: 24, label: 76 };
/** With more pages than this, or after more changes than this at once, nothing moves: it jumps. */
const MOST_MOVING = 2048;
const MOST_CHANGES = 80;
/** How long a page moves and shines, and how long pages that left and answers stay while time passes, in ms. */
const MOVE = 90;
const SHINE = 700;
const STAY = 700;
const MOST_ANSWERS = 8;

const pageOf = (code) => Math.floor(code / 2);

export class Buffer {
  constructor(surface, scene) {
    Object.assign(this, { surface, scene, pages: new Map(), leaving: [], slot: 0, answered: [], version: null, stale: true });
    this.named = scene.listNames.length <= MOST_NAMED;
  }

  /** Room for all frames, however they are spread over the lists. */
  layOut(width) {
    const { frames } = this.scene.geometry;
    const cell = Math.max(FRAME.least, Math.min(FRAME.most, Math.floor(Math.sqrt((width * FRAME.area) / 600 / frames))));
    const lists = this.named ? this.scene.listNames.length : 0;
    const left = lists >= LIST_LEFT.from ? LIST_LEFT.width : 0;
    const head = left || !lists ? 0 : LIST_HEAD;
    const columns = Math.max(1, Math.floor((width - left) / cell));
    // Room that a list takes beside its rows: its name, or the rest of the height of a name.
    const extra = left ? Math.max(2, LIST_LEFT.height - cell) : head;
    // Each list but the first may begin a row that it does not fill.
    const rows = Math.ceil(frames / columns) + Math.max(0, lists - 1);
    const top = REQUESTS_HEIGHT + (left ? LIST_HEAD : 0);
    Object.assign(this, { cell, columns, left, head, top, height: top + lists * extra + rows * cell + LEFT.height });
  }

  /** Draws the buffer; `passed` is the time since the last picture in ms, and `changes` counts the events since then. */
  draw(t, paints, width, { passed, changes, still, playing }) {
    const wider = width !== this.width;
    if (wider) {
      this.width = width;
      this.layOut(width);
    }
    const { scene } = this;
    const { state } = scene;
    const far = wider || changes > MOST_CHANGES || this.pages.size > MOST_MOVING || this.version === null;
    const jump = far || still;
    const paused = !playing && (t !== this.t || this.played);
    const at = playing ? [] : scene.eventsAt(t).filter(([kind]) => kind === 'splice');
    this.fresh = new Set(at.flatMap((event) => event[5]).map(pageOf));
    this.promised = scene.promisedAt(t);
    this.keepAnswers(t, far, passed);
    const gone = new Map();
    if (this.version !== state.version.lists || wider) {
      this.version = state.version.lists;
      this.place(jump, gone);
    }
    if (playing && !far) this.leave([...gone.values()], gone);
    if (paused || this.played !== playing) this.stale = true;
    if (paused) {
      [this.leaving, this.slot] = [[], 0];
      this.leave(scene.leftAt(t).map((code) => ({ page: pageOf(code), dirty: (code & 1) === 1 })), jump ? new Map() : gone);
    }
    this.moving = this.move(jump ? Infinity : passed, passed, playing);
    if (this.surface.fit(width, this.height) || paints !== this.paints) this.stale = true;
    Object.assign(this, { t, paints, played: playing });
    const { context } = this.surface;
    context.clearRect(0, 0, width, REQUESTS_HEIGHT - 2);
    this.requests(t, paints);
    if (!this.stale) return;
    this.stale = false;
    context.clearRect(0, REQUESTS_HEIGHT - 2, width, this.height);
    this.paint(paints);
  }

  /** Requests that were answered since the last picture stay for a while: many answers take no time that is seen. */
  keepAnswers(t, far, passed) {
    for (const one of this.answered) one.age += passed;
    this.answered = t < this.t ? [] : this.answered.filter(({ age }) => age < STAY);
    if (far || !(t > this.t)) return;
    const since = this.scene.requests.lastAnswers(t, MOST_ANSWERS).filter(({ done }) => done > this.t);
    this.answered.unshift(...since.map((request) => ({ request, age: 0 })));
    this.answered.length = Math.min(this.answered.length, MOST_ANSWERS);
  }

  /** Where each page belongs; pages that no list has any more come to `gone`. */
  place(jump, gone) {
    const { cell, columns, left, head, pages, scene: { state } } = this;
    for (const [from, to] of state.renamed) {
      const one = pages.get(from);
      pages.delete(from);
      if (one) pages.set(to, { ...one, page: to });
    }
    this.stale = true;
    this.heads = [];
    const seen = new Set();
    let y = this.top;
    let before = 0;
    state.lists.forEach((list, i) => {
      if (this.named) {
        this.heads.push({ y: y + (left ? 10 : head - 5), list });
        y += head;
        before = 0;
      }
      list.pages.forEach((code, place) => {
        const row = Math.floor((before + place) / columns);
        const x = left + ((before + place) % columns) * cell;
        seen.add(pageOf(code));
        this.send(code, x, y + row * cell, i, jump, place === list.pages.length - 1);
      });
      before += list.pages.length;
      const rows = Math.max(1, Math.ceil(list.pages.length / columns)) * cell;
      if (this.named) y += left ? Math.max(LIST_LEFT.height, rows + 2) : rows;
    });
    for (const [page, one] of pages) {
      if (seen.has(page)) continue;
      pages.delete(page);
      gone.set(page, one);
    }
  }

  /** Sends a page to its place; a new page comes from the requests above. */
  send(code, x, y, list, jump, last) {
    const page = pageOf(code);
    let one = this.pages.get(page);
    if (!one) {
      one = { page, x, y: jump ? y : REQUESTS_HEIGHT, shine: jump ? 0 : SHINE };
      this.pages.set(page, one);
    } else if (!jump && this.scene.state.placed.has(page)) {
      one.shine = SHINE;
    } else if (one.list === list && one.toY !== y) {
      // A page that only makes room for others does not fly from the end of a row to the next row.
      [one.x, one.y] = [x - this.cell, y];
    }
    Object.assign(one, { toX: x, toY: y, dirty: (code & 1) === 1, list, last });
  }

  /** Sends pages to the line of those that leave, from where they were. */
  leave(pages, gone) {
    const { cell, width, height } = this;
    const room = Math.max(1, Math.floor((width - LEFT.label) / cell));
    for (const { page, dirty } of pages) {
      const [toX, toY] = [LEFT.label + (this.slot++ % room) * cell, height - (LEFT.height + cell) / 2];
      const { x, y } = gone.get(page) ?? { x: toX, y: toY };
      this.leaving.push({ page, dirty, x, y, toX, toY, shine: 0, age: 0 });
    }
  }

  /** Moves all pages; true if something will look different soon. */
  move(share, passed, playing) {
    const part = 1 - Math.exp(-share / MOVE);
    let moving = this.answered.length > 0;
    for (const one of [...this.pages.values(), ...this.leaving]) {
      const [dx, dy] = [one.toX - one.x, one.toY - one.y];
      if (dx || dy) {
        this.stale = true;
        if (Math.abs(dx) + Math.abs(dy) < 0.5 || part === 1) [one.x, one.y] = [one.toX, one.toY];
        else [one.x, one.y, moving] = [one.x + dx * part, one.y + dy * part, true];
      }
      if (!one.shine) continue;
      one.shine = Math.max(0, one.shine - share);
      if (one.shine) moving = true;
      else this.stale = true;
    }
    if (!playing) return moving;
    for (const one of this.leaving) one.age += passed;
    const left = this.leaving.filter(({ age }) => age < STAY);
    if (left.length < this.leaving.length) this.stale = true;
    this.leaving = left;
    if (!left.length) this.slot = 0;
    return moving;
  }

  /** Requests in flight, the watched one first, each with the time that it waits. Below them the last answers. */
  requests(t, paints) {
    const { surface, scene, width } = this;
    const { flying } = scene.state;
    const watched = scene.watched(t);
    if (!watched) surface.text('no request in flight', 0, 17, { paint: paints.muted });
    let [x, shown] = [0, 0];
    for (const id of watched ? [watched.id, ...[...flying].filter((one) => one !== watched.id)] : []) {
      const request = scene.requests.byId.get(id);
      const text = `${nameOf(request)} · ${plainTime(t - request.at)}`;
      const reason = request === watched ? reasonOf(scene, request, t) : '';
      // The watched one has its reason if there is room, and the others leave room for their number.
      const words = reason && this.widthOf(`${text} · ${reason}`) <= width ? `${text} · ${reason}` : text;
      const wide = this.widthOf(words);
      if (request !== watched && x + wide > width - MORE) break;
      this.box(words, x, 3, wide, request === watched ? paints.ink : paintOf(request, paints), paints);
      x += wide + 5;
      shown++;
    }
    if (shown < flying.size && x < width - MORE) surface.text(`and ${number(flying.size - shown)} more`, x + 4, 17, { paint: paints.muted });
    x = 0;
    for (const { request } of this.answered) {
      const words = `${nameOf(request)} · done: ${plainTime(request.response)}`;
      const wide = this.widthOf(words);
      if (x + wide > width) break;
      this.box(words, x, 3 + REQUEST_LINE, wide, paints.muted, paints);
      x += wide + 5;
    }
  }

  widthOf(words) {
    const { context } = this.surface;
    context.font = `12px ${CANVAS_FONT}`;
    return Math.max(92, context.measureText(words).width + 14);
  }

  box(words, x, y, wide, paint, paints) {
    const { context } = this.surface;
    context.strokeStyle = paint;
    context.lineWidth = paint === paints.ink ? 2 : 1.5;
    context.strokeRect(x + 1, y, wide - 2, 20);
    this.surface.text(words, x + 7, y + 14, { paint: paints.ink });
  }

  paint(paints) {
    const { surface, left, leaving, pages, scene } = this;
    const ends = endsOf(scene);
    for (const { y, list } of this.heads) this.headline(`${list.name}: ${number(list.pages.length)}`, y, left ? null : ends, paints);
    if (left) this.headline('in each list', this.top - 5, ends, paints);
    const y = this.height - LEFT.height / 2 + 4;
    const quiet = { paint: paints.muted, size: 11.5 };
    if (leaving.length) surface.text(this.played ? 'left' : 'left just now', 0, y, quiet);
    else if (!this.played) surface.text('no page leaves at this instant', 0, y, quiet);
    this.squares([...pages.values(), ...leaving], paints);
    if (!this.played && leaving.length) {
      const x = Math.max(...leaving.map(({ toX }) => toX)) + this.cell + 8;
      const text = listed('page', leaving.map(({ page }) => page), this.promised);
      surface.context.font = `11.5px ${CANVAS_FONT}`;
      if (x + surface.context.measureText(text).width <= this.width) surface.text(text, x, y, { paint: paints.ink, size: 11.5 });
    }
    for (const one of leaving) if (this.promised.has(one.page)) this.ring(one, paints.ink, paints);
    for (const one of pages.values()) if (this.promised.has(one.page)) this.name(one, paints);
  }

  /** The name of a list, and how its ends are told apart. */
  headline(text, y, ends, paints) {
    const { context } = this.surface;
    const style = { paint: paints.muted, size: 11.5 };
    const words = ends ? `${text}, ${ends.first} first;` : text;
    this.surface.text(words, 0, y, style);
    if (!ends) return;
    const x = context.measureText(words).width + 5;
    this.wedge(x, y - 9, 10, paints);
    this.surface.text(ends.last, x + 14, y, style);
  }

  wedge(x, y, side, paints) {
    const { context } = this.surface;
    context.beginPath();
    context.moveTo(x, y + side);
    context.lineTo(x + side, y + side);
    context.lineTo(x + side, y);
    context.closePath();
    context.strokeStyle = paints.card;
    context.lineWidth = 3;
    context.stroke();
    context.fillStyle = paints.ink;
    context.fill();
  }

  /** Dirty pages are full squares, clean ones are empty. Rings mark pages that have just moved, wedges the ends of lists. */
  squares(all, paints) {
    const { surface: { context }, cell } = this;
    const side = cell - 2;
    const edge = cell >= 8 ? 1.5 : 1;
    context.fillStyle = paints['page-dirty'];
    context.strokeStyle = paints['page-clean'];
    context.lineWidth = edge;
    for (const { x, y, dirty } of all) {
      if (dirty) context.fillRect(x + 1, y + 1, side, side);
      else context.strokeRect(x + 1 + edge / 2, y + 1 + edge / 2, side - edge, side - edge);
    }
    for (const one of all) {
      if (one.shine > 0 || this.fresh.has(one.page)) this.ring(one, paints.accent, paints);
      if (one.last) this.wedge(one.x + 1, one.y + 1, side, paints);
    }
  }

  /** A ring with an edge of the ground inside, so that it stands out from a full square. */
  ring({ x, y }, paint, paints) {
    const { surface: { context }, cell } = this;
    context.lineWidth = 1;
    context.strokeStyle = paints.card;
    if (cell >= 8) context.strokeRect(x + 1.5, y + 1.5, cell - 3, cell - 3);
    context.lineWidth = 2;
    context.strokeStyle = paint;
    context.strokeRect(x, y, cell, cell);
  }

  /** A page that the promise names: a ring, and its number beside it. */
  name(one, paints) {
    const { surface, cell, width } = this;
    const { context } = surface;
    this.ring(one, paints.ink, paints);
    const style = { paint: paints.card, size: 11, weight: '600' };
    context.font = `600 11px ${CANVAS_FONT}`;
    const wide = context.measureText(one.page).width + 8;
    const x = one.x + cell + 2 + wide <= width ? one.x + cell + 2 : one.x - wide - 2;
    context.fillStyle = paints.ink;
    context.fillRect(x, one.y + cell / 2 - 8, wide, 16);
    surface.text(one.page, x + 4, one.y + cell / 2 + 4, style);
  }

  /** The name of what stands at a point of the picture. */
  describe(x, y) {
    const { cell, scene } = this;
    const under = (one) => x >= one.x && y >= one.y && x < one.x + cell && y < one.y + cell;
    const gone = this.leaving.find(under);
    if (gone) return `page ${gone.page}: ${gone.dirty ? 'dirty' : 'clean'}, just left`;
    const one = [...this.pages.values()].find(under);
    if (!one) return '';
    const { name, pages } = scene.state.lists[one.list];
    const place = pages.findIndex((code) => pageOf(code) === one.page) + 1;
    return `page ${one.page}: ${one.dirty ? 'dirty' : 'clean'}, place ${place} of ${pages.length} in list ${name}`;
  }
}

const nameOf = ({ op, pages }) => `${OPERATIONS[op] ?? op} ${many(pages, 'page')}`;
const paintOf = ({ op }, paints) => (op === 'R' ? paints.read : paints.program);
