// The dies as lanes over time.

import { number } from './format.js';
import { ROLES, isPaused } from './operations.js';
import { many, plainTime } from './words.js';

const LANE = { most: 20, least: 3, all: 230 };
const LABELS = 62;
/** Room at the right for the number of commands that wait for a die. */
const QUEUES = 34;
const AXIS = 18;
/** Where the instant stands, as a share of the width; to its right is what the running operations still need. */
const NOW = 0.86;
/** From the one width on a bar has its letter, from the other its hatching, which is so far apart. */
const LETTER = 11;
const HATCH = 5;
/** Bars that are lower than this have no letters. */
const LEAST_LETTER = 8.5;
/** The same for numbers of commands that wait. */
const LEAST_NUMBER = 11;
/** Room for the name of the time before the scene. */
const BEFORE = 90;
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
    // Chip `c` is on channel `c % channels`.
    const perChip = Math.max(1, Math.floor(dies / (channels * chips)));
    this.channelOf = (die) => Math.floor(die / perChip) % channels;
  }

  /** Draws the dies at `t`; `span` ns are as wide as the picture. */
  draw(t, span, paints, width) {
    const { surface, scene, lane } = this;
    const { dies } = scene.geometry;
    const fresh = surface.fit(width, dies * lane + AXIS);
    if (fresh || paints !== this.paints) this.labels(paints);
    surface.context.clearRect(LABELS, 0, width, surface.height);
    const room = width - LABELS - QUEUES;
    Object.assign(this, { t, paints, end: width - QUEUES, scale: room / span, now: LABELS + room * NOW });
    const from = t - span * NOW;
    const to = t + span * (1 - NOW);
    this.ground(from);
    const bars = Object.fromEntries(ROLES.map((role) => [role, []]));
    for (let die = 0; die < dies; die++) this.collectBars(die, from, t, to, bars);
    for (const role of ROLES) this.paintBars(role, bars[role]);
    this.frameBars(ROLES.flatMap((role) => bars[role]));
    this.queues();
    this.axis(span);
  }

  xOf(t) {
    return this.now + (t - this.t) * this.scale;
  }

  /** The names of the dies, which stay. */
  labels(paints) {
    const { surface, scene, lane } = this;
    surface.clear();
    for (let die = 0; die < scene.geometry.dies; die += Math.ceil(11 / lane)) {
      surface.text(`die ${die} · ch ${this.channelOf(die)}`, 0, die * lane + Math.min(lane - 3, 12), { paint: paints.muted, size: 10.5 });
    }
  }

  ground(from) {
    const { surface: { context }, scene: { geometry }, lane, paints, end } = this;
    context.fillStyle = paints.line;
    context.globalAlpha = 0.6;
    for (let die = 1; die < geometry.dies; die++) context.fillRect(LABELS, die * lane - 0.5, end - LABELS, 0.5);
    context.globalAlpha = 1;
    // Before the scene begins nothing is known.
    const begin = this.xOf(this.scene.from);
    if (from < this.scene.from) {
      context.globalAlpha = 0.35;
      context.fillStyle = paints.line;
      context.fillRect(LABELS, 0, Math.max(0, begin - LABELS), geometry.dies * lane);
      context.globalAlpha = 1;
      if (begin - LABELS > BEFORE) this.surface.text('before the scene', LABELS + 4, 12, { paint: paints.muted, size: 10.5 });
    }
  }

  /** Bars that would fall on the same pixel as the one before are left out. */
  collectBars(die, from, t, to, bars) {
    const { surface: { ratio }, end } = this;
    const pixel = 1 / ratio;
    for (const role of ROLES) {
      this.scene.operations.visitApart(die, role, from, t, pixel / this.scale, (one) => {
        const right = Math.min(end, this.xOf(Math.min(one.end, to)));
        const left = Math.max(LABELS, this.xOf(one.begin));
        bars[role].push({ one, left, right: Math.max(right, left + pixel) });
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
      const y = bar.one.die * lane + 1 + (lane - 2) * top;
      const done = Math.min(bar.right, this.now);
      if (bar.one.pauses.length && bar.right - bar.left > HATCH) this.paintPaused(bar, y, height);
      else context.fillRect(bar.left, y, Math.max(0.5, done - bar.left - (done - bar.left > HATCH ? 1 : 0)), height);
      if (bar.right > this.now) this.paintRest(bar, y, height);
      if (done - bar.left > HATCH) wide.push([bar, y, done]);
    }
    if (role === 'collect') this.hatch(wide, height);
    if (height >= LEAST_LETTER) this.letters(role, wide);
  }

  /** The operations that the watched request waits for have a frame. */
  frameBars(bars) {
    const { surface: { context }, scene, lane, paints } = this;
    const request = scene.watched(this.t);
    if (!request) return;
    const awaited = new Set(scene.operations.awaited(request, this.t));
    const framed = bars.filter(({ one }) => awaited.has(one));
    // An edge of the ground inside, so that the frame stands out from each bar.
    for (const [paint, width, inset] of [[paints.card, 1, 1.25], [paints.ink, 1.5, 0]]) {
      context.strokeStyle = paint;
      context.lineWidth = width;
      for (const { one, left, right } of framed) {
        const wide = right - left - 2 * inset;
        if (wide > 0) context.strokeRect(left + inset, one.die * lane + 1 + inset, wide, lane - 2 - 2 * inset);
      }
    }
  }

  /** The part of an operation that is still to come, as an outline. */
  paintRest({ right }, y, height) {
    const { context } = this.surface;
    context.globalAlpha = 0.3;
    context.fillRect(this.now, y, right - this.now, height);
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle;
    context.lineWidth = 1;
    context.strokeRect(this.now, y + 0.5, right - this.now - 0.5, Math.max(0.5, height - 1));
  }

  /** How many commands wait for each die: a number, or a bar if lanes are too low. */
  queues() {
    const { surface, scene, lane, paints, end, t } = this;
    for (let die = 0; die < scene.geometry.dies; die++) {
      const waiting = scene.operations.waitingOn(die, t);
      if (!waiting) continue;
      if (lane >= LEAST_NUMBER) {
        surface.text(number(waiting), surface.width, die * lane + Math.min(lane - 3, 13), { paint: paints.ink, size: 11, align: 'right', weight: '600' });
      } else {
        surface.context.fillStyle = paints.ink;
        surface.context.fillRect(end + 4, die * lane + 0.5, Math.min(QUEUES - 4, waiting), lane - 1);
      }
    }
    surface.text('waiting', surface.width, scene.geometry.dies * lane + 14, { paint: paints.muted, size: 11, align: 'right' });
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
    for (const [{ one: { die }, left }, , right] of wide) {
      if (right - left < LETTER) continue;
      const [x, y] = [(left + right) / 2, die * lane + 1 + (lane - 2) * (top + share / 2) + 0.5];
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
    const { surface, scene, lane, paints, now, end } = this;
    const { context } = surface;
    const bottom = scene.geometry.dies * lane;
    context.fillStyle = paints.line;
    context.fillRect(LABELS, bottom, end - LABELS, 1);
    const step = roundStep((span * 64) / (end - LABELS));
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
    const die = Math.floor(y / this.lane);
    if (x < LABELS || die < 0 || die >= this.scene.geometry.dies) return '';
    if (x > this.end) return `die ${die}: ${many(this.scene.operations.waitingOn(die, this.t), 'command')} waiting`;
    const at = this.t + (x - this.now) / this.scale;
    const one = this.scene.operations.at(die, at).filter(({ begin }) => begin <= this.t)[0];
    if (!one) return `die ${die}: idle`;
    const request = one.request == null ? '' : ` for request ${one.request}`;
    const waited = one.begin > one.queued ? `, queued ${plainTime(one.begin - one.queued)} before` : '';
    const paused = isPaused(one, at) ? ', suspended here' : '';
    return `die ${die}: ${one.kind} (${one.cause})${request}, ${plainTime(one.end - one.begin)}${waited}${paused}`;
  }
}
