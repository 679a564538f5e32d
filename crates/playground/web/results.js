// The records of a plan, by scheme and size.

export function flashHost(record) {
  return record.counts.flash_writes_host * record.page_bytes;
}

/** Bytes written to flash: for the host, by collection, and for anything else. */
export function flashParts({ counts: c, page_bytes: page }) {
  return [c.flash_writes_host, c.flash_writes_gc ?? 0, c.flash_writes_meta ?? 0].map((n) => n * page);
}

export const total = (record) => flashParts(record).reduce((a, b) => a + b, 0);

/** The runs of a plan as rows of schemes and columns of sizes. */
export class Results {
  /** `isDone`: is the record of a run that of the whole trace, or is there none to come? */
  constructor(plan, recordOf, isDone) {
    this.schemes = [...new Set(plan.runs.map((run) => run.scheme))];
    this.recordOf = recordOf;
    this.isDone = isDone;
    this.runs = plan.runs;
    const sizes = plan.runs.map((run) => this.size(run)).filter((n) => n > 0);
    this.sizes = [...new Set(sizes)].sort((a, b) => a - b);
    this.bounds = new Set(plan.runs.filter((run) => run.bound).map((run) => run.scheme));
    this.device = plan.runs.find((run) => run.device)?.device;
  }

  size(run) {
    return this.recordOf(run)?.cache_bytes ?? run.cache_bytes;
  }

  /** How many schemes have not run yet at a size. */
  openAt(size) {
    return this.runs.filter((one) => this.size(one) === size && !this.isDone(one)).length;
  }

  /** The record of a scheme at a size; a scheme without a cache has the same at all. */
  at(scheme, size) {
    const run = this.runs.find((one) => one.scheme === scheme && (this.size(one) === size || this.size(one) === 0));
    return run && this.recordOf(run);
  }
}

/** The largest of the lower half of sizes. */
export const middleOf = (sizes) => sizes[Math.floor((sizes.length - 1) / 2)];

/** The scheme that others are measured against. */
export const baseOf = (results) => (results.schemes.includes('lru') ? 'lru' : results.schemes[0]);

/** The best value of a size among schemes that are no bounds; none if all are equal. */
export function bestValue(results, size, value, larger) {
  const records = results.schemes.filter((one) => !results.bounds.has(one)).map((one) => results.at(one, size));
  const values = records.filter(Boolean).map(value).filter((one) => one != null);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? null : larger ? most : least;
}

/** The best scheme of a size that is no bound, with its value. */
export function best(results, size, value, larger) {
  let found;
  for (const scheme of results.schemes) {
    const record = results.at(scheme, size);
    const now = record && !results.bounds.has(scheme) ? value(record) : null;
    if (now != null && (!found || (larger ? now > found.value : now < found.value))) found = { scheme, value: now };
  }
  return found;
}
