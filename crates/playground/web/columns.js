// Which columns of a table hold what: a form of the engine's parts of a mapping, which makes its text.

import { element, number, shellText } from './format.js';

const $ = (id) => document.getElementById(id);

/** What a column can hold, with the units of each. */
const ROLES = { time: 'time', op: 'kind (R, W)', offset: 'offset', size: 'size', end: 'end', last: 'last', volume: 'volume', fua: 'FUA flag', preflush: 'preflush flag' };
const SIZES = [['', 'unit: automatic'], ['bytes', 'bytes'], ['sectors', 'sectors of 512 B'], ['blocks', 'blocks of 4 KiB'], ['hex', 'bytes in hexadecimal']];
const UNITS = {
  time: [['', 'unit: automatic'], ['s', 's'], ['ms', 'ms'], ['us', 'µs'], ['100ns', '100 ns'], ['ns', 'ns'], ['date', 'dates'], ['date-mdy', 'dates, month first'], ['date-dmy', 'dates, day first']],
  offset: SIZES,
  size: SIZES,
  end: SIZES,
  last: SIZES,
};
/** Parts of a mapping that say how lines are cut. */
const LAYOUT = ['separator', 'header', 'skip', 'decimal'];

/** A part as the command line takes it. */
function partText({ key, value, columns, calculation, meaning }) {
  if (!columns.length) return `${key}=${value}`;
  return `${key}=${columns.join('&')}${calculation}${meaning && `:${meaning}`}`;
}

const option = ([value, text], chosen) => new Option(text, value, false, value === chosen);

const hasVolume = (parts) => parts.some((part) => part.key === 'volume' && part.columns.length > 0);

/** The choices for one column, and how they are read. */
function columnRow(column, parts, onchange) {
  const part = parts.find((one) => one.columns.includes(column.text));
  const name = column.name.trim() || `column ${column.number}`;
  const role = element('select', { 'aria-label': `What ${name} holds`, onchange: () => { adapt(); onchange(); } }, option(['', 'not used'], part?.key ?? ''));
  role.append(...Object.entries(ROLES).map((one) => option(one, part?.key)));
  const unit = element('select', { 'aria-label': `Unit of ${name}`, onchange });
  const input = (label, placeholder) => element('input', { 'aria-label': label, placeholder, autocomplete: 'off', spellcheck: 'false', onchange });
  const words = input(`Words of ${name} for reads and writes`, 'such as 1=R,0=W');
  const calculation = input(`Calculation with the numbers of ${name}`, 'such as *512');
  words.value = part?.key === 'op' ? part.meaning : '';
  calculation.value = part?.calculation ?? '';
  function adapt(meaning = '') {
    const units = UNITS[role.value];
    unit.hidden = !units;
    unit.replaceChildren(...(units ?? []).map((one) => option(one, meaning)));
    words.hidden = role.value !== 'op';
    calculation.hidden = !UNITS[role.value] && !(role.value === 'op' && calculation.value);
  }
  adapt(part?.meaning);
  const values = element('span', { class: 'values' }, column.values.join(', '));
  const item = element('li', {}, element('strong', {}, name), values, role, unit, words, calculation);
  const read = () => ({
    key: role.value,
    columns: [column.text],
    calculation: calculation.hidden ? '' : calculation.value.trim(),
    meaning: role.value === 'op' ? words.value.trim() : unit.hidden ? '' : unit.value,
  });
  return { item, read };
}

/** The form, which asks the engine by `ask(mapping)` for what it shows, and has a trace read by `read(mapping)`. */
export class ColumnsForm {
  constructor(ask, read) {
    this.ask = ask;
    this.asked = 0;
    this.place = $('columns');
    const again = (event) => { event.preventDefault(); read($('mapping').value.trim()); };
    this.place.querySelector('form').addEventListener('submit', again);
    $('mapping').addEventListener('change', () => this.show(this.file, $('mapping').value.trim()));
    for (const key of LAYOUT) $(key).addEventListener('change', () => this.change());
    $('copy-mapping').addEventListener('click', () => this.copy());
  }

  hide() {
    this.asked += 1;
    this.place.hidden = true;
    this.place.open = false;
  }

  open() {
    this.place.open = true;
  }

  /**
   * Shows the columns of `file` under `mapping`, or under the guess without one, and `error`: why it was not read. Gives the
   * engine's table, or null if the file has none.
   */
  async show(file, mapping, error) {
    [this.file, this.asking] = [file, true];
    const asked = ++this.asked;
    const table = await this.ask(mapping, file).catch((refused) => ({ refused }));
    if (asked !== this.asked) return null;
    this.asking = false;
    if (!table.refused) this.take(table);
    this.say(error?.message ?? table.refused?.message ?? table.fault);
    // What was never a table has no columns; what was one has a mapping that cannot be read.
    this.place.hidden &&= Boolean(table.refused);
    return table.refused ? null : table;
  }

  take(table) {
    this.parts = table.parts;
    const change = () => this.change();
    this.rows = table.columns.map((column) => columnRow(column, table.parts, change));
    const focus = document.activeElement?.getAttribute('aria-label');
    $('column-list').replaceChildren(...this.rows.map(({ item }) => item));
    if (focus) $('column-list').querySelector(`[aria-label="${CSS.escape(focus)}"]`)?.focus();
    const more = table.more_columns;
    $('more-columns').hidden = !more;
    $('more-columns').textContent = `There are ${number(more)} more columns. The mapping below can name them by their numbers.`;
    const value = (key) => table.parts.find((part) => part.key === key)?.value;
    const separator = value('separator') ?? '';
    if (![...$('separator').options].some((one) => one.value === separator)) $('separator').append(new Option(separator, separator));
    $('separator').value = separator;
    $('header').value = value('header') ?? '';
    $('skip').value = value('skip') ?? '0';
    $('decimal').value = value('decimal') ?? 'point';
    this.write(table.mapping);
  }

  /** The mapping as the choices have it. */
  chosen() {
    const layout = { separator: $('separator').value, header: $('header').value, skip: $('skip').value, decimal: $('decimal').value };
    const roles = [];
    for (const part of this.rows.map((row) => row.read()).filter((one) => one.key)) {
      const first = ['time', 'volume'].includes(part.key) && roles.find((one) => one.key === part.key);
      if (first) first.columns.push(...part.columns);
      else roles.push(part);
    }
    // Constants and patterns have no field of their own.
    const others = this.parts.filter((part) => !part.columns.length && !LAYOUT.includes(part.key) && !roles.some((one) => one.key === part.key));
    const usual = { separator: '', header: '', skip: '0', decimal: 'point' };
    const cut = LAYOUT.filter((key) => layout[key] !== usual[key]).map((key) => `${key}=${layout[key]}`);
    return [...[...roles, ...others].map(partText), ...cut].join(',');
  }

  async change() {
    const [mapping, had] = [this.chosen(), hasVolume(this.parts)];
    this.write(mapping);
    const table = await this.show(this.file, mapping);
    // A column whose name tells volumes is taken for them again, unless there is another answer.
    if (had && !mapping.includes('volume=') && table && hasVolume(table.parts)) await this.show(this.file, `${mapping},volume==all`);
  }

  write(text) {
    $('mapping').value = text;
    $('mapping-line').textContent = `destage trace info ${shellText(this.file.name)} --trace-columns ${shellText(text)}`;
  }

  say(fault) {
    $('columns-fault').hidden = !fault;
    $('columns-fault').textContent = fault ?? '';
  }

  async copy() {
    await navigator.clipboard.writeText($('mapping-line').textContent);
    $('copy-mapping').textContent = 'Copied';
    setTimeout(() => { $('copy-mapping').textContent = 'Copy the command'; }, 2000);
  }
}
