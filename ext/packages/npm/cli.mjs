#!/usr/bin/env node
// SPDX-License-Identifier: MIT
/* The command of the Python package, but for --db, picture and the bar. Lines are keys, in the bytes that they have. It waits in read
 * and write themselves, so that Ctrl-C ends it at once; files are written at the end. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { getSystemErrorMap, parseArgs } from 'node:util';
import { build, CuckooFilter, open, TextBytes, version } from './filter.mjs';

const PIECE = 1 << 18, LONGEST = 1 << 26, BATCH = 1 << 20; // bytes of a read and of a line, lines that are changed at once (as in SQL)
const NEWLINE = Buffer.from('\n'), RETURN = 13, MARK = Buffer.from('\ufeff'), text = { type: 'string' }, flag = (short) => ({ type: 'boolean', short });
// The beginning of UTF-16 and UTF-32: with their byte order marks, or every second byte is 0.
const WIDE = /^(\xff\xfe|\xfe\xff|\0\0\xfe\xff|([^\0]\0){3}|(\0[^\0]){3})/, LEFT_OVER = 7 * 24 * 3600 * 1000;
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

/* Arrays of the lines that have come. A line ends with a newline, or a carriage return and a newline; the last one needs neither.
 * A byte order mark before the first one is left out, and so are empty lines. */
function* input() {
  const buffer = Buffer.allocUnsafe(PIECE);
  for (let n = 1, begun = [], length = 0, isFirst = true; n > 0;) {
    n = stream('standard input', () => fs.readSync(0, buffer));
    begun.push(Buffer.from(buffer.subarray(0, n)));
    length += n;
    if (length >= LONGEST) throw Object.assign(new Error(`a line is longer than ${LONGEST >> 20} MB`), { subject: 'standard input' });
    if (n > 0 && !begun[begun.length - 1].includes(NEWLINE)) continue;
    const piece = Buffer.concat(begun), lines = [];
    if (isFirst && WIDE.test(piece.toString('latin1', 0, 9))) {
      throw Object.assign(new Error('a text in UTF-16, as PowerShell writes it; make it UTF-8, as by iconv -f UTF-16 -t UTF-8'), { subject: 'standard input' });
    }
    let at = isFirst && piece.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0;
    isFirst = false;
    for (let end; (end = piece.indexOf(NEWLINE, at)) >= 0; at = end + 1) {
      const line = piece.subarray(at, end > at && piece[end - 1] === RETURN ? end - 1 : end);
      if (line.length > 0) lines.push(new TextBytes(line));
    }
    begun = [piece.subarray(at)];
    length = piece.length - at;
    if (n === 0 && length > 0) lines.push(new TextBytes(begun[0]));
    if (lines.length > 0) yield lines;
  }
}

function* lines() {
  for (const some of input()) yield* some;
}

function opened(path, changes) {
  const filter = open(fs.readFileSync(subject = path));
  if (changes && !(filter instanceof CuckooFilter)) throw new Error('filter is exact, and cannot be changed; rebuild it');
  return filter;
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

const change = (method) => ([path]) => {
  const filter = opened(path, true), all = lines();
  write(path, () => {
    for (let next = {}; !next.done;) {
      filter[method](function* () { for (let i = 0; i < BATCH && !(next = all.next()).done; i++) yield next.value; }());
    }
    return filter.bytes();
  });
};
const COMMANDS = {
  build: ['[--fpr P] [--options TEXT] FILE < lines', { fpr: text, options: text }, ([path], { fpr = '0.01', options = '' }) => {
    subject = path;
    const all = { fpr: +fpr, ...assigned(options) };
    build([], all);
    write(path, () => build(lines(), all).bytes());
  }],
  check: ['[-0 | -1] [-c] FILE < lines', { unknown: flag('0'), known: flag('1'), count: flag('c') }, ([path], { known = false, count }) => {
    const filter = opened(path);
    let found = 0;
    for (const some of input()) {
      const answers = filter.containsMany(some), chosen = some.filter((_, i) => answers[i] === Number(known));
      if (!count) output(Buffer.concat(chosen.flatMap(({ bytes }) => [bytes, NEWLINE])));
      found += chosen.length;
    }
    if (count) output(Buffer.from(`${found}\n`));
    return found ? 0 : 1;
  }],
  info: ['FILE', {}, ([path]) => {
    const filter = opened(path), damage = filter.check(), fields = filter.info();
    if (damage !== 'ok') throw new Error(`filter is corrupt: ${damage}; restore it from a backup, or rebuild it`);
    const json = JSON.stringify(fields, (_, value) => (typeof value === 'bigint' ? String(value) : value), 2);
    output(Buffer.from(json + '\n')); // a seed beyond 2^53 is a text, as in SQL
  }],
  add: ['FILE < lines', {}, change('addMany')],
  delete: ['FILE < lines', {}, change('deleteMany')],
  merge: ['FILE FROM...', {}, ([path, first, ...others]) => write(path, () => {
    const sum = opened(first, true);
    for (const other of others) sum.merge(opened(other, true));
    return sum.bytes();
  })]
};

const [name, ...args] = process.argv.slice(2), command = Object.hasOwn(COMMANDS, name ?? '') && COMMANDS[name];
const usages = Object.keys(COMMANDS).filter((one) => !command || one === name).map((one) => `sqlite-cuckoo ${one} ${COMMANDS[one][0]}`);
const usage = `usage: ${usages.join('\n       ')}
check prints the unknown lines (-0, --unknown), the known ones (-1, --known), or how many they are (-c, --count).
Status: 0; 1: check has found no such line; 2: an error. The command of Python has --db and picture, too.
`;
const misuse = (why) => { throw Object.assign(new Error(why), { code: 'ERR_PARSE_ARGS' }); };
try {
  if (name === '--version') output(Buffer.from(`sqlite-cuckoo ${version}\n`));
  else if ([name, ...args].some((word) => word === '--help' || word === '-h')) output(Buffer.from(usage));
  else {
    if (!command) misuse(name === undefined ? 'which command?' : `there is no command ${name}`);
    const { values, positionals } = parseArgs({ args, options: command[1], allowPositionals: true });
    if (name === 'merge' ? positionals.length < 2 : positionals.length !== 1) misuse(`its arguments are ${command[0]}`);
    if (positionals.includes('-')) misuse('- is no file; write ./- for one of this name, or /dev/stdout');
    if (values.unknown && values.known) misuse('-1 is not allowed with -0');
    process.exitCode = command[2](positionals, values);
  }
} catch (error) {
  if (error.code === 'EPIPE') process.exit(141); // who reads the output has gone: quietly, as after SIGPIPE
  const about = error.subject ?? subject, words = getSystemErrorMap().get(error.errno)?.[1] ?? error.message;
  console.error(`${/^ERR_PARSE/.test(error.code) ? usage : ''}sqlite-cuckoo${command ? ` ${name}` : ''}: ` +
    `${about ? `${about}: ` : ''}${words.replace(/^sqlite-cuckoo\/filter: .*?\): /, '')}`);
  process.exitCode = 2;
}
