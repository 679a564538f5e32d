// The answer in sentences: those of the engine, and why.

import { bytes, element, number, percent, prose } from './format.js';
import { baseOf, readAlike } from './results.js';

/** A share of hits below which a cache is of no use. */
const NO_HITS = 0.001;

const hitsOf = (record) => record.ratios.page_hit_ratio;

/** The rule of the scheme, and where its hits come from. */
function why(results, size, scheme, aboutOf) {
  const usual = baseOf(results);
  const record = results.at(scheme, size);
  const base = results.at(usual, size);
  const alike = readAlike(record, base) ? base : undefined;
  const parts = [aboutOf(scheme) ?? ''];
  const kinds = [['write', 'written'], ['read', 'read']].flatMap(([key, name]) => {
    const [own, other] = [record, alike].map((one) => one?.ratios[`${key}_page_hit_ratio`]);
    if (!(Math.max(own, other ?? 0) >= NO_HITS)) return [];
    return [`${percent(own)} of the ${name} pages${other != null && scheme !== usual ? ` (${usual}: ${percent(other)})` : ''}`];
  });
  if (kinds.length) parts.push(`It hits ${kinds.join(' and ')}.`);
  const [batch, other] = [record, base].map((one) => one?.evict_pages_mean);
  if (batch > 1.1 * other) parts.push(`It evicts ${number(batch, 1)} pages at a time (${usual}: ${number(other, 1)}).`);
  const bound = [...results.bounds].find((one) => readAlike(results.at(one, size), record));
  if (bound) parts.push(`No scheme can hit more than ${percent(hitsOf(results.at(bound, size)))} (${bound} knows the future).`);
  return ['Why', `: ${parts.filter(Boolean).join(' ')}`];
}

const about = (answers, topic) => answers.filter((one) => one.topic === topic);

/** Who hits most at which of the sizes; nobody can be told where schemes read in different ways. */
function otherSizes(results, answers) {
  const runs = [];
  for (const [i, size] of results.sizes.entries()) {
    const hits = about(answers[i], 'hits');
    if (results.openAt(size) > 0 || hits.length !== 1) continue;
    const { who } = hits[0];
    if (runs.at(-1)?.who === who) runs.at(-1).sizes.push(size);
    else runs.push({ who, sizes: [size] });
  }
  const range = ({ sizes }) => bytes(sizes[0]) + (sizes.length > 1 ? ` to ${bytes(sizes.at(-1))}` : '');
  if (runs.length === 0 || results.sizes.length < 2) return null;
  return ['By size', `: ${runs.map((run) => `${run.who} with ${range(run)}`).join(', ')} (by hits).`];
}

/** The lines of the answer for a cache of `size` bytes; `answers` are those of the engine for each size. */
export function answer(results, size, answers, aboutOf, preview) {
  const own = answers[results.sizes.indexOf(size)] ?? [];
  const lines = ['response', 'hits', 'flash'].flatMap((topic) => about(own, topic)).map(({ who, text }) => [who, ` ${text}`]);
  const scheme = [...about(own, 'response'), ...about(own, 'hits')].flatMap((one) => one.schemes)[0];
  if (scheme && results.at(scheme, size)) lines.push(why(results, size, scheme, aboutOf));
  lines.push(otherSizes(results, answers));
  if (preview) lines.unshift(['So far', ', from the first requests:']);
  else if (results.openAt(size) > 0) lines.unshift(['So far', `; schemes still to run: ${results.openAt(size)}`]);
  return lines.filter(Boolean).map(([head, text]) => element('p', {}, element('strong', {}, head), ...prose(text)));
}
