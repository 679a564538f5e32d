// The blocks of all dies as a grid, coloured by the share of their data that is valid.

import { mixPaints } from './surface.js';

const BLOCK = { most: 14, least: 2 };
const BLOCKS_HEIGHT = 240;
/** Room for the number of a die, and between dies. */
const DIE_HEAD = 13;
const DIE_GAP = 8;
/** So many shades tell shares apart. */
const SHADES = 16;
/** Dies narrower than this have a number alone. */
const LEAST_NAMED = 44;
const ERASED = -1;
const [OPEN, VICTIM] = [1, 2];

export class Blocks {
  constructor(surface, scene) {
    Object.assign(this, { surface, scene });
    const { planes_per_die: planes, blocks_per_plane: blocks, dies } = scene.geometry;
    this.perDie = planes * blocks;
    this.dies = dies;
    this.victims = new Set();
    this.drawn = new Int16Array(this.perDie * dies);
  }

  /** The largest cells with which all dies fit. */
  layOut(width) {
    const { perDie, dies } = this;
    for (let cell = BLOCK.most; cell >= BLOCK.least; cell -= 0.5) {
      for (let across = Math.min(dies, Math.floor(width / (cell * 4 + DIE_GAP))); across >= 1; across--) {
        const columns = Math.floor(((width + DIE_GAP) / across - DIE_GAP) / cell);
        if (columns < 1) continue;
        const rows = Math.ceil(perDie / columns);
        const height = Math.ceil(dies / across) * (rows * cell + DIE_HEAD + 4);
        if (height <= BLOCKS_HEIGHT || (cell === BLOCK.least && across === 1)) {
          // Dies of the same height may need fewer columns.
          return { cell, across, columns: Math.ceil(perDie / rows), rows, height };
        }
      }
    }
    throw new Error('a grid without a cell');
  }

  /** Draws the blocks; those that are collected or erased at `t` are marked, if the operations name their blocks. */
  draw(t, paints, width) {
    if (width !== this.width) Object.assign(this, { width, grid: this.layOut(width), paints: null });
    const { surface, grid } = this;
    const fresh = surface.fit(width, grid.height);
    const recoloured = paints !== this.paints;
    const victims = this.scene.victims(t);
    const same = victims.length === this.victims.size && victims.every((block) => this.victims.has(block));
    if (!fresh && !recoloured && same && this.version === this.scene.state.version.blocks) return;
    this.victims = new Set(victims);
    this.version = this.scene.state.version.blocks;
    if (fresh || recoloured) {
      Object.assign(this, { paints, shades: shadesOf(paints) });
      surface.clear();
      this.drawn.fill(-32768);
      this.heads();
    }
    this.cells();
  }

  placeOf(block) {
    const { grid, perDie } = this;
    const die = Math.floor(block / perDie);
    const inDie = block % perDie;
    return [
      (die % grid.across) * (grid.columns * grid.cell + DIE_GAP) + (inDie % grid.columns) * grid.cell,
      Math.floor(die / grid.across) * (grid.rows * grid.cell + DIE_HEAD + 4) + DIE_HEAD + Math.floor(inDie / grid.columns) * grid.cell,
    ];
  }

  heads() {
    const named = this.grid.columns * this.grid.cell + DIE_GAP >= LEAST_NAMED;
    for (let die = 0; die < this.dies; die++) {
      const [x, y] = this.placeOf(die * this.perDie);
      this.surface.text(named ? `die ${die}` : die, x, y - 3, { paint: this.paints.muted, size: 10.5 });
    }
  }

  /** Draws the cells that have changed. */
  cells() {
    const { surface: { context }, drawn, scene: { state, blockUnits }, grid: { cell }, paints, victims } = this;
    const { valid, written, open } = state;
    const inner = cell - (cell >= 4 ? 1 : 0.5);
    for (let block = 0; block < drawn.length; block++) {
      const shade = written[block] === 0 ? ERASED : Math.round((valid[block] / blockUnits) * SHADES);
      const mark = victims.has(block) ? VICTIM : open.has(block) ? OPEN : 0;
      const code = shade * 4 + mark;
      if (drawn[block] === code) continue;
      drawn[block] = code;
      const [x, y] = this.placeOf(block);
      context.clearRect(x, y, cell, cell);
      context.fillStyle = shade === ERASED ? paints['block-empty'] : this.shades[Math.min(shade, SHADES)];
      context.fillRect(x, y, inner, inner);
      if (shade === ERASED && cell >= 4) context.clearRect(x + 1, y + 1, inner - 2, inner - 2);
      if (mark) {
        const edge = Math.max(1, Math.floor(cell / 4));
        context.strokeStyle = mark === OPEN ? paints.open : paints.collect;
        context.lineWidth = edge;
        context.strokeRect(x + edge / 2, y + edge / 2, inner - edge, inner - edge);
      }
    }
  }

  /** What stands at a point of the picture. */
  describe(x, y) {
    const { grid, perDie, dies, scene } = this;
    const [wide, high] = [grid.columns * grid.cell + DIE_GAP, grid.rows * grid.cell + DIE_HEAD + 4];
    const [across, down] = [Math.floor(x / wide), Math.floor(y / high)];
    const column = Math.floor((x - across * wide) / grid.cell);
    const row = Math.floor((y - down * high - DIE_HEAD) / grid.cell);
    const [die, inDie] = [down * grid.across + across, row * grid.columns + column];
    if (column >= grid.columns || row < 0 || across >= grid.across || die >= dies || inDie >= perDie) return '';
    const block = die * perDie + inDie;
    const { valid, written, open } = scene.state;
    const marks = `${open.has(block) ? ', open' : ''}${this.victims.has(block) ? ', collected now' : ''}`;
    if (written[block] === 0) return `block ${block} of die ${die}: erased${marks}`;
    return `block ${block} of die ${die}: ${written[block]} of ${scene.blockUnits} pages written, ${valid[block]} valid${marks}`;
  }
}

function shadesOf(paints) {
  return Array.from({ length: SHADES + 1 }, (_, i) => mixPaints(paints['block-stale'], paints['block-valid'], i / SHADES));
}
