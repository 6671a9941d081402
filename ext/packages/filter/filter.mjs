// SPDX-License-Identifier: MIT
/*
 * Cuckoo filters where there is no SQLite: the filters of the extension, byte for byte, in browsers, workers, Node and Deno.
 * The C library does the work (exports.c, as WebAssembly). Here are the keys, the options, the memory and the errors.
 * make dist puts the compiled library in, and makes filter.js of this file, for require().
 */
const version = '@VERSION@';
const WASM = '@WASM@';

const INTEGER = 1, REAL = 2, TEXT = 3, BLOB = 4; // types of keys: src/include/cuckoo_key.h
const OBJECT = 1024, EXACT = 32768, MOST = 0x7fffffff; // exports.c
const UNSURE = 0, SURE = 1, UNFIT = 3; // what it says of a key
const ROOM = 1 << 16, BEHIND = 8; // bytes for a key, and behind it; a longer one gets a block of its own
const PAGE = 1 << 16, MOST_PAGES = 1 << 16; // of WebAssembly

const [FULL, DAMAGED, NEWER, TOO_BIG, MISMATCH, NO_MEMORY] = [1, 2, 3, 5, 6, 7]; // cf_status

const AFFINITIES = ['none', 'text', 'numeric', 'real'], COLLATIONS = ['binary', 'nocase', 'rtrim'];
const KEY_TYPES = ['', 'number', 'text', 'number,text', 'blob', 'number,blob', 'text,blob', 'any'];

/* What an option may be: one of some words or numbers, or a whole number in a range. exports.c reads them in this order. */
const OPTIONS = {
  capacity: [0, 2 ** 40], fpr: null, bucket_size: [1, 2, 4, 8], fingerprint_bits: [4, 32], counter_bits: [0, 16],
  value_bits: [0, 32], growth: ['off', 'on'], hash: ['auto', 'xxh3', 'keyed'], layout: ['auto', 'plain', 'semisort'],
  stash: ['off', 'on'], max_kicks: [0, 255], stash_size: [1, 4096], affinity: AFFINITIES, collation: COLLATIONS
};
const OTHER_WORDS = new Map([[true, 'on'], [false, 'off'], ['blob', 'text'], ['integer', 'numeric']]);

/* What exports.c says of a filter, in this order; an array: words for numbers. */
const INFO = {
  items: 0, occupied: 0, capacity: 0, buckets: 0, bucket_size: 0, fingerprint_bits: 0, slot_bits: 0,
  layout: ['plain', 'semisort'], level: 0, split: 0, bytes: 0, fpr_now: 0, fpr_at_capacity: 0, turnovers: 0,
  hash: ['xxh3', 'keyed'], counter_bits: 0, value_bits: 0, affinity: AFFINITIES, collation: COLLATIONS, key_types: KEY_TYPES,
  growth: ['off', 'on'], stash: ['off', 'on'], max_kicks: 0, stash_size: 0, stashed: 0, saturated: 0, exhausted: 0,
  pair_bits: 0, max_copies: 0, base_buckets: 0, format: 0, epochs: 0, epoch: 0
};
const EXACT_INFO = {
  keys: 0, members: 0, levels: 0, listed: 0, bytes: 0, fpr_unknown: 0, hash: INFO.hash, affinity: AFFINITIES, collation: COLLATIONS,
  key_types: KEY_TYPES, format: 0
};
const SEED_AT = 8 * Object.keys(INFO).length; // more than there are options

function fail(call, what, kind = Error) {
  throw new kind(`sqlite-cuckoo/filter: ${call}: ${what}`);
}

/* What was given, in an error. Some objects have no text. */
function textOf(value) {
  try {
    return String(value).slice(0, 40);
  } catch {
    return 'an object';
  }
}

/* An argument of another type than it looks like: '0.01' is no number, and 'true' is no boolean. */
function gotOf(value) {
  const isOther = typeof value === 'bigint' || (typeof value === 'string' && /^(true|false|[-+.\d].*)$/.test(value));
  return textOf(value) + (isOther ? `, which is a ${typeof value}` : '');
}

/* As a part of a filter it makes JSON.stringify, structuredClone and postMessage fail, which would give {} otherwise. */
const toJSON = () => fail('a filter', 'cannot be copied or written as JSON; use filter.bytes(), and open(bytes) there', TypeError);

/* ---- the memory that all filters share: it grows, and never shrinks ---- */

let c, memory, u8, view; // the C library, its memory, and two views of that
let scratch; // where keys and numbers are handed over
const used = new Map(); // address of a block -> its length
const free = []; // [address, length] of what lies between, by address, with no two side by side

/* The place in `free` of the first one that begins at `at` or behind it. */
function placeOf(at) {
  let low = 0, high = free.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (free[middle][0] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function giveBack(at, length) {
  const i = placeOf(at), before = free[i - 1], after = free[i];
  if (length === 0) return;
  if (after && at + length === after[0]) {
    after[0] = at;
    after[1] += length;
  } else {
    free.splice(i, 0, [at, length]);
  }
  if (before && before[0] + before[1] === at) {
    before[1] += free[i][1];
    free.splice(i, 1);
  }
}

/* Asks for more pages: an eighth at least, if there are as many. */
function growMemory(length) {
  const pages = memory.buffer.byteLength / PAGE, needed = Math.ceil(length / PAGE);
  for (const more of [Math.min(Math.max(needed, pages >> 3), MOST_PAGES - pages), needed]) {
    try {
      memory.grow(more);
    } catch {
      continue;
    }
    u8 = new Uint8Array(memory.buffer);
    view = new DataView(memory.buffer);
    giveBack(pages * PAGE, more * PAGE);
    return true;
  }
  return false;
}

/* The first place that is large enough; 0: there is no memory. */
function take(length) {
  let i = free.findIndex((block) => block[1] >= length);
  if (i < 0 && !growMemory(length)) return 0;
  if (i < 0) i = free.findIndex((block) => block[1] >= length);
  if (i < 0) return 0;
  const [at, had] = free[i];
  free[i] = [at + length, had - length];
  if (had === length) free.splice(i, 1);
  used.set(at, length);
  return at;
}

/* Like realloc; 0 bytes: gives the block back. Returns its address, or 0: no memory, and nothing has changed. */
function resize(block, bytes) {
  const at = block >>> 0, length = Math.ceil((bytes >>> 0) / 16) * 16, had = used.get(at) || 0;
  if (at === 0) return length && take(length);
  if (length <= had) {
    giveBack(at + length, had - length);
    if (length) used.set(at, length);
    else used.delete(at);
    return length && at;
  }
  const behind = free[placeOf(at)];
  if (behind && behind[0] === at + had && had + behind[1] >= length) {
    const rest = had + behind[1] - length;
    if (rest) [behind[0], behind[1]] = [at + length, rest];
    else free.splice(placeOf(at), 1);
    used.set(at, length);
    return at;
  }
  const longer = take(length);
  if (longer) {
    u8.copyWithin(longer, at, at + had);
    resize(at, 0);
  }
  return longer;
}

function block(call, bytes) {
  const at = bytes <= MOST ? resize(0, bytes) : 0;
  if (!at) fail(call, `out of memory for ${bytes} bytes; close() filters that are no longer needed`, RangeError);
  return at;
}

function newObject(call, bytes = OBJECT) {
  const at = block(call, bytes);
  u8.fill(0, at, at + bytes);
  return at;
}

/* ---- the C library ---- */

const decoded = () =>
  typeof atob === 'function' ? Uint8Array.from(atob(WASM), (char) => char.charCodeAt(0)) : Buffer.from(WASM, 'base64');
const imports = { js: { resize, number: (at) => Number(textAt(at)), expm1: Math.expm1, log1p: Math.log1p } };

function start({ exports }) {
  if (c) return;
  c = exports;
  c.start();
  memory = c.memory;
  u8 = new Uint8Array(memory.buffer);
  view = new DataView(memory.buffer);
  const base = Math.ceil(c.__heap_base.value / 16) * 16;
  giveBack(base, u8.length - base);
  scratch = at = block('ready()', ROOM + BEHIND);
}

function failRefused(error) {
  fail('ready(module)', `this runtime compiles no WebAssembly from bytes (${error.message}): call await ready(module) before, ` +
    "with the module of 'sqlite-cuckoo/filter.wasm'; a page needs script-src 'wasm-unsafe-eval'");
}

/** Compiles the library without holding up the page, or takes it compiled. Not needed where the first call of open, build or
 * create may compile it. */
async function ready(module) {
  if (module !== undefined && Object.prototype.toString.call(module) !== '[object WebAssembly.Module]') {
    fail('ready(module)', "module must be a WebAssembly.Module, such as that of 'sqlite-cuckoo/filter.wasm'", TypeError);
  }
  if (c) return;
  const made = await (async () => WebAssembly.instantiate(module || decoded(), imports))().catch(failRefused);
  start(made.instance || made);
}

function load() {
  if (c) return;
  let instance;
  try {
    instance = new WebAssembly.Instance(new WebAssembly.Module(decoded()), imports);
  } catch (error) {
    failRefused(error);
  }
  start(instance);
}

function textAt(at) {
  let text = '';
  for (let p = at >>> 0; p && u8[p]; p++) text += String.fromCharCode(u8[p]);
  return text;
}

const why = () => textAt(c.why());

/* ---- keys: the last one that was put lies `length` bytes long at `at`, until it is taken away ---- */

const encoder = new TextEncoder();
let at, length;

const isBuffer = (value) => Object.prototype.toString.call(value) === '[object ArrayBuffer]';

/** A key that is a TEXT of SQL in these bytes, whether they are UTF-8 or not: a line of a file, say. */
class TextBytes {
  constructor(bytes) {
    if (!ArrayBuffer.isView(bytes) && !isBuffer(bytes)) {
      fail('new TextBytes(bytes)', `bytes must be a Uint8Array or an ArrayBuffer, got ${textOf(bytes)}`, TypeError);
    }
    this.bytes = bytes;
  }

  toString() {
    return new TextDecoder().decode(this.bytes);
  }
}

/* null: it is something else. A buffer that went to a worker has no bytes here. */
function bytesOf(call, value) {
  try {
    return ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
      : isBuffer(value) ? new Uint8Array(value) : null;
  } catch {
    return fail(call, 'the bytes cannot be read: their buffer was transferred; give a copy, or transfer a copy', TypeError);
  }
}

function putBytes(call, bytes, type) {
  if (bytes.length > ROOM) at = block(call, bytes.length + BEHIND);
  u8.set(bytes, at);
  length = bytes.length;
  return type;
}

/* Short texts of ASCII are copied faster by hand. Lone surrogates become U+FFFD, as when drivers of SQLite bind them. */
function putText(call, text) {
  const n = text.length;
  let i = 0;
  for (let code; n <= 64 && i < n && (code = text.charCodeAt(i)) < 128; i++) u8[at + i] = code;
  if (i < n && n > ROOM / 3) return putBytes(call, encoder.encode(text), TEXT);
  length = i < n ? encoder.encodeInto(text, u8.subarray(at, at + ROOM)).written : n;
  return TEXT;
}

/* Puts the bytes of a key, and returns its type. Numbers that equal an integer are integers, as in SQL. */
function putKey(call, key) {
  length = 8;
  if (typeof key === 'string') return putText(call, key);
  if (typeof key === 'number' && key === key) {
    view.setFloat64(at, key, true);
    return REAL;
  }
  if (typeof key === 'bigint') {
    if (BigInt.asIntN(64, key) !== key) fail(call, `key ${key} is no integer of 64 bits; give it as a string or as bytes`, RangeError);
    view.setBigInt64(at, key, true);
    return INTEGER;
  }
  const isText = key instanceof TextBytes, bytes = bytesOf(call, isText ? key.bytes : key);
  if (bytes) return putBytes(call, bytes, isText ? TEXT : BLOB);
  const got = Array.isArray(key) ? 'an array' : key instanceof Date ? 'a Date; give what the column holds, such as key.toISOString()'
    : typeof key === 'object' ? 'an object' : typeof key === 'boolean' ? `${key}; give 1 or 0` : textOf(key);
  return fail(call, `key must be a string, a number, a bigint, bytes (Uint8Array) or null, got ${got}`, TypeError);
}

/* The words and the remedy for a key that cannot have been meant. */
function failUnfit(call, key, type, noted) {
  const is = type === TEXT ? `the text '${textOf(key)}'` : type === BLOB ? 'bytes' : `the number ${key}`, blobs = type === BLOB || noted === 4;
  const remedy = noted & 1 ? 'a number, such as Number(key)' : noted & 2 ? 'a text, such as String(key)' : 'bytes (a Uint8Array)';
  const affinity = blobs ? '' : `, or for joins make the filter with affinity: '${type === TEXT ? 'numeric' : 'text'}'`;
  fail(call, `key is ${is}, and only keys of these types were added: ${KEY_TYPES[noted]}, so it would never be found; give ${remedy}${affinity}; ` +
    "affinity: 'none', written out, takes keys of all types", TypeError);
}

/* Tells the C library the key that the next call is about, under the rule of a filter or a list. `asks`: it is looked for or
 * deleted. Returns true if the answer is "probably", which is none for an exact filter. */
function put(call, key, handle, asks, exact = false) {
  const type = putKey(call, key), known = c.key(handle, type, at, length, asks);
  if (at !== scratch) resize(at, 0);
  at = scratch;
  if (known === UNFIT) failUnfit(call, key, type, c.types(handle));
  if (known === UNSURE && exact) {
    fail(call, `key '${textOf(key)}' is a number under the affinity of the filter, and versions of SQLite differ over which one; ` +
      'give it as a number');
  }
  return known !== SURE;
}

function checkIterable(call, keys) {
  if (keys === null || typeof keys !== 'object' || typeof keys[Symbol.iterator] !== 'function') {
    fail(call, 'keys must be an iterable, such as an array or a Set of keys', TypeError);
  }
}

/* Hands all keys to `use` as a list of the C library. `begin(list)` says how they are hashed. `places` gets those of
 * vague keys, and of nulls, which are no keys; without places.nulls these are left out. */
function withList(call, keys, begin, use, asks, places) {
  checkIterable(call, keys);
  const list = newObject(call);
  let i = 0;
  try {
    begin(list);
    for (const key of keys) {
      const nulls = places && places.nulls;
      if (key === null && nulls) nulls.push(i);
      if (key !== null && put(call, key, list, asks, places && places.exact) && places) places.vague.push(i);
      if ((key !== null || nulls) && !c.push(list)) fail(call, `out of memory for so many keys, ${i}; build several filters`, RangeError);
      i++;
    }
    return use(list, i);
  } finally {
    c.end(list);
    resize(list, 0);
  }
}

/* ---- options ---- */

function readOption(call, name, given) {
  const rule = OPTIONS[name], isRange = rule && rule.length === 2 && typeof rule[0] === 'number', other = OTHER_WORDS.get(given);
  const value = rule && rule.includes(other) ? other : given;
  if (name === 'fpr' && typeof value === 'number' && value > 0 && value < 1) return value;
  if (isRange && Number.isInteger(value) && value >= rule[0] && value <= rule[1]) return value;
  if (rule && !isRange && rule.includes(value)) return typeof value === 'number' ? value : rule.indexOf(value);
  const also = (word) => [word, ...[...OTHER_WORDS.keys()].filter((one) => OTHER_WORDS.get(one) === word)];
  const accepted = name === 'fpr' ? 'a number above 0 and below 1, such as 0.01'
    : isRange ? `a whole number from ${rule[0]} to ${rule[1]}` : rule.flatMap(also).join(' or ');
  return fail(call, `${name} must be ${accepted}, got ${gotOf(value)}`, typeof value === 'number' ? RangeError : TypeError);
}

function readWhole(call, name, value) {
  if (Number.isInteger(value) && value >= 1 && value <= MOST) return value;
  return fail(call, `${name} must be a whole number from 1 to ${MOST}, got ${gotOf(value)}`, RangeError);
}

function readSeed(call, seed) {
  if (typeof seed === 'bigint' ? BigInt.asIntN(64, seed) === seed : Number.isSafeInteger(seed)) return BigInt(seed);
  return fail(call, `seed must be an integer of 64 bits, a bigint beyond 2^53, got ${gotOf(seed)}`, RangeError);
}

/* All options as exports.c takes them: numbers in order, and the seed. `names`: which there are. */
function readOptions(call, options, names = [...Object.keys(OPTIONS), 'seed']) {
  if (options === null || typeof options !== 'object') fail(call, 'options must be an object, such as {fpr: 0.01}', TypeError);
  const given = { growth: 'on', hash: 'auto', layout: 'auto', stash: 'off', affinity: 'none', collation: 'binary' };
  for (const [name, value] of Object.entries(options)) if (value !== undefined && value !== null) given[name] = value;
  if ((given.max_kicks !== undefined || given.stash_size !== undefined) && !readOption(call, 'stash', given.stash)) {
    fail(call, "max_kicks and stash_size need stash: 'on': add it, or leave them out");
  }
  const seed = readSeed(call, given.seed ?? 0);
  delete given.seed;
  const unknown = Object.keys(given).find((name) => !Object.prototype.hasOwnProperty.call(OPTIONS, name));
  if (unknown !== undefined) fail(call, `unknown option ${textOf(unknown)}; valid options: ${names.join(', ')}`);
  if (given.fpr === undefined && given.fingerprint_bits === undefined) given.fpr = 0.01;
  if (given.max_kicks === undefined) given.max_kicks = 10;
  const numbers = Object.keys(OPTIONS).map((name) => (given[name] === undefined ? 0 : readOption(call, name, given[name])));
  return { numbers: [...numbers, Number(options.affinity === 'none')], seed };
}

function putOptions({ numbers, seed }) {
  numbers.forEach((number, i) => view.setFloat64(scratch + 8 * i, number, true));
  view.setBigInt64(scratch + SEED_AT, seed, true);
}

/* ---- filters ---- */

const closing = typeof FinalizationRegistry === 'function' ? new FinalizationRegistry((free) => free()) : null;
const token = {};

function release(handle) {
  c.release(handle);
  resize(handle, 0);
}

/* What a filter says of itself; what takes a look at all buckets only when it is to be counted. */
function numbersOf(handle, counted) {
  c.info(handle, scratch, scratch + SEED_AT, counted);
  return readInfo(INFO);
}

function readInfo(names) {
  const info = {}, seed = view.getBigInt64(scratch + SEED_AT, true);
  Object.entries(names).forEach(([name, words], i) => {
    const number = view.getFloat64(scratch + 8 * i, true);
    info[name] = words ? words[number] : number;
  });
  info.seed = Number.isSafeInteger(Number(seed)) ? Number(seed) : seed;
  return info;
}

/* What exports.c says of an entry, as integers of 64 bits, in this order. */
const SEEN = ['bits', 'known', 'matches', 'copies', 'payload', 'saturated'];
const IN_LIST = 8; // slots from here on are lines of the stash
const PAIR_AT = 512; // bytes of a block before the places of a key; numbers lie there

const hex = (bits, known) => bits.toString(16).padStart(Math.ceil(known / 4), '0');

function entryAt(handle, bucket, slot, look, i, valued) {
  if (!c.slot(handle, bucket, slot, look + PAIR_AT, i, look)) return null;
  const [bits, known, matches, copies, payload, saturated] = SEEN.map((_, word) => view.getBigUint64(look + 8 * word, true));
  return { fingerprint: hex(bits, Number(known)), bits: Number(known), matches: matches === 1n, copies: Number(copies),
    saturated: saturated === 1n, ...(valued && { value: Number(payload) }) };
}

/** A filter that was opened, built or created. */
class CuckooFilter {
  #handle = 0;
  #valueBits = 0;
  #ofNoRows = false; // cf_build has made it in SQL, where it did not see its options

  constructor(key, handle) {
    if (key !== token) fail('CuckooFilter', 'has no constructor; call open(bytes), build(keys) or create(capacity)', TypeError);
    this.#handle = handle;
    this.toJSON = toJSON;
    const { value_bits, capacity, occupied, epochs } = numbersOf(this.#handle, 0);
    this.#valueBits = value_bits;
    this.#ofNoRows = !capacity && !occupied && !epochs;
    if (closing) closing.register(this, () => release(handle), this);
  }

  #open(call) {
    if (!this.#handle) fail(call, 'this filter was closed; open it again', TypeError);
    return this.#handle;
  }

  #forKeys(call) {
    if (this.#ofNoRows) fail(call, 'the filter was built from zero rows, where cf_build does not see its options; create it again');
    return this.#open(call);
  }

  #value(call, value) {
    const bits = this.#valueBits;
    if (bits === 0 && value !== undefined) fail(call, 'the filter stores no values: leave the value out, or create it with value_bits');
    if (bits !== 0 && !(Number.isInteger(value) && value >= 0 && value < 2 ** bits)) {
      fail(call, `value must be an integer from 0 to ${2 ** bits - 1} (value_bits ${bits}), got ${gotOf(value)}`, RangeError);
    }
    return value || 0;
  }

  /* Fails for a status of cf_add or cf_merge. */
  #failFull(call, status) {
    if (status === NO_MEMORY) fail(call, 'out of memory; nothing has changed; close() filters that are no longer needed', RangeError);
    const { capacity, occupied, buckets, bucket_size, growth } = numbersOf(this.#handle, 0);
    const remedy = status === TOO_BIG ? 'growing would make it longer than 2 GB; split the keys over several filters'
      : this.#valueBits ? 'a key has at most as many values as two buckets have slots; if none has more, create it again, larger'
        : growth === 'on' ? 'too many keys belong to the same few buckets, as if chosen to; rebuild it from the keys, with another seed'
          : "create a larger one, or one with growth: 'on'";
    fail(call, `filter is full: planned for ${capacity} keys, ${occupied} of ${buckets * bucket_size} slots in use; nothing has changed; ${remedy}`);
  }

  /** Perhaps (true) or certainly not (false); null for null. */
  contains(key) {
    const handle = this.#open('contains(key)');
    if (key === null) return null;
    return put('contains(key)', key, handle, true) || c.contains(handle) !== 0;
  }

  /** The same for many keys: 1 or 0 for each, 0 for null. */
  containsMany(keys) {
    const call = 'containsMany(keys)';
    return answersOf(call, keys, this.#open(call), (list) => c.contains_many(list, this.#open(call)));
  }

  /** Copies of the key, with those of keys that look alike; exact below max_copies. */
  count(key) {
    const handle = this.#open('count(key)');
    if (key === null) return null;
    const vague = put('count(key)', key, handle, true);
    return c.count(handle) || Number(vague);
  }

  /** One value of the key; null: the key is certainly not there. */
  get(key) {
    const values = this.#values('get(key)', key);
    return values.length ? values[0] : null;
  }

  /** All values of the key, each once; none: the key is certainly not there. */
  values(key) {
    return this.#values('values(key)', key);
  }

  #values(call, key) {
    const handle = this.#open(call);
    if (!this.#valueBits) fail(call, 'the filter stores no values; create it with value_bits');
    if (key === null) return [];
    put(call, key, handle, true);
    return Array.from({ length: c.values(handle, scratch) }, (_, i) => view.getFloat64(scratch + 8 * i, true));
  }

  /** Adds one copy of the key. The filter grows when it has to and may. */
  add(key, value) {
    const call = 'add(key)', handle = this.#forKeys(call);
    if (key === null) return this;
    const number = this.#value(call, value);
    put(call, key, handle, false);
    const status = c.add(handle, number);
    if (status) this.#failFull(call, status);
    return this;
  }

  /** Deletes one copy of a key that was added. False: nothing has changed. */
  delete(key, value) {
    const call = 'delete(key)', handle = this.#open(call);
    if (key === null) return false;
    const number = this.#value(call, value);
    put(call, key, handle, true);
    return c.delete(handle, number) === 1;
  }

  /** Adds one copy of each key; all of them or, when that fails, none. The bytes are those of cf_add_keys in SQL. */
  addMany(keys) {
    return this.#changeMany('addMany(keys)', keys, true);
  }

  /** Deletes one copy of each key. */
  deleteMany(keys) {
    return this.#changeMany('deleteMany(keys)', keys, false);
  }

  #changeMany(call, keys, adds) {
    const handle = adds ? this.#forKeys(call) : this.#open(call);
    if (this.#valueBits) fail(call, 'the filter stores a value with each key; change them one by one, with their values');
    return withList(call, keys, (list) => c.begin_like(list, handle), (list) => {
      const copy = open(this.bytes()), ours = u8.slice(handle, handle + OBJECT);
      try {
        const status = c.change_many(list, copy.#handle, adds);
        if (status) copy.#failFull(call, status);
        u8.copyWithin(handle, copy.#handle, copy.#handle + OBJECT);
        u8.set(ours, copy.#handle);
        return this;
      } finally {
        copy.close();
      }
    }, !adds);
  }

  /** Takes in all that another filter of the same capacity, fpr, seed and options holds. */
  merge(other) {
    const call = 'merge(filter)', handle = this.#open(call);
    if (!(other instanceof CuckooFilter)) fail(call, 'filter must be a CuckooFilter of this module; open(bytes) makes one', TypeError);
    if (other === this) {
      const copy = open(this.bytes());
      try {
        return this.merge(copy);
      } finally {
        copy.close();
      }
    }
    if (other.#ofNoRows) return this;
    this.#forKeys(call);
    const status = c.merge(handle, other.#open(call));
    if (status === MISMATCH) fail(call, `the filters differ in ${why()}; build both with the same capacity, at least the larger of the two, and the same fpr, seed and options`);
    if (status === FULL && why()) fail(call, `${why()}; nothing has changed; query the filters one by one`);
    if (status) this.#failFull(call, status);
    return this;
  }

  /** Makes the filter as it was when it was new. */
  clear() {
    c.clear(this.#open('clear()'));
    return this;
  }

  /** 'ok', or the first thing that is wrong inside. */
  check() {
    return c.check(this.#open('check()')) ? why() : 'ok';
  }

  /** Why contains(key) says so: the buckets where the key may lie, and what lies there now. null for null. */
  explain(key) {
    const call = 'explain(key)', handle = this.#open(call), { bucket_size, stashed } = numbersOf(handle, 0);
    if (key === null) return null;
    const vague = put(call, key, handle, true), look = newObject(call);
    try {
      const n = c.places(handle, look + PAIR_AT, look);
      const buckets = Array.from({ length: n }, (_, i) => ({ bucket: view.getFloat64(look + 8 * i, true) }));
      buckets.forEach((one, i) => {
        c.fingerprint(handle, look + PAIR_AT, i, look);
        one.bits = Number(view.getBigUint64(look + 8, true));
        one.fingerprint = hex(view.getBigUint64(look, true), one.bits);
        const entry = (slot) => entryAt(handle, one.bucket, slot, look, i, this.#valueBits);
        one.slots = Array.from({ length: bucket_size }, (_, slot) => entry(slot));
        one.stashed = Array.from({ length: stashed }, (_, line) => entry(IN_LIST + line)).filter(Boolean);
      });
      const found = vague || buckets.some((one) => [...one.slots, ...one.stashed].some((entry) => entry && entry.matches));
      return { found, vague, buckets };
    } finally {
      resize(look, 0);
    }
  }

  /** How full so many regions of equal size are: in each up to `most` buckets are counted, from its first one on. */
  regions(count = 1024, most = 64) {
    const handle = this.#open('regions()'), { buckets, bucket_size } = numbersOf(handle, 0), all = [];
    const n = Math.min(readWhole('regions()', 'count', count), buckets);
    readWhole('regions()', 'most', most);
    for (let region = 0; region < n; region++) {
      const bucket = Math.floor(region * buckets / n), end = Math.floor((region + 1) * buckets / n);
      const counted = Math.min(end - bucket, most);
      let used = 0;
      for (let i = 0; i < counted * bucket_size; i++) used += c.slot(handle, bucket + Math.floor(i / bucket_size), i % bucket_size, 0, 0, 0);
      all.push({ bucket, buckets: end - bucket, counted, slots: counted * bucket_size, used });
    }
    return all;
  }

  /** What cf_info says. It looks at all buckets; info(false) looks at none, and leaves out what takes that. */
  info(counted = true) {
    this.#open('info()');
    const { epochs: _, epoch: __, ...info } = numbersOf(this.#handle, counted ? 1 : 0), slots = info.buckets * info.bucket_size;
    if (info.stash === 'off') {
      delete info.max_kicks;
      delete info.stash_size;
    }
    if (!counted) for (const name of ['fpr_now', 'saturated', 'exhausted']) delete info[name];
    return { ...info, load_factor: info.occupied / slots, items_per_slot: info.items / slots,
      bits_per_key: (8 * info.bytes) / (info.items || info.capacity || Infinity) };
  }

  /** A copy of the bytes: what SQL has as a blob. */
  bytes() {
    const handle = this.#open('bytes()'), from = c.seal(handle) >>> 0;
    return u8.slice(from, from + numbersOf(this.#handle, 0).bytes);
  }

  /** Gives the memory back at once; otherwise that happens some time after the last use. */
  close() {
    if (this.#handle) release(this.#handle);
    if (closing) closing.unregister(this);
    this.#handle = 0;
  }
}

/* 1 or 0 for each key; `ask(list)` is the address of what the filter at `handle` says. */
function answersOf(call, keys, handle, ask, exact = false) {
  const places = { nulls: [], vague: [], exact };
  return withList(call, keys, (list) => c.begin_like(list, handle), (list, n) => {
    const from = ask(list) >>> 0, answers = u8.slice(from, from + n);
    for (const i of places.nulls) answers[i] = 0;
    for (const i of places.vague) answers[i] = 1;
    return answers;
  }, true, places);
}

/** An exact filter that was opened or built, with the deltas that change it. */
class ExactFilter {
  #parts; // {handle, copy}: the filter, and the bytes that it is a view of
  #free;

  constructor(key, parts) {
    if (key !== token) fail('ExactFilter', 'has no constructor; call open(bytes) or buildExact(members, others)', TypeError);
    this.#parts = parts;
    this.toJSON = toJSON;
    this.#free = () => freeParts(parts);
    if (closing) closing.register(this, this.#free, this);
  }

  #open(call) {
    if (!this.#parts) fail(call, 'this filter was closed; open it again', TypeError);
    return this.#parts;
  }

  /** Is the key a member? Never wrong for a key of the universe; null for null. */
  contains(key) {
    const call = 'contains(key)', parts = this.#open(call);
    let member = false;
    if (key === null) return null;
    for (const { handle } of parts) {
      if (put(call, key, handle, true, true)) return true;
      member = member !== (c.contains_exact(handle) !== 0);
    }
    return member;
  }

  /** The same for many keys: 1 or 0 for each, 0 for null. */
  containsMany(keys) {
    const call = 'containsMany(keys)', [base, ...deltas] = this.#open(call);
    const ask = ({ handle }, list) => answersOf(call, list, handle, (all) => (this.#open(call), c.contains_many_exact(all, handle)), true);
    if (deltas.length === 0) return ask(base, keys);
    checkIterable(call, keys);
    const all = [...keys], answers = ask(base, all);
    for (const delta of deltas) ask(delta, all).forEach((changed, i) => { answers[i] ^= changed; });
    all.forEach((key, i) => { if (typeof key === 'number' && put(call, key, base.handle, true)) answers[i] = 1; });
    return answers;
  }

  /** 'ok', or the first thing that is wrong inside. */
  check() {
    return this.#open('check()').some(({ handle }) => c.check_exact(handle)) ? why() : 'ok';
  }

  /** What cf_info says of the first; with deltas also their number, and bytes and fpr_unknown of all. */
  info() {
    const infos = this.#open('info()').map(exactInfo), info = infos[0];
    for (const { bytes, fpr_unknown } of infos.slice(1)) {
      info.bytes += bytes;
      info.fpr_unknown += fpr_unknown - 2 * info.fpr_unknown * fpr_unknown;
      info.deltas = infos.length - 1;
    }
    return { kind: 'exact', ...info, bits_per_key: info.keys ? (8 * info.bytes) / info.keys : 0 };
  }

  /** A copy of the bytes. Not of a filter with deltas. */
  bytes() {
    const parts = this.#open('bytes()');
    if (parts.length > 1) fail('bytes()', 'a filter with deltas has no bytes of its own; keep those that were given to open, or rebuild it');
    return u8.slice(parts[0].copy, parts[0].copy + exactInfo(parts[0]).bytes);
  }

  /** Gives the memory back at once; otherwise that happens some time after the last use. */
  close() {
    if (this.#parts) this.#free();
    if (closing) closing.unregister(this);
    this.#parts = null;
  }
}

function freeParts(parts) {
  for (const { handle, copy } of parts) {
    resize(copy, 0);
    if (handle) resize(handle, 0);
  }
}

function exactInfo({ handle }) {
  c.info_exact(handle, scratch, scratch + SEED_AT);
  return readInfo(EXACT_INFO);
}

/* Adds one filter of which the bytes are given to `parts`; which fails when it cannot be used. */
function openPart(call, bytes, parts) {
  const given = bytesOf(call, bytes);
  if (!given) fail(call, 'bytes must be a Uint8Array or an ArrayBuffer, such as await (await fetch(url)).arrayBuffer()', TypeError);
  load();
  if (given.length > MOST) fail(call, `${given.length} bytes are more than the 2 GB there can be`, RangeError);
  const part = { copy: block(call, given.length || 1), handle: 0, exact: false };
  parts.push(part);
  u8.set(given, part.copy);
  part.exact = c.is_exact(part.copy, given.length) !== 0;
  part.handle = newObject(call, part.exact ? EXACT : OBJECT);
  const status = part.exact ? c.open_exact(part.handle, part.copy, given.length) : c.open(part.handle, part.copy, given.length);
  if (status === NEWER) fail(call, `filter cannot be used: ${why()}; install a later version of this package`);
  if (status) fail(call, `filter cannot be used: ${why()}; restore it from a backup, or rebuild it with cf_build`);
  if (part.exact) return;
  const { epochs } = numbersOf(part.handle, 0);
  if (epochs) fail(call, `the filter expires keys (epochs=${epochs}), which only SQL can; build one without epochs`);
}

/* Deltas change the answers of the filter before them, which must be about the same keys. One without keys changes none, and
   cf_build_exact does not see its options. */
function openChain(call, bytes, parts) {
  if (bytes.length === 0) fail(call, 'the list is empty; give [filter, delta, ...]', TypeError);
  bytes.forEach((one, i) => {
    openPart(`${call}: filter ${i}`, one, parts);
    if (!parts[i].exact) fail(`${call}: filter ${i}`, 'only exact filters have deltas; build it by cf_build_exact(key, member)');
    const { keys, affinity, collation } = exactInfo(parts[i]), base = parts.map(exactInfo).find((info) => info.keys > 0);
    if (keys > 0 && (affinity !== base.affinity || collation !== base.collation)) {
      fail(`${call}: filter ${i}`, `it has affinity=${affinity} collation=${collation}, and the first one affinity=${base.affinity} ` +
        `collation=${base.collation}; build all with the same`);
    }
  });
  for (const { handle } of parts) c.take_types(parts[0].handle, handle);
  for (const { handle } of parts) c.take_types(handle, parts[0].handle);
}

/** Opens the bytes of a filter, or those of an exact filter and of the deltas that change it, in a list. They are copied and
 * checked. */
function open(bytes) {
  const parts = [];
  try {
    if (Array.isArray(bytes)) openChain('open([filter, ...deltas])', bytes, parts);
    else openPart('open(bytes)', bytes, parts);
    return parts[0].exact ? new ExactFilter(token, parts) : new CuckooFilter(token, parts[0].handle);
  } catch (error) {
    freeParts(parts);
    throw error;
  }
}

/** A filter of these keys, each once, of the size that they need; of one key or more the bytes are those of cf_build in SQL. */
function build(keys, options = {}) {
  const call = 'build(keys)', given = readOptions(call, options);
  if (options.value_bits) fail(call, 'keys come without values here; use create(capacity, options) and add(key, value)');
  return fill(call, keys, given);
}

/** An empty filter for so many keys; the bytes are those of cf_new in SQL. */
function create(capacity, options = {}) {
  const call = 'create(capacity)', given = readOptions(call, options);
  if (given.numbers[0] && given.numbers[0] !== capacity) fail(call, 'capacity is given twice: leave it out of the options');
  given.numbers[0] = readOption(call, 'capacity', capacity);
  return fill(call, [], given);
}

function fill(call, keys, given) {
  load();
  return withList(call, keys, (list) => (putOptions(given), c.begin(list, scratch, scratch + SEED_AT)), (list) => {
    const handle = newObject(call);
    putOptions(given);
    const status = c.build(list, handle, scratch, scratch + SEED_AT);
    if (status === 0) return new CuckooFilter(token, handle);
    resize(handle, 0);
    if (why()) fail(call, why(), RangeError);
    if (status === TOO_BIG) fail(call, 'the filter would be longer than 2 GB; use a smaller capacity or a larger fpr, or split the keys', RangeError);
    if (status === FULL) fail(call, 'too many keys belong to the same few buckets, as if chosen to; try another seed, such as {seed: 12345}');
    return fail(call, 'out of memory; close() filters that are no longer needed', RangeError);
  });
}

/** An exact filter: it knows the members from the others without error; the bytes are those of cf_build_exact in SQL. */
function buildExact(members, others, options = {}) {
  const call = 'buildExact(members, others)', known = ['fpr', 'seed', 'hash', 'affinity', 'collation'];
  const given = readOptions(call, options, known);
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other) fail(call, `${other} has no meaning here; leave it out: ${known.join(', ')} have`);
  if (!options.fpr) given.numbers[1] = 0;
  load();
  const begin = (list) => (putOptions(given), c.begin(list, scratch, scratch + SEED_AT)), places = { vague: [], exact: true };
  return withList(call, members, begin, (ones) => withList(call, others, begin, (zeros) => {
    if (places.vague.length) {
      fail(call, "with affinity 'text' a fractional number, or one from 1e15 on, cannot be a key of an exact filter, because it may equal several texts; give a bigint, or leave the affinity out");
    }
    putOptions(given);
    const made = scratch + SEED_AT + 8, status = c.build_exact(zeros, ones, made, scratch, scratch + SEED_AT);
    if (status) fail(call, why() || 'out of memory; close() filters that are no longer needed', RangeError);
    const part = { copy: view.getFloat64(made, true), handle: 0, exact: true }, bytes = view.getFloat64(made + 8, true);
    try {
      part.handle = newObject(call, EXACT);
      c.open_exact(part.handle, part.copy, bytes);
      return new ExactFilter(token, [part]);
    } catch (error) {
      freeParts([part]);
      throw error;
    }
  }, false, places), false, places);
}

export { open, build, buildExact, create, ready, CuckooFilter, ExactFilter, TextBytes, version };
