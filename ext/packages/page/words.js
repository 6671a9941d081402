// SPDX-License-Identifier: MIT
/*
 * What the page says of a filter and of a key, as texts: it knows nothing of the document. make dist puts it into page.js.
 */
const ROWS = 16; // of the table beside the picture
const MANY = new Intl.NumberFormat('en'), FEW = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const n = (number) => MANY.format(number);
const percent = (part, whole) => `${FEW.format(100 * part / whole)}\u00a0%`;
const counted = (number, one, more = `${one}s`) => `${n(number)} ${number === 1 ? one : more}`;

/* ---- figures ---- */

const oneIn = (share) => (share > 0 ? `1 in ${n(Math.round(1 / share))}` : 'none');

function errorRate(info) {
  const now = 'fpr_now' in info && oneIn(info.fpr_now), planned = oneIn(info.fpr_at_capacity);
  return now === planned ? now : `${now ? `${now} now, ` : ''}${planned} with as many keys as planned`;
}

const isExact = (info) => info.kind === 'exact';

const ruleOf = ({ affinity, collation }) =>
  affinity === 'none' && collation === 'binary' ? [] : [['Keys compare', `by affinity ${affinity}, collation ${collation}`]];

const exactFigures = (info, check) => [
  ['Members', `${n(info.members)} of ${n(info.keys)} keys`],
  ['Size', `${counted(info.bytes, 'byte')}, ${FEW.format(info.bits_per_key)} bits a key`],
  ['Error rate', `none for these keys; ${oneIn(info.fpr_unknown)} for others`],
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
    ['Size', `${counted(info.bytes, 'byte')}, ${FEW.format(info.bits_per_key)} bits a key`],
    ['Slots in use', `${n(info.occupied)} of ${n(slots)}: ${percent(info.occupied, slots)}`],
    ['Error rate', errorRate(info)],
    ['Check', check],
    ['Buckets', `${n(info.buckets)} of ${counted(info.bucket_size, 'slot')}`],
    ['A slot', `${info.slot_bits} bits, for fingerprints of ${info.fingerprint_bits}${info.layout === 'semisort' ? '; semi-sorted' : ''}`],
    ['Growth', info.growth === 'off' ? 'off' : grown ? `on; grown ${counted(info.level, 'level')}, ${counted(info.split, 'bucket')} split since` : 'on; not grown yet'],
    ['Hash', `${info.hash}, seed ${info.seed}`],
    ...(info.counter_bits ? [['Copies', `counted in ${info.counter_bits} bits`]] : []),
    ...(info.value_bits ? [['Values', `of ${info.value_bits} bits`]] : []),
    ...(info.overflow === 'on' ? [['Spill list', `${n(info.spilled)} of ${counted(info.spill_bound, 'entry', 'entries')}`]] : []),
    ...ruleOf(info)
  ];
}

/* ---- the rows of the table: buckets, and how full they are ---- */

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

const spelled = (written, kind) => ({ text: `the text “${written}”`, number: `the number ${written.trim()}`, hex: `the blob ${written.trim() || 'of no bytes'}` })[kind];
const begun = (words) => words[0].toUpperCase() + words.slice(1); // as a sentence

function verdict({ found }, info) {
  if (isExact(info)) return found ? 'A member' : 'Not a member';
  return found ? 'Perhaps there' : 'Certainly not there';
}

function matchesOf({ buckets }) {
  return buckets.flatMap(({ bucket, slots, spilled }) => [
    ...slots.flatMap((entry, i) => (entry && entry.matches ? [{ entry, place: `slot ${i} of bucket ${n(bucket)}` }] : [])),
    ...spilled.flatMap((entry) => (entry.matches ? [{ entry, place: `the spill list, for bucket ${n(bucket)}` }] : []))]);
}

function reasonsFor(found, key, info) {
  if (isExact(info)) {
    return ['An exact filter never errs for the keys that it was built of. ' +
      (found.found ? `Of other keys, ${oneIn(info.fpr_unknown)} is taken for a member.` : 'This key is no member, whether the filter was built of it or not.')];
  }
  if (found.vague) {
    return ['The filter compares keys as texts, and JavaScript may write this number in another way than SQLite. So the answer is always “perhaps”. ' +
      'Ask for the text that the column holds.'];
  }
  const matches = matchesOf(found);
  if (!matches.length) {
    return [`It would lie in bucket ${found.buckets.map(({ bucket }) => n(bucket)).join(' or ')}, under the fingerprint shown below. ` +
      'No slot there has it. Whoever adds a key leaves its fingerprint in one of its buckets, so this key was never added, or was deleted.'];
  }
  const share = 'fpr_now' in info ? info.fpr_now : info.fpr_at_capacity, { entry } = matches[0];
  const copies = info.counter_bits || found.count > 1 ? ` Copies, with those of keys that look alike: ${entry.sticky ? 'at least ' : ''}${n(found.count)}.` : '';
  const value = 'value' in entry ? ` Its value: ${n(entry.value)}.` : '';
  return [`${begun(matches.map(({ place }) => place).join(' and '))} ` +
    `${matches.length === 1 ? 'holds' : 'hold'} a fingerprint that ${key} would leave.${value}${copies}`,
  `That key may have left it. So may another one that has the same fingerprint and bucket: of the keys that were never added, ${oneIn(share)} is answered so.`];
}
