// What the records say, in sentences: which scheme, how much it gains, and why.

import { bytes, element, number, percent, prose, time } from './format.js';
import { baseOf, best, total } from './results.js';

/** A lead in the share of hit pages that makes another scheme worth it. */
const LEAD = 0.005;
/** A share of hits below which a cache is of no use. */
const NO_HITS = 0.001;

const hitsOf = (record) => record.ratios.page_hit_ratio;
const meanOf = (record) => record.latency_ns?.all.mean;
const points = (share) => `${(100 * share).toFixed(1)} points`;

/** The scheme to take for its hits at a size: the usual one unless another leads. */
function leaderAt(results, size) {
  const most = best(results, size, hitsOf, true);
  const base = results.at(baseOf(results), size);
  if (!most || !base || results.bounds.has(baseOf(results))) return most;
  const usual = { scheme: baseOf(results), value: hitsOf(base) };
  return most.value - usual.value < LEAD ? { ...usual, most } : { ...most, usual };
}

function hits(results, size) {
  const leader = leaderAt(results, size);
  if (!leader) return null;
  const of = leader.usual ?? leader;
  if (of.value < NO_HITS && leader.value < NO_HITS) {
    const record = results.at(leader.scheme, size);
    const pages = record.reading.read_alloc ? 'a page' : 'a written page';
    return ['No scheme', ` hits more than one page in a thousand: the trace hardly ever comes back to ${pages} in time.`];
  }
  if (leader.usual) {
    return [leader.scheme, ` hits most: ${percent(leader.value)} of all pages, ${points(leader.value - of.value)} more than ${of.scheme}.`];
  }
  const { scheme, most } = leader;
  const others = results.schemes.some((one) => one !== scheme && !results.bounds.has(one) && results.at(one, size));
  if (!others) return [scheme, ` hits ${percent(leader.value)} of all pages.`];
  const next = most && most.scheme !== scheme ? ` ${most.scheme} has ${percent(most.value)}.` : '';
  return [scheme, ` is enough: it hits ${percent(leader.value)} of all pages, and no other scheme here hits ${points(LEAD)} more.${next}`];
}

function speed(results, size) {
  const fast = best(results, size, meanOf, false);
  if (!fast) return null;
  const usual = baseOf(results);
  const base = results.at(usual, size);
  const than = base && fast.scheme !== usual ? `, ${usual} in ${time(meanOf(base))}` : '';
  return [fast.scheme, ` answers fastest: on average in ${time(fast.value)}${than}.`];
}

function flash(results, size) {
  const least = best(results, size, total, false);
  if (!least) return null;
  const usual = baseOf(results);
  const base = results.at(usual, size);
  const saved = base && total(base) > 0 ? 1 - least.value / total(base) : 0;
  const than = saved >= 0.0005 ? `, ${percent(saved)} less than ${usual}` : '';
  return [than ? least.scheme : usual, ` writes least to flash: ${bytes(least.value, 2)}${than}.`];
}

/** The rule of the scheme, and where its hits come from. */
function why(results, size, scheme, aboutOf) {
  const usual = baseOf(results);
  const [record, base] = [results.at(scheme, size), results.at(usual, size)];
  const parts = [aboutOf(scheme) ?? ''];
  const kinds = [['write', 'written'], ['read', 'read']].flatMap(([key, name]) => {
    const [own, other] = [record, base].map((one) => one?.ratios[`${key}_page_hit_ratio`]);
    if (!(Math.max(own, other ?? 0) >= NO_HITS)) return [];
    return [`${percent(own)} of the ${name} pages${other != null && scheme !== usual ? ` (${usual}: ${percent(other)})` : ''}`];
  });
  if (kinds.length) parts.push(`It hits ${kinds.join(' and ')}.`);
  const [batch, other] = [record, base].map((one) => one?.evict_pages_mean);
  if (batch > 1.1 * other) parts.push(`It evicts ${number(batch, 1)} pages at a time (${usual}: ${number(other, 1)}).`);
  const bound = [...results.bounds].find((one) => results.at(one, size));
  if (bound) parts.push(`No scheme can hit more than ${percent(hitsOf(results.at(bound, size)))} (${bound} knows the future).`);
  return ['Why', `: ${parts.filter(Boolean).join(' ')}`];
}

/** Who leads at which of the sizes. */
function otherSizes(results) {
  const runs = [];
  for (const size of results.sizes.filter((one) => results.openAt(one) === 0)) {
    const scheme = leaderAt(results, size)?.scheme;
    if (!scheme) continue;
    if (runs.at(-1)?.scheme === scheme) runs.at(-1).sizes.push(size);
    else runs.push({ scheme, sizes: [size] });
  }
  const range = ({ sizes }) => bytes(sizes[0]) + (sizes.length > 1 ? ` to ${bytes(sizes.at(-1))}` : '');
  if (runs.length === 0 || results.sizes.length < 2) return null;
  return ['By size', `: ${runs.map((run) => `${run.scheme} with ${range(run)}`).join(', ')} (by hits).`];
}

/** The lines of the answer for a cache of `size` bytes. */
export function answer(results, size, aboutOf, preview) {
  const [fast, most] = [speed(results, size), hits(results, size)];
  const scheme = fast?.[0] ?? leaderAt(results, size)?.scheme;
  const lines = [fast, most, flash(results, size), scheme && why(results, size, scheme, aboutOf), otherSizes(results)];
  if (preview) lines.unshift(['So far', ', from the first requests:']);
  else if (results.openAt(size) > 0) lines.unshift(['So far', `; schemes still to run: ${results.openAt(size)}`]);
  return lines.filter(Boolean).map(([head, text]) => element('p', {}, element('strong', {}, head), ...prose(text)));
}
