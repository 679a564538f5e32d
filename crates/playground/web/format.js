// Numbers as people read them.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Bytes in the largest binary unit, with at most so many decimals. */
export function bytes(n, decimals = 1) {
  let unit = 0;
  while (n >= 1024 && unit < UNITS.length - 1) [n, unit] = [n / 1024, unit + 1];
  return `${number(n, n < 100 ? decimals : 0)} ${UNITS[unit]}`;
}

/** A size as options have it, such as `16MiB`. */
export const sizeOption = (n) => bytes(n, 3).replace(' ', '').replace(',', '');

// `toLocaleString` would make a formatter for each number.
const FORMATS = [0, 1, 2, 3].map((maximumFractionDigits) => new Intl.NumberFormat('en', { maximumFractionDigits }));

export const number = (n, decimals = 0) => FORMATS[decimals].format(n);

export const percent = (ratio) => (ratio == null ? '–' : `${(100 * ratio).toFixed(1)} %`);

/** A time in ns. */
export function time(ns) {
  if (ns == null) return '–';
  const [unit, name] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([least]) => ns >= least) ?? [1, 'ns'];
  return `${(ns / unit).toPrecision(3).replace(/e.*/, '')} ${name}`;
}

/** How far `value` is from `base`, in percent of it. */
export function against(value, base) {
  if (value == null || !base) return '–';
  const change = 100 * (value / base - 1);
  return `${change > 0 ? '+' : ''}${change.toFixed(1)} %`;
}

/** A text as one word of a shell. */
export const shellText = (text) => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The parts of a text, with code where it has backticks. */
export const prose = (text) => text.split('`').map((part, i) => (i % 2 ? element('code', {}, part) : part));

/** An element with its content. */
export function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && typeof value !== 'string') made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...content);
  return made;
}
