// SPDX-License-Identifier: MIT
// The jobs of jobs.py that run in Node: `ship` asks the filter known.cuckoo that SQL has exported, `updates` builds an exact filter
// and the deltas of ten days. Only the installed package is used.
import fs from 'node:fs';
import { buildExact, open } from 'sqlite-cuckoo/filter';

const line = (what, bytes = '', question = '', wrong = '') =>
  console.log(`  ${what.padEnd(52)} ${String(bytes).padStart(12)} ${question.padStart(14)} ${String(wrong).padStart(20)}`);

function timed(n, work) {
  const start = performance.now(), result = work();
  return [result, `${(((performance.now() - start) * 1e3) / n).toFixed(2)} us`];
}

function ship() {
  const n = 200_000, asked = Array.from({ length: 2 * n }, (_, i) => `uSER${i}@example.COM`);
  const list = new Set(asked.slice(0, n).map((email) => email.toLowerCase()));
  const [right, today] = timed(2 * n, () => asked.map((email) => list.has(email.toLowerCase())));
  line('today: the list of all users, in a Set', JSON.stringify([...list]).length, today, 0);
  const bytes = fs.readFileSync('known.cuckoo'), filter = open(bytes);
  const [answers, question] = timed(2 * n, () => filter.containsMany(asked));
  const count = (is, was) => right.reduce((sum, one, i) => sum + (one === is && answers[i] === was), 0);
  line("cf_export('known'), with counters for deletes", bytes.length, question, `${count(true, 0)} + ${count(false, 1)} of ${n}`);
  line('  users denied + others taken for users');
}

function updates() {
  const member = new Map(Array.from({ length: 1_000_000 }, (_, i) => [(i * 2654435761) % 4294967296, i % 20 === 0]));
  const split = (keys, is) => [keys.filter((_, i) => is(i)), keys.filter((_, i) => !is(i))];
  const keys = () => [...member.keys()], members = new Set(keys().filter((key) => member.get(key)));
  const [, today] = timed(member.size, () => keys().reduce((sum, key) => sum + members.has(key), 0));
  line('today: the list of the members, 8 bytes each', members.size * 8, today, 0);
  const chain = [buildExact(...split(keys(), (i) => i % 20 === 0)).bytes()];
  const wrong = () => {
    const filter = open(chain), all = keys(), [answers, question] = timed(all.length, () => filter.containsMany(all));
    return [question, all.reduce((sum, key, i) => sum + (Boolean(answers[i]) !== member.get(key)), 0)];
  };
  line('an exact filter, by buildExact', chain[0].length, ...wrong());
  for (let day = 1; day <= 10; day++) {
    const before = keys(), yes = before.filter((key) => member.get(key)), no = before.filter((key) => !member.get(key));
    for (let i = 0; i < 75; i++) {
      member.set(yes[day * 500 + i], false);
      member.set(no[day * 5000 + i], true);
    }
    for (let i = 0; i < 2000; i++) member.set(-1 - i - day * 5_000_000_000, i % 20 === 0);
    const all = keys(), old = open(chain), answers = old.containsMany(all);
    chain.push(buildExact(...split(all, (i) => Boolean(answers[i]) !== member.get(all[i]))).bytes());
    old.close();
    if (day === 1) line('a day later: 150 changed, 2,000 new: a delta', chain[1].length, ...wrong());
  }
  line('ten days later: ten deltas', chain.slice(1).reduce((sum, { length }) => sum + length, 0), ...wrong());
}

({ ship, updates })[process.argv[2]]();
