#!/usr/bin/env node
// SPDX-License-Identifier: MIT
/* The command of the Python package, but for --db, picture and the bar. Lines are keys, in the bytes that they have. It waits in read
 * and write themselves, so that Ctrl-C ends it at once; files are written at the end. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { getSystemErrorMap, parseArgs } from 'node:util';
import { build, CuckooFilter, open, version } from './filter.mjs';
import { bothKinds, bytesOf, columnIn, columnKind, digest, digestsOf, formOf, joined, keyOf, kindOf, labelBytes, lengthsOf, Lines, lower, upper, words } from './lists.mjs';

const BATCH = 1 << 20, LEFT_OVER = 7 * 24 * 3600 * 1000; // lines that are changed at once (as in SQL); milliseconds
const text = { type: 'string' }, flag = (short) => ({ type: 'boolean', ...(short && { short }) });
let subject; // the file that an error is about

/* Reads or writes, as soon as a pipe has something, or room. */
function stream(name, call) {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if (error.code === 'EOF') return 0; // of standard input on Windows
      if (error.code !== 'EAGAIN') throw Object.assign(error, { subject: name });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

function output(bytes) {
  for (let at = 0; at < bytes.length;) at += stream('standard output', () => fs.writeSync(1, bytes, at));
}

function misuse(why) {
  subject = undefined;
  throw Object.assign(new Error(why), { code: 'ERR_PARSE_ARGS' });
}

function read(size) {
  const buffer = Buffer.allocUnsafe(size);
  return buffer.subarray(0, stream('standard input', () => fs.readSync(0, buffer)));
}

/* The options that say what a key is. */
function input(values) {
  const kinds = ['digests', 'digests=base64', 'hosts', 'domain'].filter((name) => values[name]);
  if (kinds.length > 1) misuse(`--${kinds[1]} is not allowed with --${kinds[0]}`);
  if (values.field !== undefined && values.csv !== undefined) misuse('--csv is not allowed with --field');
  if (values.field !== undefined && !/^[1-9]\d*$/.test(values.field)) misuse(`--field is a whole number, 1 or more, not ${values.field}`);
  if (values.separator === '') misuse('a separator has one character or more');
  if (values.csv !== undefined && values.separator !== '\\t' && [...values.separator ?? ','].length > 1) misuse('with --csv a separator has one character');
  return new Lines(kinds[0], values, read);
}

function needsKeys(given, hasKeys, values) {
  if (hasKeys || values['allow-empty']) return;
  subject = undefined;
  throw new Error(`${given.lines ? `standard input: no key in ${counted(given.lines, 'line')}` : 'standard input is empty'}; with --allow-empty that is no error`);
}

function* keysOf(given, values) {
  let hasKeys = false;
  for (const { keys } of given.pieces()) {
    hasKeys = true;
    yield* keys;
  }
  needsKeys(given, hasKeys, values);
}

const number = (count) => count.toLocaleString('en-US'), counted = (count, what) => `${number(count)} ${what}${count === 1 ? '' : 's'}`;

function sizeOf(count) {
  const [unit, name] = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']].find(([one]) => count >= one) ?? [0];
  return unit ? `${(count / unit).toFixed(1)} ${name}` : `${count} bytes`;
}

/* A line on standard error. `fields`: for programs; `said`: for people. */
function report(command, values, given, fields, said, hint) {
  if (values.quiet) return;
  const digits = [...(given?.lengths ?? [])].sort((a, b) => a - b).join(' and '), missing = { hosts: 'domain', domain: 'domain', undefined: 'field' };
  const all = { command, ...(given && { lines: given.lines, without_key: given.without }), ...fields, ...(hint && { hint }) };
  const lengths = digits && `; digests of ${digits} digits`;
  const without = given?.without ? `; ${counted(given.without, 'line')} without a ${missing[given.kind] ?? 'digest'}` : '';
  console.error(values.json ? JSON.stringify(all) : `${command}: ${said}${lengths}${without}${hint ? `\nhint: ${hint}` : ''}`);
}

function reportFilter(command, values, given, filter, said, fields) {
  const { items: keys, fpr_at_capacity: fpr } = filter.info(false), bytes = filter.bytes().length;
  const rate = `1 in ${number(Number((1 / fpr).toPrecision(2)))}`;
  report(command, values, given, { ...fields, keys, bytes, fpr }, `${said}${counted(keys, 'key')}, ${sizeOf(bytes)}, ${rate} false positives`);
}

/* Why nearly all lines are unknown: what would be known in their place. `isSure`: there are many. */
function hintOf(filters, sample, labels, isSure) {
  const changes = [
    [(line) => line, 'whole lines are known: leave out --digests, --field or --csv'],
    [digest, 'the digests of these lines are known: use --digests'],
    [lower, 'they are known in lower case: convert them, as by tr A-Z a-z'],
    [upper, 'they are known in capitals: convert them, as by tr a-z A-Z, or rebuild the filter with --options collation=nocase'],
    [(line) => upper(digest(line)), 'their digests are known in capitals: convert them, as by tr a-f A-F, or rebuild the filter with --digests'],
    [(line) => words(line)[0], 'their first fields are known: use --field 1']];
  const kinds = labels.filter(Boolean).join('; '), isKnown = (line) => filters.some((filter) => filter.contains(keyOf(line)));
  return changes.find(([change]) => {
    try {
      return sample.filter((line) => isKnown(change(line))).length * 2 > sample.length;
    } catch {
      return false;
    }
  })?.[1] ?? (!isSure ? undefined : 'nearly all are unknown: the lines of the filter may have other letter case, other columns or digests of another length' +
    (/^[ -~]+$/.test(kinds) ? ` (its label: ${kinds})` : ''));
}

/* What options were given when the filters were built, if these have one kind of keys, and the options are others now. */
function hintOfLabel(given, kinds) {
  const [kind] = kinds.size === 1 ? kinds : [''], column = columnIn(kind), quoted = `'${column.replaceAll("'", "'\\''")}'`;
  if (kind === 'domains' && !given.kind) return 'the keys are domains: with --domain a line is known if a domain above it is';
  if (column && column.toLowerCase() !== given.column?.toLowerCase()) {
    return `the keys are of the column ${column}: use --csv ${/^[\w.-]+$/.test(column) ? column : quoted}`;
  }
  if (kind === 'fields' && !given.kind && !given.field) return 'the keys are fields: use --field, as when it was built';
}

function beginning(path) {
  const bytes = Buffer.alloc(3), number = fs.openSync(path, 'r');
  try {
    return bytes.subarray(0, fs.readSync(number, bytes));
  } finally {
    fs.closeSync(number);
  }
}

const isFilter = (content) => /^\xcf(ck|ex)/.test(content.toString('latin1', 0, 3));

/* The filter in a file, and the label behind it there, or nothing. */
function opened(path, changes) {
  const content = fs.readFileSync(subject = path);
  if (!isFilter(content)) throw new Error(`it is not a filter; if it is a list, its lines come from standard input: < ${path}`);
  const filter = open(content);
  if (changes && !(filter instanceof CuckooFilter)) throw new Error('filter is exact, and cannot be changed; rebuild it');
  return [filter, content.subarray(filter.info(false).bytes, -4).toString()];
}

/* What the keys look like, for the label. */
const kindOfKeys = (given, { field, csv }) => (
  given.kind === 'digests' || given.kind === 'digests=base64' ? digestsOf(given.lengths) :
    given.kind ? 'domains' : csv ? columnKind(csv) : field ? 'fields' : 'lines');
const labelled = (filter, kind) => Buffer.concat([filter.bytes(), labelBytes(kind)]);

/* Says when the keys, by the labels of the filters, cannot be there. */
function expect(command, values, given, labels) {
  const lengths = labels.map(lengthsOf), name = subject;
  if (lengths.every((some) => some.length > 0)) given.wanted = [...new Set(lengths.flat())];
  const forms = labels.map(formOf);
  const isCheck = command === 'check', mayAsk = isCheck && given.wanted.length === 0 && !given.kind?.startsWith('digests'); // for a host that is no domain
  if (forms.every(Boolean) && !mayAsk) given.form = new RegExp(`^(?:${forms.join('|')})$`, isCheck ? 'i' : '');
  given.tell = (foreign) => {
    const why = `digests of ${joined(foreign)} digits; ${name} has digests of ${joined(given.wanted)} digits`;
    if (command === 'delete') throw Object.assign(new Error(why), { subject: 'standard input' });
    if (!values.quiet) console.error(`sqlite-cuckoo ${command}: standard input: ${why}`);
  };
}

/* By its label the filter has other keys than these lines, or than this one. */
function unfit(command, given, line) {
  const isWhole = !given.kind && !given.field && !given.column, isDigests = given.wanted.length > 0;
  const remedy = isDigests ? '--digests' : command === 'check' ? '--domain' : '--hosts';
  const what = line === undefined ? `no line ${isWhole ? 'is' : 'has'} one` : `'${bytesOf(line.slice(0, 80)).toString()}' is none`;
  throw new Error(`the keys are ${isDigests ? `digests of ${joined(given.wanted)} digits` : 'domains'}, and ${what}${isWhole ? `; use ${remedy}` : ''}`);
}

/* Where links lead, whether anything is there or not. */
function behindLinks(path) {
  const isLink = fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  if (!isLink) return path;
  const aim = fs.readlinkSync(path);
  return behindLinks(isAbsolute(aim) ? aim : `${dirname(path)}/${aim}`);
}

/* A new name in the same folder, which no other command has, and which is not too long. Removes what killed ones left. */
function beside(path) {
  const folder = dirname(path), begin = `${basename(path).slice(0, 50)}.`;
  for (const name of fs.readdirSync(folder)) {
    const old = name.startsWith(begin) && /^[0-9a-f]{16}\.new$/.test(name.slice(begin.length)) && join(folder, name);
    if (old && Date.now() - (fs.statSync(old, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > LEFT_OVER) fs.rmSync(old, { force: true });
  }
  return join(folder, `${begin}${randomBytes(8).toString('hex')}.new`);
}

/* Writes what `work` returns beside the old file, whose place it takes. What cannot be written fails before that. */
function write(path, work) {
  const old = fs.statSync(subject = path, { throwIfNoEntry: false });
  if (old?.isFile() && old.size > 0 && !isFilter(beginning(path))) throw new Error('it is there, and is no filter; remove it, or name another file');
  const made = () => [work(), subject = path][0]; // it reads other files
  if (old && !old.isFile()) return fs.writeFileSync(fs.openSync(path, 'w'), made());
  const real = behindLinks(path);
  for (const needed of [dirname(real), ...(old ? [real] : [])]) fs.accessSync(needed, fs.constants.W_OK);
  const content = made(), next = beside(real);
  try {
    fs.writeFileSync(next, content, { flag: 'wx', flush: true });
    if (old) fs.chmodSync(next, old.mode);
    return fs.renameSync(next, real);
  } finally {
    fs.rmSync(next, { force: true });
  }
}

/* A text of options as SQL reads it: in either case, and numbers in any spelling. */
function assigned(text) {
  const given = new Map(), whole = /^[-+]?\d+(\.0*)?(e\+?\d+)?$/;
  for (const word of text.toLowerCase().match(/[^\s,]+/g) ?? []) {
    const [name, value = '', ...more] = word.split('=');
    if (more.length > 0) throw new Error(`options must be a list of name=value, got ${word}`);
    if (given.has(name)) throw new Error(`option ${name} is given twice`);
    given.set(name, !whole.test(value) ? value : Number.isSafeInteger(+value) ? +value : /^-?\d+$/.test(value) ? BigInt(value) : value);
  }
  return Object.fromEntries(given);
}

const change = (method) => ([path], values, name) => {
  const [filter, label] = opened(path, true), given = input(values), all = keysOf(given, values), before = filter.info(false).items;
  const isDelete = name === 'delete';
  let keys = 0, lost = false;
  const isOfDigests = given.kind?.startsWith('digests') && lengthsOf(label).length > 0;
  if (isDelete || !isOfDigests) expect(name, values, given, [label]);
  if (!isOfDigests) given.refuse = (line) => unfit(name, given, line);
  write(path, () => {
    for (let next = {}; !next.done;) {
      filter[method](function* () { for (let i = 0; i < BATCH && !(next = all.next()).done; i++, keys++) yield next.value; }());
    }
    const kind = kindOfKeys(given, values), isSame = isDelete || (given.refuse && given.form);
    const joint = isSame ? kindOf(label) : before ? bothKinds(label, kind) : kind;
    lost = label && !joint && `the keys were ${kindOf(label)}, and these are ${kind || 'others'}: its label goes`;
    return labelled(filter, joint);
  });
  if (lost && !values.quiet) console.error(`sqlite-cuckoo add: ${path}: ${lost}`);
  const missed = keys - before + filter.info(false).items;
  const said = `${counted(given.lines, 'line')}, ${isDelete ? `${number(missed)} not found; ` : ''}`;
  reportFilter(name, values, given, filter, said, isDelete && { not_found: missed });
};
const REPORTS = { quiet: flag(), json: flag() };
const KEYS = { digests: flag(), 'digests=base64': flag(), hosts: flag(), field: text, csv: text, separator: { type: 'string', short: 'd' }, null: flag('z'),
  'allow-empty': flag(), ...REPORTS };
const KEY_USAGE = '[KEYS]';
const COMMANDS = {
  build: [`[--fpr P] [--capacity N] [--options TEXT] ${KEY_USAGE} FILE < lines`, { fpr: text, capacity: text, options: text, ...KEYS }, ([path], values) => {
    const { fpr = '0.01', capacity, options = '' } = values;
    if (capacity !== undefined && !/^[1-9]\d*$/.test(capacity)) misuse(`--capacity is a whole number, 1 or more, not ${capacity}`);
    subject = path;
    const room = capacity === undefined ? '' : `capacity=${capacity} `, all = { fpr: +fpr, ...assigned(room + options) }, given = input(values);
    let filter;
    build([], all);
    write(path, () => labelled(filter = build(keysOf(given, values), all), kindOfKeys(given, values)));
    const more = filter.info(false).items > capacity ? ' (more keys than --capacity)' : '';
    reportFilter('build', values, given, filter, `${counted(given.lines, 'line')}${more}, `);
  }],
  check: [`[-0 | -1] [-c] [--domain] ${KEY_USAGE} FILE... < lines`, { unknown: flag('0'), known: flag('1'), count: flag('c'), domain: flag(), ...KEYS }, (paths, values) => {
    const files = paths.map((path) => opened(path)), filters = files.map(([filter]) => filter), labels = files.map(([, label]) => label);
    const given = input(values), tally = [0, 0], sample = [], held = [], isAny = given.kind === 'domain';
    subject = paths.join(', ');
    expect('check', values, given, labels);
    for (const { lines, keys, owners } of given.pieces()) {
      const [answers, ...others] = filters.map((filter) => filter.containsMany(keys)), ofLines = owners ? [] : answers;
      for (const other of others) other.forEach((answer, i) => { answers[i] |= answer; });
      owners?.forEach((line, i) => {
        ofLines[line] = ofLines[line] === undefined ? answers[i] : isAny ? ofLines[line] | answers[i] : ofLines[line] & answers[i];
      });
      const known = lines.filter((_, i) => ofLines[i]), unknown = lines.filter((_, i) => !ofLines[i]), chosen = values.known ? known : unknown;
      tally[0] += unknown.length;
      tally[1] += known.length;
      if (sample.length < 100) sample.push(...unknown.slice(0, 100));
      if (!values.count && chosen.length > 0) held.push(bytesOf(chosen.join(given.end) + given.end));
      if (!given.form || given.fits) output(Buffer.concat(held.splice(0))); // nothing is printed before a key looks like one of the filter
      else if (tally[0] + tally[1] >= 100) unfit('check', given);
    }
    const [unknown, known] = tally, asked = unknown + known, found = values.known ? known : unknown;
    needsKeys(given, asked > 0, values);
    if (asked > 0 && given.form && !given.fits) unfit('check', given);
    if (values.count) output(Buffer.from(`${found}\n`));
    const positives = filters.reduce((sum, filter) => sum + (filter.info(false).fpr_at_capacity ?? 0), 0);
    let hint;
    if (unknown && known < (0.01 + 2 * positives) * asked) {
      const byLabel = hintOfLabel(given, new Set(labels.map(kindOf)));
      hint = hintOf(filters, sample, labels, asked >= 100 && !byLabel) ?? byLabel;
    }
    report('check', values, given, { unknown, known }, `${number(unknown)} of ${number(asked)} unknown`, hint);
    return found ? 0 : 1;
  }],
  info: ['FILE', {}, ([path]) => {
    const [filter, label] = opened(path), damage = filter.check(), fields = { ...filter.info(), ...(label && { label }) };
    if (damage !== 'ok') throw new Error(`filter is corrupt: ${damage}; restore it from a backup, or rebuild it`);
    const json = JSON.stringify(fields, (_, value) => (typeof value === 'bigint' ? String(value) : value), 2);
    output(Buffer.from(json + '\n')); // a seed beyond 2^53 is a text, as in SQL
  }],
  add: [`${KEY_USAGE} FILE < lines`, KEYS, change('addMany')],
  delete: [`${KEY_USAGE} FILE < lines`, KEYS, change('deleteMany')],
  merge: ['FILE FROM...', REPORTS, ([path, first, ...others], values) => {
    let sum, isUnlike;
    write(path, () => {
      const [begun, label] = opened(first, true);
      const labels = [label];
      sum = begun;
      for (const other of others) {
        const [more, its] = opened(other, true);
        try {
          sum.merge(more);
        } catch (error) {
          throw new Error(`${error.message}${/the filters differ/.test(error.message) ? ' (--capacity, --fpr and --options of build); or name them all in one check' : ''}`);
        }
        labels.push(its);
      }
      subject = path;
      if (![first, ...others].includes(path) && fs.statSync(path, { throwIfNoEntry: false })?.isFile()) {
        throw new Error(`it is there, and would be replaced; remove it, or add to it: sqlite-cuckoo merge ${[path, path, first, ...others].join(' ')}`);
      }
      const kind = labels.map(kindOf).reduce((one, other) => bothKinds(one, other));
      isUnlike = !kind && labels.some(Boolean);
      return labelled(sum, kind);
    });
    reportFilter('merge', values, undefined, sum, `${counted(others.length + 1, 'filter')}${isUnlike ? ' without a common label' : ''}, `);
  }]
};

const BASE64 = '--digests=base64';
const [name, ...args] = process.argv.slice(2), command = Object.hasOwn(COMMANDS, name ?? '') && COMMANDS[name];
const usages = Object.keys(COMMANDS).filter((one) => !command || one === name).map((one) => `sqlite-cuckoo ${one} ${COMMANDS[one][0]}`);
const usage = `usage: ${usages.join('\n       ')}
check prints the unknown lines (-0, --unknown), the known ones (-1, --known), or how many they are (-c, --count).
A line is known if one of the filters knows it. --domain: each line is a domain or a URL, known if it or a domain above it is.
merge ALL ALL MORE adds to ALL. The filters need the same --capacity, with room for the keys of all of
them, --fpr and --options; a key of two counts twice, and must be deleted twice. info prints the label: what keys there are.
A filter is a file that others read as well: SQL with cf_contains(readfile('FILE'), 'line'), JavaScript with
require('sqlite-cuckoo/filter').open(fs.readFileSync('FILE')).contains('line'), and C.
KEYS: the part of each line that is the key. check prints whole lines.
  --digests            the first digest, in lower case: 32, 40, 48, 56, 64, 96 or 128 hexadecimal digits, or sha512-BASE64
  --digests=base64     the same of lists with base64, as AIDE writes
  --hosts              the domains of a hosts file, an AdBlock list or a list of domains; other letters than a to z as xn--...
  --field N            a field, between spaces and tabs, or what -d SEP says
  --csv COLUMN         a column of CSV, whose first line names the columns
  -z, --null           lines end with NUL, not with a newline
  --allow-empty        a list without keys is no error
What was done is reported on standard error; --quiet: not; --json: as a line of JSON. gzip is read as it is.
Status: 0; 1: check has found no such line; 2: an error. The command of Python has --db and picture, too.
`;
try {
  if (name === '--version') output(Buffer.from(`sqlite-cuckoo ${version}\n`));
  else if ([name, ...args].some((word) => word === '--help' || word === '-h')) output(Buffer.from(usage));
  else {
    if (!command) misuse(name === undefined ? 'which command?' : `there is no command ${name}`);
    const { values, positionals } = parseArgs({ args: command[1].digests ? args.filter((one) => one !== BASE64) : args, options: command[1], allowPositionals: true });
    if (command[1].digests && args.includes(BASE64)) values[BASE64.slice(2)] = true; // parseArgs has no option with a value that may be left out
    const [least, most] = { merge: [2, Infinity], check: [1, Infinity] }[name] ?? [1, 1];
    if (positionals.length > most && 'digests' in command[1]) misuse(`lines come from standard input: sqlite-cuckoo ${name} ${positionals[0]} < ${positionals[1]}`);
    if (positionals.length < least || positionals.length > most) misuse(`its arguments are ${command[0]}`);
    if (positionals.includes('-')) misuse('- is no file; write ./- for one of this name, or /dev/stdout');
    if (values.unknown && values.known) misuse('-1 is not allowed with -0');
    process.exitCode = command[2](positionals, values, name);
  }
} catch (error) {
  if (error.code === 'EPIPE') process.exit(141); // who reads the output has gone: quietly, as after SIGPIPE
  const about = error.subject ?? subject, words = getSystemErrorMap().get(error.errno)?.[1] ?? error.message;
  console.error(`${/^ERR_PARSE/.test(error.code) ? usage : ''}sqlite-cuckoo${command ? ` ${name}` : ''}: ` +
    `${about ? `${about}: ` : ''}${words.replace(/^sqlite-cuckoo\/filter: .*?\): /, '')}`);
  process.exitCode = 2;
}
