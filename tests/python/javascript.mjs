// SPDX-License-Identifier: MIT
/*
 * Does with sqlite-cuckoo/filter what lines of standard input say, one JSON array each: steps [name, method, ...arguments] for
 * the filter of that name, or ["", function, ...arguments, name] for one that makes a filter. Prints an array of what they
 * answer; an error is {error, kind}. The method "each" asks `contains` for each key of a list: 1 or 0 (null: 0), 2 for a text
 * that versions of SQLite read as different numbers. Keys and bytes: as `wire` in filter_process.py.
 */
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
const cuckoo = await import(pathToFileURL(process.argv[2]));
const filters = new Map();

function read(word) {
  if (word === null || typeof word !== 'object') return word;
  if (Array.isArray(word)) return word.map(read);
  if ('bytes' in word) return Uint8Array.from(Buffer.from(word.bytes, 'base64'));
  if ('big' in word) return BigInt(word.big);
  if ('number' in word) return Number(word.number);
  if ('filter' in word) return filters.get(word.filter);
  return Object.fromEntries(Object.entries(word.options).map(([name, value]) => [name, read(value)]));
}

function written(answer) {
  if (answer instanceof Uint8Array) return { bytes: Buffer.from(answer).toString('base64') };
  if (answer instanceof cuckoo.CuckooFilter || answer instanceof cuckoo.ExactFilter) return null;
  return answer;
}

function each(filter, keys) {
  return keys.map((key) => {
    try {
      return Number(filter.contains(read(key)));
    } catch (error) {
      if (/versions of SQLite differ/.test(error.message)) return 2;
      throw error;
    }
  });
}

function step([name, method, ...words]) {
  try {
    if (method === 'each') return each(filters.get(name), words[0]);
    if (name) return written(filters.get(name)[method](...words.map(read)));
    const made = words.pop(), filter = cuckoo[method](...words.map(read));
    filters.get(made)?.close();
    filters.set(made, filter);
    return null;
  } catch (error) {
    return { error: String(error.message), kind: error.constructor.name };
  }
}

const text = (key, value) => (typeof value === 'bigint' ? { big: String(value) } : value === Infinity ? { number: 'Infinity' } : value);
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(JSON.parse(line).map(step), text) + '\n');
}
