// Time: how fast it passes, where it stands, and what it steps to.

import { element } from './format.js';
import { distinctTimes, countUpTo } from './sorted.js';
import { instantText, meanOf, plainTime } from './words.js';

/** Speeds in ns of simulated time a second: from 1 µs to 10 s. */
export const SPEEDS = [3, 4, 5, 6, 7, 8, 9].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power)).concat(1e10);

/** A scene takes at least so many seconds, until somebody makes it faster. */
const LEAST_SECONDS = 20;
/** While nothing happens in any scene, time passes faster: a gap takes so many seconds at most. */
const GAP_SECONDS = 1;

/** At this speed about three requests come in a second, or the mean response of the slower scheme takes two. */
export function usualSpeed(scenes) {
  const { arrivals } = scenes[0].requests;
  const gaps = Array.from(arrivals.subarray(1), (at, i) => at - arrivals[i]).filter((gap) => gap > 0).sort((a, b) => a - b);
  const gap = gaps[Math.floor(gaps.length / 2)] ?? (scenes[0].to - scenes[0].from) / 100;
  const means = scenes.map((scene) => meanOf(scene.countsAt(scene.to)) ?? 0);
  return Math.min(Math.max(3 * gap, Math.max(...means) / 2), (scenes[0].to - scenes[0].from) / LEAST_SECONDS);
}

const nearestSpeed = (speed) => Math.max(0, Math.min(SPEEDS.length - 1, countUpTo(SPEEDS, speed * 1.2) - 1));

export class Controls {
  /** `changed` is called when the instant was set by hand. */
  constructor(place, changed) {
    Object.assign(this, { place, changed, t: 0, playing: false, kind: 'request' });
    this.parts = Object.fromEntries(['play', 'at', 'scrub', 'speed', 'speed-text', 'back'].map((id) => [id, place.querySelector(`#${id}`)]));
    const { play, scrub, speed, back } = this.parts;
    play.addEventListener('click', () => this.toggle());
    scrub.addEventListener('input', () => this.go(Number(scrub.value)));
    speed.addEventListener('input', () => this.takeSpeed(Number(speed.value)));
    back.addEventListener('click', () => this.step(-1));
    speed.max = SPEEDS.length - 1;
    document.addEventListener('keydown', (event) => this.key(event));
  }

  /** Takes scenes, which all show the same instant. */
  take({ scenes, at, speed }) {
    const { scrub } = this.parts;
    this.from = Math.min(...scenes.map((scene) => scene.from));
    this.to = Math.max(...scenes.map((scene) => scene.to));
    [scrub.min, scrub.max] = [this.from, this.to];
    this.steps = Object.fromEntries(Object.keys(scenes[0].steps)
      .map((kind) => [kind, distinctTimes(scenes.flatMap((scene) => scene.steps[kind]))]));
    this.moments = distinctTimes(scenes.flatMap(({ times, operations }) => [...times, ...operations.all.flatMap(({ begin, end }) => [begin, end])]));
    this.showSteps();
    this.takeSpeed(nearestSpeed(speed ?? usualSpeed(scenes)));
    this.go(at ?? this.from);
  }

  showSteps() {
    const kinds = Object.entries(this.steps);
    this.buttons = kinds.map(([kind, times]) => element('button', {
      type: 'button', disabled: times.length === 0, 'data-kind': kind, onclick: () => { this.choose(kind); this.step(1); },
    }, `Next ${kind}`));
    this.place.querySelector('#steps').replaceChildren(...this.buttons);
    this.choose(this.kind);
  }

  choose(kind) {
    this.kind = kind;
    for (const button of this.buttons) button.setAttribute('aria-pressed', String(button.dataset.kind === kind));
    this.parts.back.textContent = `Previous ${kind}`;
  }

  takeSpeed(number) {
    this.speed = SPEEDS[number];
    this.parts.speed.value = number;
    const text = `${plainTime(this.speed)} a second`;
    this.parts['speed-text'].textContent = text;
    this.parts.speed.setAttribute('aria-valuetext', `${text} of simulated time`);
    this.changed();
  }

  toggle(on = !this.playing) {
    if (on && this.t >= this.to) this.t = this.from;
    this.playing = on;
    this.parts.play.textContent = on ? 'Pause' : 'Play';
    this.changed();
  }

  /** Goes to an instant, and stops there. */
  go(t) {
    this.t = Math.round(Math.max(this.from, Math.min(this.to, t)));
    if (this.playing) this.toggle(false);
    this.show();
    this.changed();
  }

  /** Lets so many seconds of the watcher pass. */
  pass(seconds) {
    for (let left = seconds; left > 0 && this.t < this.to;) {
      const next = countUpTo(this.moments, this.t);
      const [before, after] = [this.moments[next - 1] ?? this.from, Math.min(this.to, this.moments[next] ?? this.to)];
      const speed = Math.max(this.speed, (after - before) / GAP_SECONDS);
      const needed = (after - this.t) / speed;
      this.t = needed <= left ? after : this.t + left * speed;
      left -= needed;
    }
    if (this.t >= this.to) this.toggle(false);
    this.show();
  }

  /** The next or the last event of the kind that was chosen, if there is one. */
  step(direction) {
    const times = this.steps[this.kind];
    const place = direction > 0 ? countUpTo(times, this.t) : countUpTo(times, this.t - 1) - 1;
    if (times[place] !== undefined) this.go(times[place]);
    else this.toggle(false);
  }

  show() {
    const text = instantText(Math.round(this.t));
    this.parts.at.textContent = text;
    this.parts.scrub.value = this.t;
    this.parts.scrub.setAttribute('aria-valuetext', text);
  }

  /** Space plays and pauses, arrows step. */
  key(event) {
    if (!this.steps || event.ctrlKey || event.altKey || event.metaKey) return;
    const { target } = event;
    if (target.closest?.('select, textarea, input:not([type=range])')) return;
    if (event.key === ' ' && !target.closest?.('button, summary, a')) this.toggle();
    else if (event.key === 'ArrowRight' && target !== this.parts.speed) this.step(1);
    else if (event.key === 'ArrowLeft' && target !== this.parts.speed) this.step(-1);
    else return;
    event.preventDefault();
  }
}
