// SPDX-License-Identifier: MIT
/*
 * The texts of the page about a filter and a key. They do not use the document. make dist puts this file into page.js.
 */
const ROWS = 16; // in the table beside the picture
const MANY = new Intl.NumberFormat('en'), FEW = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const n = (number) => MANY.format(number);
const percent = (part, whole) => `${FEW.format(100 * part / whole)}\u00a0%`;
const counted = (number, one, more = `${one}s`) => `${n(number)} ${number === 1 ? one : more}`;

/* ---- figures ---- */

const oneIn = (share) => (share > 0 ? `1 in ${n(Math.round(1 / share))}` : '0');

function falsePositives(info) {
  const now = 'fpr_now' in info && oneIn(info.fpr_now), planned = oneIn(info.fpr_at_capacity);
  return now === planned ? now : `${now ? `${now} now, ` : ''}${planned} at capacity`;
}

const isExact = (info) => info.kind === 'exact';

const ruleOf = ({ affinity, collation }) =>
  affinity === 'none' && collation === 'binary' ? [] : [['Key rule', `affinity ${affinity}, collation ${collation}`]];

const exactFigures = (info, check) => [
  ['Members', `${n(info.members)} of ${n(info.keys)} keys`],
  ['Size', `${counted(info.bytes, 'byte')}, ${FEW.format(info.bits_per_key)} bits per key`],
  ['False-positive rate', `0 for these keys; ${oneIn(info.fpr_unknown)} for others`],
  ['Check', check],
  ['Levels', n(info.levels)],
  ['Hash', `${info.hash}, seed ${info.seed}`],
  ...ruleOf(info)
];

function figuresOf(info, check) {
  if (isExact(info)) return exactFigures(info, check);
  const slots = info.buckets * info.bucket_size, grown = info.level > 0 || info.split > 0;
  return [
    ['Keys', `${n(info.items)}, planned for ${n(info.capacity)}`],
    ['Size', `${counted(info.bytes, 'byte')}, ${FEW.format(info.bits_per_key)} bits per key`],
    ['Load factor', `${percent(info.occupied, slots)}: ${n(info.occupied)} of ${n(slots)} slots`],
    ['False-positive rate', falsePositives(info)],
    ['Check', check],
    ['Buckets', `${n(info.buckets)} of ${counted(info.bucket_size, 'slot')}`],
    ['Slots', `of ${info.slot_bits} bits, for fingerprints of ${info.fingerprint_bits}${info.layout === 'semisort' ? '; semi-sorted' : ''}`],
    ['Growth', info.growth === 'off' ? 'off' : grown ? `on; grown ${counted(info.level, 'level')}, ${counted(info.split, 'bucket')} split since` : 'on; not grown yet'],
    ['Hash', `${info.hash}, seed ${info.seed}`],
    ...(info.counter_bits ? [['Copies', `counted in ${info.counter_bits} bits`]] : []),
    ...(info.value_bits ? [['Values', `of ${info.value_bits} bits`]] : []),
    ...(info.stash === 'on' ? [['Stash', `${n(info.stashed)} of ${counted(info.stash_size, 'entry', 'entries')}`]] : []),
    ...ruleOf(info)
  ];
}

/* ---- the rows of the table: buckets, and their load factors ---- */

function rowsOf(regions) {
  const rows = Math.min(ROWS, regions.length);
  return Array.from({ length: rows }, (_, i) => {
    const some = regions.slice(Math.floor(i * regions.length / rows), Math.floor((i + 1) * regions.length / rows));
    const end = some[some.length - 1], shares = some.map(({ used, slots }) => used / slots);
    const sum = (name) => some.reduce((all, region) => all + region[name], 0);
    return [`${n(some[0].bucket)} to ${n(end.bucket + end.buckets - 1)}`, percent(sum('used'), sum('slots')),
      percent(Math.min(...shares), 1), percent(Math.max(...shares), 1)];
  });
}

/* ---- a key ---- */

const spelled = (written, kind) => ({ text: `the text “${written}”`, number: `the number ${written.trim()}`, hex: written.trim() ? `the blob ${written.trim()}` : 'the empty blob' })[kind];
const begun = (words) => words[0].toUpperCase() + words.slice(1); // as a sentence

function verdict({ found }, info) {
  if (isExact(info)) return found ? 'A member' : 'Not a member';
  return found ? 'Probably in the set' : 'Definitely not in the set';
}

function matchesOf({ buckets }) {
  return buckets.flatMap(({ bucket, slots, stashed }) => [
    ...slots.flatMap((entry, i) => (entry && entry.matches ? [{ entry, place: `slot ${i} of bucket ${n(bucket)}` }] : [])),
    ...stashed.flatMap((entry) => (entry.matches ? [{ entry, place: `the stash, for bucket ${n(bucket)}` }] : []))]);
}

function reasonsFor(found, key, info) {
  if (isExact(info)) {
    return ['An exact filter has no false positives among the keys that it was built from. ' +
      (found.found ? `Among other keys its false-positive rate is ${oneIn(info.fpr_unknown)}.` : 'This key is not a member, whether the filter was built from it or not.')];
  }
  if (found.vague) {
    return ['The filter compares keys as texts, and JavaScript may write this number differently from SQLite. The answer is therefore always “probably in the set”. ' +
      'Look up the text that the column contains.'];
  }
  const matches = matchesOf(found);
  if (!matches.length) {
    return [`Adding this key stores the fingerprint shown below in bucket ${found.buckets.map(({ bucket }) => n(bucket)).join(' or ')}. ` +
      'No slot there contains it, so this key was never added, or was deleted.'];
  }
  const share = 'fpr_now' in info ? info.fpr_now : info.fpr_at_capacity, { entry } = matches[0];
  const copies = info.counter_bits || found.count > 1 ? ` Copies, false positives included: ${entry.saturated ? 'at least ' : ''}${n(found.count)}.` : '';
  const value = 'value' in entry ? ` Its value: ${n(entry.value)}.` : '';
  return [`${begun(matches.map(({ place }) => place).join(' and '))} ` +
    `${matches.length === 1 ? 'contains' : 'contain'} the fingerprint of ${key}.${value}${copies}`,
  `Either that key was added, or another key with the same fingerprint and bucket. The false-positive rate is ${oneIn(share)}.`];
}
