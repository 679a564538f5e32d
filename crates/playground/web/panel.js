// One scheme: its figures, each a canvas with a line of text above it.

import { Blocks } from './blocks.js';
import { Buffer } from './buffer.js';
import { element } from './format.js';
import { Lanes } from './lanes.js';
import { Surface } from './surface.js';
import { Times } from './times.js';
import { captions } from './words.js';

const FIGURES = [
  ['buffer', 'Write buffer', 'Requests in flight, and the pages of the write buffer in the lists of the scheme.'],
  ['times', 'Response times', 'Response times of the last requests on a logarithmic axis.'],
  ['lanes', 'Dies', 'What each die did until now, as lanes over time.'],
  ['blocks', 'Blocks', 'All blocks, coloured by the share of their data that is valid.'],
];
/** Texts change so often at most, in ms: more often nobody reads them. */
const TEXT_EVERY = 150;

export class Panel {
  constructor(scene, number, range) {
    Object.assign(this, { scene, number, places: {}, texts: {}, width: 0, written: -Infinity });
    this.mean = element('span', { class: 'mean' });
    const id = `scheme-${number}`;
    this.root = element('section', { class: 'scheme', 'aria-labelledby': id },
      element('div', { class: 'head' }, element('h2', { id }, element('code', {}, scene.scheme)), this.mean),
      ...FIGURES.map((figure) => this.figure(figure)));
    this.root.querySelector('.blocks').hidden = !scene.state.valid.length;
    this.views = {
      buffer: new Buffer(this.places.buffer, scene), lanes: new Lanes(this.places.lanes, scene),
      blocks: new Blocks(this.places.blocks, scene), times: new Times(this.places.times, scene, range),
    };
  }

  figure([name, title, about]) {
    const canvas = element('canvas', { role: 'img', 'aria-label': `${title} of ${this.scene.scheme}. ${about} The text below the pictures says what they show.` });
    const text = element('span', { class: 'note' });
    Object.assign(this.places, { [name]: new Surface(canvas) });
    Object.assign(this.texts, { [name]: text });
    canvas.addEventListener('pointermove', (event) => {
      const place = canvas.getBoundingClientRect();
      this.pointer = { name, x: event.clientX - place.left, y: event.clientY - place.top };
      this.write();
    });
    canvas.addEventListener('pointerleave', () => {
      this.pointer = null;
      this.write();
    });
    return element('figure', { class: name }, element('figcaption', {}, element('h3', {}, title), text), canvas);
  }

  /** Draws everything as it is at `t`; true if pages are still moving. */
  draw({ t, span, paints, passed, still, playing, now }) {
    const changes = this.scene.seek(t);
    if (!this.width) return false;
    const { buffer, lanes, blocks, times } = this.views;
    buffer.draw(t, paints, this.width, { passed, changes, still, playing });
    lanes.draw(t, span, paints, this.width);
    if (this.scene.state.valid.length) blocks.draw(paints, this.width);
    times.draw(t, paints, this.width);
    this.t = t;
    if (now - this.written > TEXT_EVERY || !playing) {
      this.written = now;
      this.write();
    }
    return buffer.moving;
  }

  /** The line above each picture: what it shows, or what stands under the pointer. */
  write() {
    const { t, pointer } = this;
    const texts = captions(this.scene, t);
    if (pointer) texts[pointer.name] = this.views[pointer.name].describe(pointer.x, pointer.y) || texts[pointer.name];
    for (const [name, text] of Object.entries(texts)) {
      if (this.texts[name].textContent !== text) this.texts[name].textContent = text;
    }
  }
}
