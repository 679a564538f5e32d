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
/** Smaller rings of open blocks have no edge inside. */
const LEAST_EDGED = 7;

export class Blocks {
  constructor(surface, scene) {
    Object.assign(this, { surface, scene });
    const { planes_per_die: planes, blocks_per_plane: blocks, dies } = scene.geometry;
    const all = scene.state.valid.length;
    // Blocks that span all dies are one group.
    [this.perDie, this.dies] = planes ? [planes * blocks, dies] : [all, 1];
    this.spans = !planes;
    this.drawn = new Int16Array(all);
  }

  /** The largest cells with which all dies fit, or else the smallest ones. */
  layOut(width) {
    for (let cell = BLOCK.most; cell > BLOCK.least; cell -= 0.5) {
      const grid = this.lowest(width, cell);
      if (grid.height <= BLOCKS_HEIGHT) return grid;
    }
    return this.lowest(width, BLOCK.least);
  }

  /** The grid of the least height with cells of a size. */
  lowest(width, cell) {
    const { perDie, dies } = this;
    let best = { height: Infinity };
    for (let across = 1; across <= dies; across++) {
      const columns = Math.floor(((width + DIE_GAP) / across - DIE_GAP) / cell);
      if (columns < Math.min(4, perDie)) break;
      const rows = Math.ceil(perDie / columns);
      const height = Math.ceil(dies / across) * (rows * cell + DIE_HEAD + 4);
      // Dies of the same height may need fewer columns.
      if (height < best.height) best = { cell, across, columns: Math.ceil(perDie / rows), rows, height };
    }
    return best;
  }

  /** Draws the blocks that have changed since the last picture. */
  draw(paints, width) {
    if (width !== this.width) Object.assign(this, { width, grid: this.layOut(width), paints: null });
    const { surface, grid } = this;
    const fresh = surface.fit(width, grid.height);
    const recoloured = paints !== this.paints;
    if (!fresh && !recoloured && this.version === this.scene.state.version.blocks) return;
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
      this.surface.text(this.spans ? 'blocks across all dies' : named ? `die ${die}` : die, x, y - 3, { paint: this.paints.muted, size: 10.5 });
    }
  }

  /** Draws the cells that have changed. */
  cells() {
    const { surface: { context }, drawn, scene: { state, geometry }, grid: { cell }, paints } = this;
    const { valid, written, open } = state;
    const inner = cell - (cell >= 4 ? 1 : cell > 2 ? 0.5 : 0);
    for (let block = 0; block < drawn.length; block++) {
      const shade = written[block] === 0 ? ERASED : Math.round((valid[block] / geometry.units_per_block) * SHADES);
      const code = shade * 2 + (open.has(block) ? 1 : 0);
      if (drawn[block] === code) continue;
      drawn[block] = code;
      const [x, y] = this.placeOf(block);
      context.clearRect(x, y, cell, cell);
      const fill = shade === ERASED ? paints['block-empty'] : this.shades[Math.min(shade, SHADES)];
      context.fillStyle = fill;
      context.fillRect(x, y, inner, inner);
      if (shade === ERASED && cell >= 4) context.clearRect(x + 1, y + 1, inner - 2, inner - 2);
      if (open.has(block)) {
        const edge = Math.max(1, Math.floor(cell / 4));
        context.fillStyle = paints.card;
        // A ring with an edge of the ground inside stands out from every shade.
        if (cell >= LEAST_EDGED) context.fillRect(x + edge, y + edge, inner - 2 * edge, inner - 2 * edge);
        context.fillStyle = fill;
        if (cell >= LEAST_EDGED && shade !== ERASED) context.fillRect(x + edge + 1, y + edge + 1, inner - 2 * edge - 2, inner - 2 * edge - 2);
        context.strokeStyle = paints.open;
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
    const marks = open.has(block) ? ', open' : '';
    const name = this.spans ? `block ${block} of all dies` : `block ${inDie} of die ${die}`;
    if (written[block] === 0) return `${name}: erased${marks}`;
    return `${name}: ${written[block]} of ${scene.geometry.units_per_block} pages written, ${valid[block]} valid${marks}`;
  }
}

function shadesOf(paints) {
  return Array.from({ length: SHADES + 1 }, (_, i) => mixPaints(paints['block-stale'], paints['block-valid'], i / SHADES));
}
