// The dies as lanes over time.

import { ROLES, isPaused } from './operations.js';
import { plainTime } from './words.js';

const LANE = { most: 20, least: 3, all: 230 };
const LABELS = 40;
const AXIS = 18;
/** Where the instant stands, as a share of the width; to its right is what the running operations still need. */
const NOW = 0.86;
/** From the one width on a bar has its letter, from the other its hatching, which is so far apart. */
const LETTER = 11;
const HATCH = 5;
/** Bars that are lower than this have no letters. */
const LEAST_LETTER = 8.5;
const LETTERS = { erase: 'E', collect: 'C', clean: 'W', program: 'P', read: 'R' };
/** Top and height of a bar, as shares of its lane. */
const BARS = { erase: [0, 1], collect: [0, 1], clean: [0.3, 0.7], program: [0, 1], read: [0, 0.55] };

/** Steps of 1, 2, or 5 times a power of ten. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least);
}

export class Lanes {
  constructor(surface, scene) {
    Object.assign(this, { surface, scene });
    const { dies, channels, chips_per_channel: chips } = scene.geometry;
    this.lane = Math.max(LANE.least, Math.min(LANE.most, Math.floor(LANE.all / dies)));
    // Dies of the same channel stand together. Chip `c` is on channel `c % channels`.
    const perChip = Math.max(1, Math.floor(dies / (channels * chips)));
    const channelOf = (die) => Math.floor(die / perChip) % channels;
    this.order = Array.from({ length: dies }, (_, die) => die).sort((a, b) => channelOf(a) - channelOf(b) || a - b);
    this.channels = this.order.map(channelOf);
  }

  /** Draws the dies at `t`; `span` ns are as wide as the picture. */
  draw(t, span, paints, width) {
    const { surface, scene, lane } = this;
    const { dies } = scene.geometry;
    surface.fit(width, dies * lane + AXIS);
    surface.clear();
    Object.assign(this, { t, paints, scale: (width - LABELS) / span, now: LABELS + (width - LABELS) * NOW });
    const from = t - span * NOW;
    const to = t + span * (1 - NOW);
    this.ground(from);
    const bars = Object.fromEntries(ROLES.map((role) => [role, []]));
    this.order.forEach((die, row) => this.collectBars(die, row, from, t, to, bars));
    for (const role of ROLES) this.paintBars(role, bars[role]);
    this.frameBars(ROLES.flatMap((role) => bars[role]));
    this.axis(span);
  }

  xOf(t) {
    return this.now + (t - this.t) * this.scale;
  }

  ground(from) {
    const { surface: { context, width }, scene: { geometry }, lane, paints } = this;
    const every = Math.ceil(11 / lane);
    context.fillStyle = paints.line;
    for (let row = 1; row < geometry.dies; row++) {
      const heavy = this.channels[row] !== this.channels[row - 1];
      context.globalAlpha = heavy ? 1 : 0.45;
      context.fillRect(heavy ? 0 : LABELS, row * lane - (heavy ? 1 : 0.5), width, heavy ? 1.5 : 0.5);
    }
    context.globalAlpha = 1;
    for (let row = 0; row < geometry.dies; row += every) {
      this.surface.text(`die ${this.order[row]}`, LABELS - 6, row * lane + Math.min(lane - 3, 11), { paint: paints.muted, size: 10.5, align: 'right' });
    }
    // Before the scene begins nothing is known.
    const begin = this.xOf(this.scene.from);
    if (from < this.scene.from) {
      context.globalAlpha = 0.35;
      context.fillStyle = paints.line;
      context.fillRect(LABELS, 0, Math.max(0, begin - LABELS), geometry.dies * lane);
      context.globalAlpha = 1;
    }
  }

  /** Bars that would fall on the same pixel as the one before are left out. */
  collectBars(die, row, from, t, to, bars) {
    const { surface: { ratio, width } } = this;
    const pixel = 1 / ratio;
    for (const role of ROLES) {
      this.scene.operations.visitApart(die, role, from, t, pixel / this.scale, (one) => {
        const right = Math.min(width, this.xOf(Math.min(one.end, to)));
        const left = Math.max(LABELS, this.xOf(one.begin));
        bars[role].push({ one, row, left, right: Math.max(right, left + pixel) });
      });
    }
  }

  paintBars(role, bars) {
    const { surface: { context }, lane, paints } = this;
    const [top, share] = BARS[role];
    const height = Math.max(1, (lane - 2) * share);
    context.fillStyle = paints[role];
    const wide = [];
    for (const bar of bars) {
      const y = bar.row * lane + 1 + (lane - 2) * top;
      const done = Math.min(bar.right, this.now);
      if (bar.one.pauses.length && bar.right - bar.left > HATCH) this.paintPaused(bar, y, height);
      else context.fillRect(bar.left, y, Math.max(0.5, done - bar.left - (done - bar.left > HATCH ? 1 : 0)), height);
      if (bar.right > this.now) this.paintRest(bar, y, height);
      if (done - bar.left > HATCH) wide.push([bar, y, done]);
    }
    if (role === 'collect') this.hatch(wide, height);
    if (height >= LEAST_LETTER) this.letters(role, wide);
  }

  /** The operations that the oldest request waits for have a frame. */
  frameBars(bars) {
    const { surface: { context }, scene, lane, paints } = this;
    const request = scene.oldest();
    if (!request) return;
    const awaited = new Set(scene.operations.awaited(request, this.t));
    context.strokeStyle = paints.ink;
    context.lineWidth = 1.5;
    for (const { one, row, left, right } of bars) {
      if (awaited.has(one)) context.strokeRect(left, row * lane + 1, right - left, lane - 2);
    }
  }

  /** The part of an operation that is still to come, as an outline. */
  paintRest({ right }, y, height) {
    const { context } = this.surface;
    context.globalAlpha = 0.3;
    context.fillRect(this.now, y, right - this.now, height);
    context.globalAlpha = 1;
  }

  /** Work is a bar, and standing still is a line. */
  paintPaused({ one, left, right }, y, height) {
    const { context } = this.surface;
    let from = left;
    const end = Math.min(right, this.now);
    for (const [begin, until] of one.pauses) {
      const [pause, resume] = [begin, until].map((at) => Math.min(end, Math.max(left, this.xOf(at))));
      if (pause > from) context.fillRect(from, y, pause - from, height);
      if (resume > pause) context.fillRect(pause, y + height - 2, resume - pause, 2);
      from = Math.max(from, resume);
    }
    if (end > from) context.fillRect(from, y, end - from, height);
  }

  hatch(wide, height) {
    const { context } = this.surface;
    context.strokeStyle = this.paints.card;
    context.lineWidth = 1;
    context.globalAlpha = 0.55;
    context.beginPath();
    for (const [{ left }, y, right] of wide) {
      for (let x = left + 2; x + 4 < right; x += 8) {
        context.moveTo(x, y + height);
        context.lineTo(x + 4, y);
      }
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  letters(role, wide) {
    const { surface, lane, paints } = this;
    const { context } = surface;
    const [top, share] = BARS[role];
    context.font = `600 ${Math.min(11, lane * share + 1)}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (const [{ left, row }, , right] of wide) {
      if (right - left < LETTER) continue;
      const [x, y] = [(left + right) / 2, row * lane + 1 + (lane - 2) * (top + share / 2) + 0.5];
      if (role === 'collect') {
        context.fillStyle = paints.collect;
        context.fillRect(x - 5, y - lane / 2 + 1.5, 10, lane - 3);
      }
      context.fillStyle = paints['on-bar'];
      context.fillText(LETTERS[role], x, y);
    }
    context.textBaseline = 'alphabetic';
  }

  axis(span) {
    const { surface, scene, lane, paints, now } = this;
    const { context, width } = surface;
    const bottom = scene.geometry.dies * lane;
    context.fillStyle = paints.line;
    context.fillRect(LABELS, bottom, width - LABELS, 1);
    const step = roundStep((span * 64) / (width - LABELS));
    for (let back = step; back < span * NOW; back += step) {
      const x = now - back * this.scale;
      context.fillStyle = paints.line;
      context.fillRect(x, bottom, 1, 4);
      if (x > LABELS + 24) surface.text(`−${plainTime(back)}`, x, bottom + 14, { paint: paints.muted, size: 11, align: 'center' });
    }
    context.fillStyle = paints.ink;
    context.fillRect(now - 0.75, 0, 1.5, bottom + 4);
    surface.text('now', now, bottom + 14, { paint: paints.ink, size: 11, align: 'center', weight: '600' });
  }

  /** What stands at a point of the picture. */
  describe(x, y) {
    const die = this.order[Math.floor(y / this.lane)];
    if (x < LABELS || die === undefined || x > this.surface.width) return '';
    const at = this.t + (x - this.now) / this.scale;
    const one = this.scene.operations.at(die, at).filter(({ begin }) => begin <= this.t)[0];
    if (!one) return `die ${die}: idle`;
    const request = one.request == null ? '' : ` for request ${one.request}`;
    const waited = one.begin > one.queued ? `, queued ${plainTime(one.begin - one.queued)} before` : '';
    const paused = isPaused(one, at) ? ', suspended here' : '';
    return `die ${die}: ${one.kind} (${one.cause})${request}, ${plainTime(one.end - one.begin)}${waited}${paused}`;
  }
}
