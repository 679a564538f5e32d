// The page that shows scenes: one or two schemes on the same requests, at the same instant.

import { Controls } from './controls.js';
import { element, time } from './format.js';
import { storyOfFile, storyOfPage } from './load.js';
import { Overview } from './overview.js';
import { Panel } from './panel.js';
import { Surface, readPaints } from './surface.js';
import { rangeOf } from './times.js';
import { countRows, differences, happenings, instantText, listTexts, meansAt, requestsBefore, runRows, sentences, verdict } from './words.js';

const find = (id) => document.getElementById(id);
/** The lanes show as much simulated time as passes in so many seconds. */
const SPAN_SECONDS = 6;
/** A longer break between pictures is none that time passes in, in ms. */
const LONGEST_BREAK = 100;
/** Who wants less motion sees a picture so often, in ms. */
const CALM = 500;
const FIGURES_EVERY = 150;
/** The text of a pause waits until scrubbing ends, in ms. */
const TEXT_AFTER = 250;
const KEPT_FRAMES = 600;

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const darkness = matchMedia('(prefers-color-scheme: dark)');

class Watch {
  constructor() {
    Object.assign(this, { story: null, panels: [], shown: 0, last: 0, counted: -Infinity, frames: [] });
    this.paints = readPaints();
    this.controls = new Controls(find('controls'), () => this.wake());
    this.whole = new Surface(find('overview'));
    this.whole.canvas.addEventListener('click', ({ offsetX }) => this.controls.go(this.overview.instantAt(offsetX)));
    darkness.addEventListener('change', () => {
      this.paints = readPaints();
      this.wake();
    });
    this.sizes = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries) target.holder.width = Math.floor(contentRect.width);
      this.wake();
    });
  }

  show(story) {
    this.story = story;
    this.sizes.disconnect();
    const range = rangeOf(story.scenes);
    this.panels = story.scenes.map((scene, i) => new Panel(scene, i, range));
    find('schemes').replaceChildren(...this.panels.map(({ root }) => root));
    this.overview = new Overview(this.whole, story, range);
    this.entitle(story);
    this.tabs();
    const places = this.panels.map((panel) => [panel.root.querySelector('figure'), panel]);
    for (const [place, holder] of [...places, [this.whole.canvas, this.overview]]) {
      place.holder = holder;
      holder.width = place.clientWidth;
      this.sizes.observe(place);
    }
    this.controls.take(story);
    this.arrive();
  }

  /** Comes to the first instant from the one before, so that the picture shows what happens then. */
  arrive() {
    const { t } = this.controls;
    this.controls.go(t - 1);
    this.draw(performance.now(), 0);
    this.controls.go(t);
  }

  /** Shows the words of a story, and all parts of the page. */
  entitle(story) {
    document.title = story.title ? `${story.title} - destage` : 'destage: the drive to watch';
    find('title').textContent = story.title || story.scenes.map(({ scheme }) => scheme).join(' and ');
    find('about').textContent = story.about || originOf(story.scenes);
    find('promise').hidden = !story.promise;
    const seek = element('button', { type: 'button', onclick: () => this.controls.go(story.at) }, instantText(story.at));
    find('promise').replaceChildren('At ', seek, `: ${story.promise}`);
    find('rows').replaceChildren(...story.scenes.map(({ scheme }) => element('span', {}, scheme)));
    find('lists').replaceChildren(...listTexts(story.scenes).map((text) => element('span', {}, text)));
    for (const id of ['story', 'controls', 'stage', 'numbers', 'in-words']) find(id).hidden = false;
    find('empty').hidden = true;
    for (const link of document.querySelectorAll('#stories a[data-story]')) {
      if (link.dataset.story === story.name) link.setAttribute('aria-current', 'page');
    }
    find('since').textContent = requestsBefore(story.scenes);
    const rows = runRows(story.scenes);
    find('whole').hidden = rows.length === 0;
    if (rows.length) fillTable(find('runs'), story.scenes, rows);
  }

  /** On a narrow screen one scheme is shown at a time. */
  tabs() {
    const choose = (i) => {
      find('schemes').dataset.shown = i;
      buttons.forEach((button, j) => button.setAttribute('aria-pressed', String(i === j)));
    };
    const buttons = this.story.scenes.map(({ scheme }, i) => element('button', { type: 'button', onclick: () => choose(i) }, `${scheme} `, element('span')));
    find('tabs').replaceChildren(...buttons);
    this.means = buttons.map(({ lastChild }) => lastChild);
    choose(0);
  }

  /** Draws soon, and goes on as long as something moves. */
  wake() {
    if (!this.story) return;
    this.due ??= requestAnimationFrame((now) => this.frame(now));
    clearTimeout(this.text);
    this.text = setTimeout(() => this.write(), TEXT_AFTER);
  }

  frame(now) {
    this.due = null;
    const { controls } = this;
    const passed = now - this.last;
    if (calm.matches && controls.playing && passed < CALM) {
      this.due = requestAnimationFrame((later) => this.frame(later));
      return;
    }
    this.last = now;
    const begun = performance.now();
    const meanwhile = Math.min(passed, calm.matches ? 2 * CALM : LONGEST_BREAK);
    if (controls.playing && this.wasPlaying) controls.pass(meanwhile / 1000);
    this.wasPlaying = controls.playing;
    const moving = this.draw(now, meanwhile);
    this.keepFrame(now, performance.now() - begun);
    if (controls.playing || moving) this.due ??= requestAnimationFrame((later) => this.frame(later));
  }

  draw(now, passed) {
    const { controls, paints } = this;
    const span = controls.speed * SPAN_SECONDS;
    const all = { t: Math.floor(controls.t), span, paints, passed, still: calm.matches, playing: controls.playing, now };
    if (this.overview.width) this.overview.draw(paints, this.overview.width);
    const moving = this.panels.map((panel) => panel.draw(all));
    if (now - this.counted > FIGURES_EVERY || !controls.playing) {
      this.counted = now;
      this.count();
    }
    return moving.some(Boolean);
  }

  /** Durations of the last pictures, in ms: what drawing took, and what lay between two. */
  keepFrame(at, drawing) {
    this.frames.push({ at, drawing });
    if (this.frames.length > KEPT_FRAMES) this.frames.shift();
  }

  /** The counts so far, and the difference. */
  count() {
    const { scenes } = this.story;
    const t = Math.floor(this.controls.t);
    const rows = countRows(scenes, t);
    find('verdict').textContent = verdict(scenes, t);
    const { since, means } = meansAt(scenes, t);
    means.forEach((mean, i) => {
      this.means[i].textContent = time(mean);
      this.panels[i].mean.textContent = `mean ${since}: ${time(mean)}`;
    });
    fillTable(find('counts'), scenes, rows);
  }

  /** What a pause shows, for those who read or hear it. */
  write() {
    const { controls, story: { scenes } } = this;
    if (controls.playing) {
      find('words').replaceChildren(element('p', { class: 'note' }, 'The picture moves. Pause it to read it as text.'));
      find('happenings').replaceChildren();
      return;
    }
    const t = Math.floor(controls.t);
    for (const scene of scenes) scene.seek(t);
    const parts = scenes.flatMap((scene) => [
      element('h3', {}, element('code', {}, scene.scheme)),
      element('ul', {}, ...sentences(scene, t).map((text) => element('li', {}, text))),
    ]);
    const happens = scenes.map((scene) => [scene.scheme, happenings(scene, t)]).filter(([, text]) => text);
    const name = (scheme) => element('code', {}, scheme);
    find('happenings').replaceChildren(...happens.map(([scheme, text]) => element('p', {}, name(scheme), `: At this instant ${text}.`)));
    find('words').replaceChildren(element('p', {}, `At ${instantText(t)}. ${verdict(scenes, t)} ${differences(scenes, t)}`), ...parts);
  }
}

/** A column for each scheme, and for the difference of two. Cells stay the same elements. */
function fillTable(table, scenes, rows) {
  const two = scenes.length > 1;
  const heads = ['', ...scenes.map(({ scheme }) => scheme), ...(two ? ['difference (second minus first)'] : [])];
  const texts = [heads, ...rows.map(({ name, values, difference }) => [name, ...values, ...(two ? [difference ?? '–'] : [])])];
  if (table.rows.length !== texts.length || table.rows[0].cells.length !== heads.length) {
    const columns = heads.slice(1);
    table.tHead.replaceChildren(element('tr', {}, element('td', {}), ...columns.map(() => element('th', { scope: 'col' }))));
    table.tBodies[0].replaceChildren(...rows.map(() => element('tr', {}, element('th', { scope: 'row' }), ...columns.map(() => element('td', {})))));
  }
  texts.forEach((row, y) => row.forEach((text, x) => {
    const cell = table.rows[y].cells[x];
    if (cell.textContent !== text) cell.textContent = text;
  }));
}

/** Scenes without a story say what they are. */
function originOf(scenes) {
  const [{ device, trace, geometry }] = scenes;
  const of = [trace && `Trace ${trace}`, device && `on ${device}`].filter(Boolean).join(' ');
  return `${of ? `${of}: ` : ''}${geometry.dies} dies on ${geometry.channels} channels, ${geometry.frames} pages of write buffer.`;
}

const watch = new Watch();

function complain(error) {
  find('fault').hidden = !error;
  find('fault').textContent = error ? `error: ${error.message ?? error}` : '';
}

/** Shows a story, or says why there is none. */
async function take(promise) {
  complain(null);
  try {
    const story = await promise;
    if (story) watch.show(story);
    else find('empty').hidden = false;
  } catch (error) {
    complain(error);
    find('empty').hidden = Boolean(watch.story);
  }
}

function listenForFiles() {
  find('file').addEventListener('change', ({ target }) => { if (target.files[0]) take(storyOfFile(target.files[0])); });
  for (const name of ['dragenter', 'dragover']) {
    document.addEventListener(name, (event) => { event.preventDefault(); find('drop').classList.add('over'); });
  }
  document.addEventListener('dragleave', (event) => { if (!event.relatedTarget) find('drop').classList.remove('over'); });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    find('drop').classList.remove('over');
    const file = event.dataTransfer.files[0];
    if (file) take(storyOfFile(file));
  });
}

find('unstarted').hidden = true;
// A page that brings its scenes along stands alone: nothing is beside it.
find('stories').hidden = Boolean(find('scenes'));
listenForFiles();
watch.ready = take(storyOfPage());

// For tests, and for people at the console.
globalThis.watch = watch;
