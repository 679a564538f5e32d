// The records of a plan, by scheme and size.

/** Do the hit ratios of two runs compare? */
export const readAlike = (a, b) => a && b && a.reading.read_alloc === b.reading.read_alloc && a.reading.read_fill === b.reading.read_fill;

/** Those of dirty pages that are left are still to come. */
export function flashHost(record) {
  return (record.counts.flash_writes_host + record.dirty_pages_left) * record.page_bytes;
}

/** Bytes written to flash: for the host, by collection, for anything else, and those of dirty pages that are left. */
export function flashParts({ counts: c, page_bytes: page, dirty_pages_left: left }) {
  return [c.flash_writes_host, c.flash_writes_gc ?? 0, (c.flash_writes_meta ?? 0) + (c.padded_places ?? 0), left].map((n) => n * page);
}

export const total = (record) => flashParts(record).reduce((a, b) => a + b, 0);

/** The runs of a plan as rows of schemes and columns of sizes. */
export class Results {
  /**
   * `isDone`: is the record of a run that of the whole trace, or is there none to come? `comparedOf`: a run as the engine
   * compares it.
   */
  constructor(plan, recordOf, isDone, comparedOf) {
    this.schemes = [...new Set(plan.runs.map((run) => run.scheme))];
    this.recordOf = recordOf;
    this.isDone = isDone;
    this.comparedOf = comparedOf;
    this.runs = plan.runs;
    const sizes = plan.runs.map((run) => this.size(run)).filter((n) => n > 0);
    this.sizes = [...new Set(sizes)].sort((a, b) => a - b);
    this.bounds = new Set(plan.runs.filter((run) => run.bound).map((run) => run.scheme));
    this.device = plan.runs.find((run) => run.device)?.device;
  }

  size(run) {
    return this.recordOf(run)?.cache_bytes ?? run.cache_bytes;
  }

  /** For each size the runs that the engine compares. */
  groups() {
    const of = (size) => this.runs.filter((one) => [size, 0].includes(this.size(one))).map(this.comparedOf).filter(Boolean);
    return this.sizes.map(of);
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

/**
 * The best value of a size among schemes that are no bounds; none if all are equal, or if it is one of hits and they read in
 * different ways.
 */
export function bestValue(results, size, value, larger, isOfHits = false) {
  const all = results.schemes.filter((one) => !results.bounds.has(one)).map((one) => results.at(one, size));
  const records = all.filter((record) => record && !(isOfHits && record.cache_pages === 0));
  if (isOfHits && records.some((record) => !readAlike(record, records[0]))) return null;
  const values = records.map(value).filter((one) => one != null);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? null : larger ? most : least;
}
