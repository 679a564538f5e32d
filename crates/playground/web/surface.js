// A canvas that is as sharp as its screen, and the colours of the page.

/** More pixels than this to a unit cost time and show nothing. */
const MOST_RATIO = 2;

const PAINTS = [
  'card', 'ink', 'muted', 'line', 'accent', 'read', 'program', 'clean', 'collect', 'erase', 'on-bar',
  'page-dirty', 'page-clean', 'block-empty', 'block-stale', 'block-valid', 'open',
];

/** The colours of style sheets, by name; they change with the theme. */
export function readPaints() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(PAINTS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export const CANVAS_FONT = 'system-ui, -apple-system, "Segoe UI", sans-serif';

export class Surface {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    [this.width, this.height, this.ratio] = [0, 0, 0];
  }

  /** Takes the size of its place, in units of the page; true if it changed, and all must be drawn. */
  fit(width, height) {
    const ratio = Math.min(MOST_RATIO, globalThis.devicePixelRatio || 1);
    if (width === this.width && height === this.height && ratio === this.ratio) return false;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return true;
  }

  clear() {
    this.context.clearRect(0, 0, this.width, this.height);
  }

  text(text, x, y, { paint, size = 12, align = 'left', weight = '' } = {}) {
    const { context } = this;
    context.font = `${weight} ${size}px ${CANVAS_FONT}`;
    context.textAlign = align;
    context.textBaseline = 'alphabetic';
    context.fillStyle = paint;
    context.fillText(text, x, y);
  }
}

/** A colour between two, each written as `#rrggbb`. */
export function mixPaints(from, to, share) {
  const parts = [1, 3, 5].map((i) => {
    const [a, b] = [from, to].map((paint) => parseInt(paint.slice(i, i + 2), 16));
    return Math.round(a + (b - a) * share);
  });
  return `rgb(${parts.join(',')})`;
}
