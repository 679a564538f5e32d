// The whole scene below the slider of time: the response times of each scheme in a row of its own.

const ROW_HEIGHT = 15;
/** Half the width of the slider's knob, which does not go beyond the ends. */
const KNOB = 8;

export class Overview {
  /** `at`: the instant of the promise, if there is one. */
  constructor(surface, { scenes, at }, range) {
    Object.assign(this, { surface, scenes, range, at });
    this.from = Math.min(...scenes.map((scene) => scene.from));
    this.to = Math.max(...scenes.map((scene) => scene.to));
  }

  /** Draws all of it, if it is not there yet. */
  draw(paints, width) {
    const fresh = this.surface.fit(width, ROW_HEIGHT * this.scenes.length);
    if (!fresh && paints === this.paints) return;
    this.paints = paints;
    this.surface.clear();
    this.scenes.forEach((scene, row) => this.row(scene, ROW_HEIGHT * (row + 1)));
    if (this.at !== null) this.mark(this.xOf(this.at));
  }

  /** The longest response time of the requests that came in each pixel, as high as in the chart. */
  row({ requests }, bottom) {
    const { surface: { context, width }, paints, range: [least, most] } = this;
    const longest = new Float64Array(Math.max(1, Math.ceil(width)));
    for (const { at, response } of requests.list) {
      const x = Math.floor(this.xOf(at));
      if (response !== null && x >= 0 && x < longest.length) longest[x] = Math.max(longest[x], response);
    }
    context.fillStyle = paints.line;
    context.fillRect(0, bottom - 1, width, 1);
    context.fillStyle = paints.program;
    longest.forEach((response, x) => {
      if (response === 0) return;
      const share = Math.log10(Math.max(response, least) / least) / Math.log10(most / least);
      const height = Math.max(1, Math.min(1, share) * (ROW_HEIGHT - 2));
      context.fillRect(x, bottom - 1 - height, 1, height);
    });
  }

  /** A flag at the instant of the promise. */
  mark(x) {
    const { surface: { context, height }, paints } = this;
    context.fillStyle = paints.ink;
    context.fillRect(x - 1, 0, 2, height);
    context.beginPath();
    context.moveTo(x - 5, 0);
    context.lineTo(x + 5, 0);
    context.lineTo(x, 8);
    context.fill();
  }

  xOf(t) {
    return KNOB + ((t - this.from) / (this.to - this.from || 1)) * (this.surface.width - 2 * KNOB);
  }

  instantAt(x) {
    return this.from + ((x - KNOB) / (this.surface.width - 2 * KNOB)) * (this.to - this.from);
  }
}
