// Response times of the last requests, on a logarithmic axis.

import { OPERATIONS, plainTime } from './words.js';

const CHART_HEIGHT = 120;
const CHART_LEFT = 52;
const CHART_BOTTOM = 18;
const CHART_TOP = 6;
const SLOT = { most: 14, count: 60 };
/** The bar of a read is hollow, or a line if it is narrower than this. */
const LEAST_HOLLOW = 6;

export class Times {
  /** `range`: the least and the largest response time that the axis shows, for all schemes the same. */
  constructor(surface, scene, range) {
    Object.assign(this, { surface, scene, range });
  }

  yOf(ns) {
    const [least, most] = this.range;
    const share = Math.log10(Math.max(ns, least) / least) / Math.log10(most / least);
    return CHART_HEIGHT - CHART_BOTTOM - Math.min(1, share) * (CHART_HEIGHT - CHART_BOTTOM - CHART_TOP);
  }

  draw(t, paints, width) {
    const { surface, scene } = this;
    const fresh = surface.fit(width, CHART_HEIGHT);
    if (fresh || paints !== this.paints) this.labels(paints);
    this.paints = paints;
    surface.context.clearRect(CHART_LEFT, 0, width, CHART_HEIGHT - CHART_BOTTOM + 1);
    this.axis(paints);
    this.slot = Math.min(SLOT.most, (width - CHART_LEFT) / SLOT.count);
    const count = Math.floor((width - CHART_LEFT) / this.slot);
    this.shown = scene.requests.latest(t, count);
    this.t = t;
    // The newest request is at the right edge, at the same place for each scheme.
    this.first = width - this.shown.length * this.slot;
    this.shown.forEach((request, i) => this.bar(request, this.first + i * this.slot, paints));
    this.mean(paints);
  }

  axis(paints) {
    const { surface, range: [least, most] } = this;
    const { context, width } = surface;
    context.fillStyle = paints.line;
    for (let at = least; at <= most * 1.001; at *= 10) context.fillRect(CHART_LEFT, Math.round(this.yOf(at)), width - CHART_LEFT, 1);
  }

  /** The texts of the axes, which stay. */
  labels(paints) {
    const { surface, range: [least, most] } = this;
    const { width } = surface;
    surface.clear();
    const every = Math.log10(most / least) > 6 ? 2 : 1;
    for (let power = 0; least * 10 ** power <= most * 1.001; power += every) {
      const at = least * 10 ** power;
      surface.text(plainTime(at), CHART_LEFT - 6, this.yOf(at) + 4, { paint: paints.muted, size: 11, align: 'right' });
    }
    surface.text('older', CHART_LEFT, CHART_HEIGHT - 4, { paint: paints.muted, size: 11 });
    surface.text('newest request', width, CHART_HEIGHT - 4, { paint: paints.muted, size: 11, align: 'right' });
  }

  bar({ op, at, done, response }, x, paints) {
    const { context } = this.surface;
    const waits = done > this.t;
    const y = this.yOf(waits ? this.t - at : response);
    const [wide, high] = [this.slot - 2, Math.max(2, CHART_HEIGHT - CHART_BOTTOM - y)];
    const paint = op === 'R' ? paints.read : paints.program;
    context.fillStyle = context.strokeStyle = paint;
    if (waits) {
      context.globalAlpha = 0.35;
      context.fillRect(x, y, wide, high);
      context.globalAlpha = 1;
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
    } else if (op === 'R' && wide < LEAST_HOLLOW) {
      context.fillRect(x, y, wide, 2);
      context.fillRect(x + wide / 2 - 0.5, y, 1, high);
    } else if (op === 'R') {
      context.lineWidth = 1.5;
      context.strokeRect(x + 0.75, y + 0.75, wide - 1.5, Math.max(0.5, high - 1.5));
    } else {
      context.fillRect(x, y, wide, high);
    }
  }

  /** A line at the mean of the scene so far. */
  mean(paints) {
    const { requests, response_sum: sum } = this.scene.requests.answered.upTo(this.t);
    if (!requests) return;
    const { context, width } = this.surface;
    const y = this.yOf(sum / requests);
    context.strokeStyle = paints.ink;
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(CHART_LEFT, y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
    const text = `mean in this scene ${plainTime(sum / requests)}`;
    context.font = '600 11px system-ui, sans-serif';
    const high = y < 24 ? y + 15 : y - 5;
    context.fillStyle = paints.card;
    context.globalAlpha = 0.8;
    context.fillRect(CHART_LEFT + 3, high - 11, context.measureText(text).width + 6, 14);
    context.globalAlpha = 1;
    this.surface.text(text, CHART_LEFT + 6, high, { paint: paints.ink, size: 11, weight: '600' });
  }

  /** What stands at a point of the picture. */
  describe(x) {
    const request = this.shown[Math.floor((x - this.first) / this.slot)];
    if (!request || x < this.first) return '';
    const { id, op, first, pages, at, done, response } = request;
    const what = `request ${id}: ${OPERATIONS[op] ?? op} of ${pages} page${pages === 1 ? '' : 's'} from page ${first}`;
    return done > this.t ? `${what}, waiting for ${plainTime(this.t - at)}` : `${what}, answered in ${plainTime(response)}`;
  }
}

/** Powers of ten around the response times of scenes. */
export function rangeOf(scenes) {
  let [least, most] = [Infinity, 0];
  for (const { requests } of scenes) {
    for (const { response } of requests.answers) [least, most] = [Math.min(least, response), Math.max(most, response)];
  }
  const power = (ns, round) => 10 ** round(Math.log10(ns));
  const low = power(Math.max(1000, Number.isFinite(least) ? least : 1000), Math.floor);
  return [low, Math.max(low * 100, power(Math.max(most, 1), Math.ceil))];
}
