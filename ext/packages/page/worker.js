// SPDX-License-Identifier: MIT
/*
 * The work of the page, in a worker, so that the page never waits: it opens or builds one filter, and answers what it is asked.
 * A message {id, task, ...} is answered by {id, done} or {id, error}; in between come {id, step, of}. make dist puts filter.mjs
 * in. A page whose browser has no workers for files runs this in the page itself.
 */
(() => {
  'use strict';
  @FILTER@

  const CHUNK = 1 << 22; // bytes of a list that are split at a time
  const BEGINS = 1 << 16; // bytes that tell a list from a filter
  let filter;

  /* No filter is a text: its first two bytes are none in UTF-8. */
  function isText(bytes) {
    const begin = bytes.subarray(0, BEGINS);
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(begin, { stream: true });
    } catch {
      return false;
    }
    return begin.length > 0 && !begin.includes(0);
  }

  const begins = (bytes, ...magic) => magic.every((byte, i) => bytes[i] === byte);

  /* What belongs to the extension but is no filter of this page. */
  function refuseOthers(bytes) {
    if (begins(bytes, 0xcf, 0x6b, 0x6c)) {
      throw new Error('this is a list of keys, made by cf_keys, not a filter; in SQL, ' +
        'cf_add_keys(cf_new(capacity), list) makes a filter of it');
    }
  }

  /* ---- keys ---- */

  const KEYS = {
    text: (written) => written,
    number(written) {
      const word = written.trim();
      if (/^[+-]?\d+$/.test(word)) return BigInt(word.replace('+', ''));
      const number = Number(word);
      if (word === '' || !/^[-+.\deE]+$/.test(word) || Number.isNaN(number)) {
        throw new Error(`“${written}” is not a number; write it as 42, -7 or 1.5e3, or choose text`);
      }
      return number;
    },
    hex(written) {
      const digits = written.replace(/^\s*0?x/i, '').replace(/[\s':]/g, '');
      if (digits.length % 2 || /[^\da-f]/i.test(digits)) {
        throw new Error(`“${written}” is not a blob in hexadecimal; write two digits for each byte, such as 00ff7a`);
      }
      return Uint8Array.from(digits.match(/../g) || [], (byte) => parseInt(byte, 16));
    }
  };

  const NO_LIST = 'this is not a list: it must be text in UTF-8, with one key per line';

  function utf8(decoder, bytes, stream) {
    try {
      return decoder.decode(bytes, { stream });
    } catch {
      throw new Error(NO_LIST);
    }
  }

  /* Each line is a key, unless it is empty. A line ends as for the command: with a newline, or a carriage return and a newline; the
   * last one needs neither. */
  function* keysOf(bytes, kind, progress) {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let rest = '', line = 0;
    for (let at = 0; at <= bytes.length; at += CHUNK) {
      const last = at + CHUNK > bytes.length;
      const lines = (rest + utf8(decoder, bytes.subarray(at, at + CHUNK), !last)).split(/\r?\n/);
      rest = lines.pop();
      if (last) lines.push(rest);
      for (const written of lines) {
        line++;
        if (written === '') continue;
        try {
          yield KEYS[kind](written);
        } catch (error) {
          throw new Error(`line ${line}: ${error.message}`);
        }
      }
      progress('Adding the keys of', at, bytes.length);
    }
  }

  function* keysOfAll(parts, ...how) {
    for (const part of parts) yield* keysOf(part, ...how);
  }

  /* ---- what the page asks for ---- */

  const isExact = () => filter instanceof ExactFilter;
  const shown = () => (isExact() ? { info: filter.info() } : { info: filter.info(false), regions: filter.regions() });

  const TASKS = {
    open({ bytes }) {
      if (isText(bytes)) return { list: true };
      refuseOthers(bytes);
      filter = open(bytes);
      return shown();
    },
    build({ bytes, typed = 0, kind, fpr }, progress) {
      // The lines of a file come behind those that were typed, and may begin with a byte order mark of their own.
      const parts = [bytes.subarray(0, typed), bytes.subarray(typed)];
      if (parts.some((part) => part.length && !isText(part))) throw new Error(NO_LIST);
      filter = build(keysOfAll(parts, kind, progress), { fpr });
      if (filter.info(false).items === 0) throw new Error('the list has no keys; write one per line, or choose a file');
      return shown();
    },
    count: () => ({ info: filter.info(), check: filter.check() }),
    ask({ written, kind }) {
      const key = KEYS[kind](written);
      if (isExact()) return { found: filter.contains(key), buckets: [] };
      return { ...filter.explain(key), count: filter.count(key) };
    },
    save: () => filter.bytes()
  };

  /* The sentence of the library, without the names of calls. */
  function sentence(error) {
    const words = (error.message || String(error)).replace(/^sqlite-cuckoo\/filter: [^:]*: /, '').replace('this package', 'this page');
    return `${words[0].toUpperCase()}${words.slice(1)}.`;
  }

  function answer({ id, task, ...given }, reply) {
    let told = Date.now();
    const progress = (step, at, of) => {
      if (Date.now() - told < 100) return;
      told = Date.now();
      reply({ id, step, at, of });
    };
    try {
      reply({ id, done: TASKS[task](given, progress) });
    } catch (error) {
      reply({ id, error: sentence(error) });
    }
  }

  if (typeof WorkerGlobalScope === 'undefined') globalThis.answerHere = answer;
  else globalThis.onmessage = ({ data }) => answer(data, (said) => globalThis.postMessage(said));
})();
