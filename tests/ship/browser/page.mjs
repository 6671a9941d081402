// SPDX-License-Identifier: MIT
// What a page does with a filter. In Node, tests/python/extension/test_filter_package.py calls visit.
import { open, build } from './filter.mjs';

/* `keep(bytes)` makes a file of the bytes and returns what is read from it. Returns what was found, and the bytes. */
export async function visit(keys, sql, keep) {
  const checks = {}, milliseconds = {};
  const timed = async (name, work) => {
    const before = performance.now(), result = await work();
    milliseconds[name] = Math.round(performance.now() - before);
    return result;
  };
  const filter = await timed('build', () => build(keys, { fpr: 0.001 })), bytes = filter.bytes();
  checks['built like cf_build'] = bytes.length === sql.length && bytes.every((byte, i) => byte === sql[i]);
  const again = await timed('keep and open', async () => open(await keep(bytes)));
  checks['reopened: every key is found'] = (await timed('contains', () => keys.filter((key) => again.contains(key)))).length === keys.length;
  checks['at once, too'] = (await timed('containsMany', () => again.containsMany(keys))).every((found) => found === 1);
  let wrong = 0;
  for (let i = 0; i < 100000; i++) wrong += again.contains(`not.there.${i}.example.com`);
  checks['others are found one time in a thousand'] = wrong > 30 && wrong < 200;
  checks['it is sound'] = again.check() === 'ok' && again.info().items === new Set(keys).size;
  again.add('one.more').delete(keys[0]);
  checks['it can be changed'] = again.contains('one.more') && open(sql).merge(again).contains('one.more');
  return { checks, milliseconds, bytes };
}

function read(word) {
  if (word === null || typeof word !== 'object') return word;
  return 'big' in word ? BigInt(word.big) : 'number' in word ? Number(word.number) : Uint8Array.from(atob(word.bytes), (char) => char.charCodeAt(0));
}

/* Are the answers those of SQL? Only of strings may a filter say that it does not know. */
export function agree(checks, { name, blobs, keys, answers }) {
  const filter = open(blobs.length > 1 ? blobs.map(read) : read(blobs[0]));
  let right = 0, refused = 0;
  keys.forEach((word, i) => {
    try {
      right += Number(filter.contains(read(word))) === answers[i];
    } catch (error) {
      refused += typeof word === 'string' && /versions of SQLite differ/.test(error.message);
    }
  });
  checks[`${name}: of ${keys.length} keys ${refused} refused, the others as in SQL`] = right + refused === keys.length && refused < keys.length / 3;
  filter.close();
}

/* A download, and the bytes behind its address. */
async function download(bytes) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  link.download = 'domains.filter';
  link.click();
  return new Response(new Blob([bytes])).arrayBuffer();
}

function inWorker(bytes, key) {
  return new Promise((resolve, reject) => {
    const worker = new Worker('worker.mjs', { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(`worker: ${event.message}`));
    worker.postMessage({ bytes, key });
  });
}

const send = (name, body) => fetch(name, { method: 'POST', body });

async function page() {
  const keys = (await (await fetch('domains.txt')).text()).split('\n');
  const sql = new Uint8Array(await (await fetch('sql.filter')).arrayBuffer());
  const { bytes, ...report } = await visit(keys, sql, download);
  report.checks['a worker answers'] = JSON.stringify(await inWorker(bytes, keys[7])) === '[true,false]';
  for (const one of await (await fetch('cases.json')).json()) agree(report.checks, one);
  await send('filter', bytes);
  await send('report', JSON.stringify(report));
}

if (typeof document !== 'undefined') page().catch((error) => send('report', JSON.stringify({ error: String(error.stack) })));
