// Sorted arrays of times, sums up to an instant, and groups.

/** How many values of a sorted array are at most `value`. */
export function countUpTo(sorted, value, low = 0, high = sorted.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Sums of rows that each count from an instant on. */
export class Sums {
  /** `rows`: [[time, value, value, ...]], in any order; `names`: names of the values. */
  constructor(names, rows) {
    const ordered = [...rows].sort((a, b) => a[0] - b[0]);
    this.times = Float64Array.from(ordered, (row) => row[0]);
    this.columns = names.map((name, column) => {
      let sum = 0;
      const sums = Float64Array.from(ordered, (row) => (sum += row[column + 1]));
      return [name, sums];
    });
  }

  /** The sums of the rows up to `t`, by name. */
  upTo(t) {
    const count = countUpTo(this.times, t);
    return Object.fromEntries(this.columns.map(([name, sums]) => [name, count ? sums[count - 1] : 0]));
  }
}

/** The different values of an array, ascending. */
export const distinctTimes = (times) => [...new Set(times)].sort((a, b) => a - b);

/** The values of a list by what `keyOf` gives for them. */
export function groupBy(list, keyOf) {
  const groups = new Map();
  for (const one of list) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return groups;
}
