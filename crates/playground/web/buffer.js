// The write buffer: the requests above it, and its pages in the lists of the scheme.

import { number } from './format.js';
import { OPERATIONS, many, plainTime, reasonOf } from './words.js';

const REQUESTS_HEIGHT = 30;
/** Room for the number of requests that are not shown. */
const MORE = 86;
/** Names of few lists stand above them; those of many stand at their left. */
const LIST_HEAD = 17;
const LIST_LEFT = { from: 4, width: 92, height: 14 };
const FRAME = { most: 15, least: 4, area: 34_000 };
/** With more lists than this the lists follow each other without names. */
const MOST_NAMED = 24;
/** With more pages than this, or after more changes than this at once, nothing moves: it jumps. */
const MOST_MOVING = 2048;
const MOST_CHANGES = 80;
/** How long a page moves, leaves, and shines, in ms. */
const MOVE = 90;
const LEAVE = 450;
const SHINE = 700;

const pageOf = (code) => Math.floor(code / 2);

export class Buffer {
  constructor(surface, scene) {
    Object.assign(this, { surface, scene, pages: new Map(), leaving: [], version: null });
    this.named = scene.listsEver <= MOST_NAMED;
  }

  /** Room for all frames, however they are spread over the lists. */
  layOut(width) {
    const { frames } = this.scene.geometry;
    const cell = Math.max(FRAME.least, Math.min(FRAME.most, Math.floor(Math.sqrt((width * FRAME.area) / 600 / frames))));
    const lists = this.named ? this.scene.listsEver : 0;
    const left = lists >= LIST_LEFT.from ? LIST_LEFT.width : 0;
    const head = left || !lists ? 0 : LIST_HEAD;
    const columns = Math.max(1, Math.floor((width - left) / cell));
    // Room that a list takes beside its rows: its name, or what is missing to the height of a name.
    const extra = left ? Math.max(2, LIST_LEFT.height - cell) : head;
    // Each list but one may begin a row that it does not fill, and pages that leave go two rows down.
    const rows = Math.ceil(frames / columns) + Math.max(0, lists - 1);
    Object.assign(this, { cell, columns, left, head, height: REQUESTS_HEIGHT + lists * extra + (rows + 2) * cell });
  }

  /** Draws the buffer; `passed` is the time since the last picture in ms, and `changes` what happened meanwhile. */
  draw(t, paints, width, { passed, changes, still, playing }) {
    const wider = width !== this.width;
    if (wider) {
      this.width = width;
      this.layOut(width);
    }
    const { state } = this.scene;
    const far = wider || changes > MOST_CHANGES || this.pages.size > MOST_MOVING || this.version === null;
    const jump = far || still;
    // A pause keeps what its instant changed.
    if (!playing && t !== this.t) this.leaving = [];
    this.fresh = playing ? null : new Set(this.scene.eventsAt(t).filter(([kind]) => kind === 'splice').flatMap((event) => event[5]).map(pageOf));
    if (this.version !== state.version.lists || wider) {
      this.version = state.version.lists;
      this.place(jump, far);
    }
    this.moving = this.move(jump ? Infinity : passed, playing);
    this.surface.fit(width, this.height);
    this.surface.clear();
    this.t = t;
    this.requests(t, paints);
    this.paint(paints);
  }

  /** Where each page belongs. A list runs to and fro, so that its neighbours stay neighbours. */
  place(jump, far) {
    const { cell, columns, left, head, pages, scene: { state } } = this;
    for (const [from, to] of state.renamed) {
      const one = pages.get(from);
      pages.delete(from);
      if (one) pages.set(to, { ...one, page: to });
    }
    this.heads = [];
    const seen = new Set();
    let y = REQUESTS_HEIGHT;
    let before = 0;
    state.lists.forEach((list, i) => {
      if (this.named) {
        this.heads.push({ y: y + (left ? 10 : head - 5), list });
        y += head;
        before = 0;
      }
      list.pages.forEach((code, place) => {
        const row = Math.floor((before + place) / columns);
        const column = (before + place) % columns;
        const x = left + (row % 2 ? columns - 1 - column : column) * cell;
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
      if (!far) this.leaving.push({ ...one, age: 0 });
    }
  }

  /** Sends a page to its place; a new page comes from the requests above. */
  send(code, x, y, list, jump, last) {
    const page = pageOf(code);
    let one = this.pages.get(page);
    if (!one) {
      one = { page, x, y: jump ? y : REQUESTS_HEIGHT - this.cell, shine: jump ? 0 : SHINE };
      this.pages.set(page, one);
    } else if (!jump && this.scene.state.placed.has(page)) {
      one.shine = SHINE;
    }
    Object.assign(one, { toX: x, toY: y, dirty: (code & 1) === 1, list, last });
  }

  /** Moves all pages; true if some have not arrived. */
  move(passed, playing) {
    const share = 1 - Math.exp(-passed / MOVE);
    let moving = false;
    for (const one of this.pages.values()) {
      const [dx, dy] = [one.toX - one.x, one.toY - one.y];
      if (Math.abs(dx) + Math.abs(dy) < 0.5 || share === 1) [one.x, one.y] = [one.toX, one.toY];
      else [one.x, one.y, moving] = [one.x + dx * share, one.y + dy * share, true];
      one.shine = Math.max(0, one.shine - passed);
      moving ||= one.shine > 0;
    }
    const most = playing ? LEAVE : LEAVE / 2;
    for (const one of this.leaving) {
      moving ||= one.age < most;
      one.age = Math.min(most, one.age + passed);
    }
    this.leaving = this.leaving.filter(({ age }) => age < LEAVE);
    return moving;
  }

  /** Requests in flight, the oldest first, each with the time that it waits. */
  requests(t, paints) {
    const { surface, scene, width } = this;
    const { context } = surface;
    const { flying } = scene.state;
    if (!flying.size) surface.text('no request in flight', 0, 17, { paint: paints.muted });
    let [x, shown] = [0, 0];
    for (const id of flying) {
      const request = scene.requests.byId.get(id);
      const oldest = shown === 0;
      const text = `${OPERATIONS[request.op] ?? request.op} ${many(request.pages, 'page')} · ${plainTime(t - request.at)}`;
      const reason = oldest ? reasonOf(scene, request, t) : '';
      context.font = '12px system-ui, sans-serif';
      const wideOf = (words) => Math.max(92, context.measureText(words).width + 14);
      // The oldest has its reason if there is room, and the others leave room for their number.
      const words = reason && wideOf(`${text} · ${reason}`) <= width ? `${text} · ${reason}` : text;
      const wide = wideOf(words);
      if (!oldest && x + wide > width - MORE) break;
      context.strokeStyle = oldest ? paints.ink : request.op === 'R' ? paints.read : paints.program;
      context.lineWidth = oldest ? 2 : 1.5;
      context.strokeRect(x + 1, 3, wide - 2, 20);
      surface.text(words, x + 7, 17, { paint: paints.ink });
      x += wide + 5;
      shown++;
    }
    if (shown < flying.size && x < width - MORE) surface.text(`and ${number(flying.size - shown)} more`, x + 4, 17, { paint: paints.muted });
  }

  paint(paints) {
    for (const { y, list } of this.heads) {
      const count = this.left ? number(list.pages.length) : many(list.pages.length, 'page');
      this.surface.text(`${list.name}: ${count}`, 0, y, { paint: paints.muted, size: 11.5 });
    }
    const { context } = this.surface;
    const [dirty, clean] = [[], []];
    for (const one of this.pages.values()) (one.dirty ? dirty : clean).push(one);
    this.squares(dirty, clean, paints);
    for (const one of this.leaving) {
      context.globalAlpha = 1 - one.age / LEAVE;
      const down = { ...one, y: one.y + (one.age / LEAVE) * 3 * this.cell };
      this.squares(one.dirty ? [down] : [], one.dirty ? [] : [down], paints);
    }
    context.globalAlpha = 1;
  }

  /** Dirty pages are full squares, clean ones are empty. Rings mark pages that have just moved, wedges the ends of lists. */
  squares(dirty, clean, paints) {
    const { surface: { context }, cell } = this;
    const side = cell - 2;
    context.fillStyle = paints['page-dirty'];
    for (const { x, y } of dirty) context.fillRect(x + 1, y + 1, side, side);
    const edge = cell >= 8 ? 1.5 : 1;
    context.strokeStyle = paints['page-clean'];
    context.lineWidth = edge;
    for (const { x, y } of clean) context.strokeRect(x + 1 + edge / 2, y + 1 + edge / 2, side - edge, side - edge);
    context.strokeStyle = paints.accent;
    context.lineWidth = 2;
    for (const one of [...dirty, ...clean]) {
      const { x, y, page, shine, last } = one;
      if (shine > 0 || this.fresh?.has(page)) context.strokeRect(x, y, cell, cell);
      if (!last || one.age !== undefined) continue;
      context.fillStyle = paints.open;
      context.beginPath();
      context.moveTo(x + 1, y + cell - 1);
      context.lineTo(x + cell - 1, y + cell - 1);
      context.lineTo(x + cell - 1, y + 1);
      context.fill();
    }
  }

  /** What stands at a point of the picture. */
  describe(x, y) {
    const { cell, scene } = this;
    for (const [page, one] of this.pages) {
      if (x < one.x || y < one.y || x >= one.x + cell || y >= one.y + cell) continue;
      const { name, pages } = scene.state.lists[one.list];
      const place = pages.findIndex((code) => pageOf(code) === page) + 1;
      return `page ${page}: ${one.dirty ? 'dirty' : 'clean'}, place ${place} of ${pages.length} in list ${name}`;
    }
    return '';
  }
}
