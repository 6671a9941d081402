// SPDX-License-Identifier: MIT
/* The lines of standard input, and the part of each line that is the key: a digest, a field, a domain. The rules are those of lists.py
 * in the Python package. Lines are texts of latin1, in which a character is a byte. */
import { gunzipSync } from 'node:zlib';
import { TextBytes } from './filter.mjs';

const PIECE = 1 << 18, LONGEST = 1 << 26; // bytes of a read and of a line
const MARK = '\xef\xbb\xbf', FROM = 'standard input';
// The beginning of UTF-16 and UTF-32: with their byte order marks, or every second byte is 0.
const WIDE = /^(\xff\xfe|\xfe\xff|\0\0\xfe\xff|([^\0]\0){3}|(\0[^\0]){3})/;
const NO_LISTS = Object.entries({ // the first bytes of files that are no lists of lines, and what makes lines of them
  '\x28\xb5\x2f\xfd': 'compressed by zstd; decompress it: zstdcat LIST.zst | sqlite-cuckoo',
  '\xfd7zXZ\0': 'compressed by xz; decompress it: xzcat LIST.xz | sqlite-cuckoo',
  'BZh': 'compressed by bzip2; decompress it: bzcat LIST.bz2 | sqlite-cuckoo',
  'PK\x03\x04': 'a zip archive; unpack it: unzip -p LIST.zip | sqlite-cuckoo',
  '7z\xbc\xaf\x27\x1c': 'a 7z archive; unpack it: 7z x -so LIST.7z | sqlite-cuckoo',
  'SQLite format 3\0': 'a SQLite database; the command of the Python package reads it with --db',
  '\xcfck': 'a filter, not a list of lines; to join filters use sqlite-cuckoo merge'
});

// A digest stands alone: between spaces, quotes and the like, not within the name of a file, which may be a digest.
const SPACE = ' \\t-\\r', H = (count, more = '') => `[0-9a-fA-F]{${count}}${more && `(?:${more})?`}`;
const HEX = `(${H(32, H(8, H(8, H(8, H(8, H(32, H(32)))))))})`;
const BEFORE = `(?:^\\\\?|[${SPACE}"'\`,;:|=#(\\[{<>])`, BEHIND = `(?=[${SPACE}"'\`,;:|=)\\]}<>&]|$)`;
const SRI = `${BEFORE}(?:md5|sha(?:1|256|384|512))-([A-Za-z0-9+/]{22,86}={0,2})(?![A-Za-z0-9+/=])`, B = (count) => `[A-Za-z0-9+/]{${count}}`;
const BEGIN = new RegExp(`^\\\\?${HEX}(?=[${SPACE},:;]|$)`), DIGEST = new RegExp(`${BEFORE}(?:0[xX])?${HEX}${BEHIND}|${SRI}`);
// "SHA256 (name) = ..." and mtree's "name sha256digest=...": the name comes first.
const NAMED = new RegExp(`^\\\\?[A-Za-z][\\w/-]* ?\\(.*\\) ?= ?${HEX}[${SPACE}]*$|` +
  `[${SPACE},;](?:[a-z0-9]*digest|md5|rmd160|sha\\d+)=(?:0x)?${HEX}${BEHIND}`, 's');
const BASE64 = new RegExp(`${SRI}|(?:^|[${SPACE}"'\`,;:|=(-])((?:${B(22)}=|${B(27)}|${B(43)}|${B(86)}=)=)(?=[${SPACE}"'\`,;:|)]|$)`);
const DOMAIN = '((?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\\.)+[a-z][a-z0-9-]*[a-z0-9])', NAME = new RegExp(`^${DOMAIN}\\.?$`);
const ADDRESS = new RegExp(`^(?:\\d+(?:\\.\\d+){3}|[0-9a-f:]*:[0-9a-f:.]+(?:%\\w+)?)[${SPACE}]+(.*)`, 's');
// Rules of AdBlock that block a whole domain; those for some pages or some uses only are no domains.
const ADBLOCK = new RegExp(`^\\|\\|(?:\\*\\.)?${DOMAIN}\\^?(?:\\$(?:(?:important|all|doc|document|3p|third-party),?)+)?$`);
const HOST = new RegExp(`^(?:(?:[a-z][a-z0-9+.-]*:)?//)?(?:[^/?#${SPACE}@]*@)?(\\[[^\\]${SPACE}]*\\]|[^/:?#${SPACE}]*)(?:[/:?#]|$)`);
const SPACES = new RegExp(`[${SPACE}]+`), COMMENT = new RegExp(`(?:^|[${SPACE}])#.*`, 's'), ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, 'g');

export const lower = (line) => line.replace(/[A-Z]+/g, (some) => some.toLowerCase()), upper = (line) => line.replace(/[a-z]+/g, (some) => some.toUpperCase());
export const words = (line) => line.replace(ENDS, '').split(SPACES), bytesOf = (line) => Buffer.from(line, 'latin1');
export const keyOf = (line) => new TextBytes(bytesOf(line));
const fail = (why) => { throw Object.assign(new Error(why), { subject: FROM }); };

/* The hexadecimal digits of a digest in base64; nothing if it has no length of a digest. */
function decoded(text) {
  const digits = text.length % 4 === 0 ? Buffer.from(text, 'base64').toString('hex') : '';
  return [32, 40, 48, 56, 64, 96, 128].includes(digits.length) ? digits : '';
}

export function digest(line) {
  const named = BEGIN.exec(line) ?? NAMED.exec(line), found = named ?? DIGEST.exec(line) ?? ['', ''];
  return !named && found[2] ? decoded(found[2]) : (found[1] ?? found[2]).toLowerCase();
}

function base64Digest(line) {
  const found = BASE64.exec(line);
  return found ? decoded(found[1] ?? found[2]) : '';
}

/* The domains of a line of a hosts file, an AdBlock list or a list of domains. */
function hosts(given) {
  const line = lower(given.replace(ENDS, '')), rule = ADBLOCK.exec(line);
  if (rule) return [rule[1]];
  const rest = line.replace(COMMENT, ''), address = ADDRESS.exec(rest), names = words(address ? address[1] : rest.replace(/^\*\./, ''));
  return address || names.length === 1 ? names.flatMap((name) => NAME.exec(name)?.[1] ?? []) : [];
}

const LONGEST_DOMAIN = 253; // RFC 1035, section 2.3.4: 255 bytes with the lengths of the first label and of the root

/* The domain of a line, which may be a URL, and each domain above it. */
function parents(line) {
  const host = (HOST.exec(lower(line.replace(ENDS, '')))?.[1] ?? '').replace(/^\*\./, '').replace(/\.+$/, '');
  const isName = host.length <= LONGEST_DOMAIN && !/[^\0-\x7f]/.test(host), name = isName ? host : '', labels = name.split('.');
  return /^\d+$/.test(labels[labels.length - 1]) || name.startsWith('[') ? [name] : labels.map((_, i) => labels.slice(i).join('.'));
}

/* ---- labels: what the keys of a filter look like, behind it in its file (src/shape/format.h) ---- */

export const joined = (lengths) => [...lengths].filter(Boolean).sort((a, b) => a - b).join(' and ');
export const digestsOf = (lengths) => `digests of ${joined(lengths)} digits, lower case`;
export const kindOf = (label) => label.split('; ')[0];

/* The kind of the keys of a column of CSV; its name, if that is the kind. */
export const columnKind = (name) => (/^(?:[^\p{C}\p{Z}]| )+$/u.test(name) && !name.includes('; ') && Buffer.byteLength(name) < 200 ? `column ${name}` : 'fields');
export const columnIn = (kind) => (kind.startsWith('column ') ? kind.slice('column '.length) : '');

/* The numbers of digits of the digests, if these are the keys. */
export function lengthsOf(label) {
  const found = /^digests of (\d+(?: and \d+)*) digits, lower case$/.exec(kindOf(label));
  return found ? found[1].split(' and ').map(Number) : [];
}

/* A pattern for a key, if the label says what keys look like; or nothing. */
export function formOf(label) {
  return kindOf(label) === 'domains' ? DOMAIN : lengthsOf(label).map((length) => `[0-9a-f]{${length}}`).join('|');
}

/* The kind of two filters, or nothing if they have no common one. */
export function bothKinds(one, other) {
  const lengths = [lengthsOf(one), lengthsOf(other)];
  if (lengths.every((some) => some.length > 0)) return digestsOf(new Set(lengths.flat()));
  return kindOf(one) === kindOf(other) ? kindOf(one) : '';
}

/* The bytes behind a filter. */
export function labelBytes(kind) {
  if (!kind) return Buffer.alloc(0);
  const made = new Date(process.env.SOURCE_DATE_EPOCH ? process.env.SOURCE_DATE_EPOCH * 1000 : Date.now()).toISOString().slice(0, 10);
  const text = Buffer.from(`${kind}; ${made}`);
  return Buffer.concat([text, Buffer.from([text.length, 0xcf, 0x6c, 0x62])]);
}

/* ---- lines ---- */

/* The records of CSV: their fields, and their text. A quote within a field that does not begin with one is a character. `more` gives
 * the next lines, when the last record goes on. The last line has a newline, too. */
function* records(text, separator, more) {
  for (let at = 0, row = [], start = 0; at < text.length;) {
    let field = '';
    if (text[at] === '"') {
      for (at++; at < text.length; at += 2) {
        let end = text.indexOf('"', at);
        for (let next; end < 0 && (next = more()) !== undefined; end = text.indexOf('"', at)) {
          text += next;
          if (text.length >= 2 * LONGEST) fail(`a record is longer than ${LONGEST >> 20} MB`);
        }
        if (end < 0) fail('CSV: a quote of the last record is not closed');
        field += text.slice(at, end);
        at = end;
        if (text[at + 1] !== '"') break;
        field += '"';
      }
      at++;
    }
    const newline = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at), next = text.indexOf(separator, at);
    const end = next >= 0 && next < newline ? next : newline;
    row.push(field + text.slice(at, end));
    at = end === next ? end + separator.length : Math.max(end, 0);
    if (end === next && at < text.length && text[at] !== '\n') continue;
    if (end === next) row.push('');
    yield [row, text.slice(start, Math.min(at, text.length - 1))];
    row = [];
    start = ++at;
  }
}

const PICKS = { digests: digest, 'digests=base64': base64Digest, hosts, domain: parents };

/* Standard input: pieces of whole lines, each with its lines that have a key, all keys, and whose they are where a line has several. */
export class Lines {
  lines = 0;
  without = 0; // lines without a key, but for empty ones
  lengths = new Set();
  wanted = []; // lengths of the digests of the filter
  foreign = new Set(); // others that have come
  form; // a pattern for a key, if the label of the filter says what keys look like
  fits = false; // a key looks so
  refuse; // called with a key that does not, if all must

  constructor(kind, { field, csv, separator, null: isNull }, read) {
    Object.assign(this, { kind, pick: PICKS[kind], isSeveral: kind === 'hosts' || kind === 'domain', field, column: csv });
    Object.assign(this, { separator: separator === '\\t' ? '\t' : separator && Buffer.from(separator).toString('latin1'), end: isNull ? '\0' : '\n', read });
  }

  /* Bytes that have come. */
  #next() {
    if (this.unpacked) return this.unpacked.subarray(this.at, this.at += PIECE);
    const bytes = this.read(PIECE);
    if (this.at !== undefined) return bytes;
    this.at = 0;
    const begin = bytes.toString('latin1', 0, 16);
    for (const [first, what] of NO_LISTS) if (begin.startsWith(first)) fail(what);
    if (!begin.startsWith('\x1f\x8b')) return bytes;
    const all = [bytes];
    while (all[all.length - 1].length > 0) all.push(this.read(PIECE));
    try {
      this.unpacked = gunzipSync(Buffer.concat(all));
    } catch (error) {
      fail(`gzip: ${error.message}`);
    }
    return this.#next();
  }

  /* Texts of whole lines, without what ends the last one. */
  * #texts() {
    for (let begun = [], length = 0, more = ' ', isFirst = true; more;) {
      const bytes = this.#next();
      more = bytes.toString('latin1');
      begun.push(more);
      length += more.length;
      if (length >= LONGEST && !more.includes(this.end)) fail(`a line is longer than ${LONGEST >> 20} MB`);
      if (more && !more.includes(this.end)) continue;
      const all = begun.join(''), cut = more ? all.lastIndexOf(this.end) : all.length;
      let text = all.slice(0, cut);
      begun = [all.slice(cut + 1)];
      length = begun[0].length;
      if (this.end === '\n') {
        if (isFirst && WIDE.test(all)) fail('a text in UTF-16, as PowerShell writes it; make it UTF-8, as by iconv -f UTF-16 -t UTF-8');
        if (text.includes('\0')) fail('a NUL byte: it is no text, or its lines end with NUL, as by find -print0; then use -z');
        text = more ? `${text}\n`.replace(/\r\n/g, '\n').slice(0, -1) : text.replace(/\r\n/g, '\n');
      }
      if (isFirst && text.startsWith(MARK)) text = text.slice(MARK.length);
      isFirst = false;
      if (more || text) yield text;
    }
  }

  * pieces() {
    const texts = this.#texts();
    for (let next; !(next = texts.next()).done;) {
      const text = next.value;
      const isAscii = !this.column && !/[^\0-\x7f]/.test(text);
      let lines = text.split(this.end), parts = lines;
      if (this.column) [lines, parts] = this.#columns(text, texts);
      else if (this.field) parts = lines.map((line) => (this.separator ? line.split(this.separator) : words(line))[this.field - 1] ?? '');
      this.lines += lines.length;
      const piece = { lines: [], keys: [], owners: this.isSeveral ? [] : undefined }, isPart = this.pick || this.field || this.column;
      for (let i = 0; i < lines.length; i++) {
        const picked = this.pick ? this.pick(parts[i]) : parts[i], before = piece.keys.length;
        for (const key of this.isSeveral ? picked : [picked]) {
          if (!key) continue;
          piece.keys.push(isAscii ? key : keyOf(key)); // a string is faster
          piece.owners?.push(piece.lines.length);
        }
        if (piece.keys.length > before) piece.lines.push(lines[i]);
        else if (isPart && lines[i].replace(ENDS, '')) this.without++;
        if (this.pick && !this.isSeveral && picked) this.lengths.add(picked.length);
      }
      if (piece.keys.length > 0) {
        this.#compare(piece.keys);
        yield piece;
      }
    }
  }

  /* With what the filter has, by its label. */
  #compare(keys) {
    const textOf = (key) => (typeof key === 'string' ? key : key.bytes.toString('latin1'));
    const other = this.form && this.refuse && keys.map(textOf).find((key) => !this.form.test(key));
    if (other !== undefined) this.refuse(other);
    this.fits ||= this.form !== undefined && keys.some((key) => this.form.test(textOf(key)));
    const foreign = [...this.lengths].filter((length) => !this.wanted.includes(length) && !this.foreign.has(length));
    for (const length of foreign) this.foreign.add(length);
    if (this.wanted.length > 0 && foreign.length > 0) this.tell(foreign);
  }

  #columns(text, texts) {
    const lines = [], parts = [], more = () => {
      const { value } = texts.next();
      return value === undefined ? undefined : `${value}\n`;
    };
    for (const [row, line] of records(`${text}\n`, this.separator ?? ',', more)) {
      if (this.place === undefined && line) this.#findColumn(row.map((name) => bytesOf(name).toString().trim()));
      else {
        lines.push(line);
        parts.push(row[this.place ?? 0] ?? '');
      }
    }
    return [lines, parts];
  }

  #findColumn(names) {
    this.place = names.includes(this.column) ? names.indexOf(this.column) : names.findIndex((name) => name.toLowerCase() === this.column.toLowerCase());
    if (this.place < 0) fail(`there is no column ${this.column}; the first line names: ${JSON.stringify(names.join(', '))}`);
  }
}
