/**
 * A key: strings are TEXT, numbers and bigints INTEGER or REAL, bytes BLOB. A number that equals an integer is that integer.
 * Keys are the same by the affinity and the collation of the filter, as in SQL.
 */
export type Key = string | number | bigint | ArrayBufferView | ArrayBuffer | TextBytes;

/** A key that is a TEXT of SQL in these bytes, whether they are UTF-8 or not: a line of a file, say. */
export declare class TextBytes {
  constructor(bytes: ArrayBufferView | ArrayBuffer);
  bytes: ArrayBufferView | ArrayBuffer;
}

export interface Options {
  /** The share of other keys that are answered "perhaps"; 0.01. */
  fpr?: number;
  /** At least for so many keys; filters of equal capacity, fpr, seed and options can be merged. */
  capacity?: number;
  /** Of the hash; 64 bits, 0 unless given. */
  seed?: number | bigint;
  hash?: 'auto' | 'xxh3' | 'keyed';
  growth?: 'on' | 'off' | boolean;
  layout?: 'auto' | 'plain' | 'semisort';
  bucket_size?: 1 | 2 | 4 | 8;
  fingerprint_bits?: number;
  counter_bits?: number;
  value_bits?: number;
  /** No add takes long; only with growth: 'off'. */
  stash?: 'on' | 'off' | boolean;
  max_kicks?: number;
  stash_size?: number;
  /** Keys are equal as in a column of this affinity; integer means numeric, blob means text. */
  affinity?: 'none' | 'text' | 'numeric' | 'real' | 'integer' | 'blob';
  collation?: 'binary' | 'nocase' | 'rtrim';
}

/** Of an exact filter. `fpr`: of keys from outside the universe, at most; unless given, what takes the fewest bytes. */
export type ExactOptions = Pick<Options, 'fpr' | 'seed' | 'hash' | 'affinity' | 'collation'>;

export type Affinity = 'none' | 'text' | 'numeric' | 'real';
export type Collation = 'binary' | 'nocase' | 'rtrim';
/** Of the keys that were added. Asking for a key that equals none of these types is a TypeError, unless affinity 'none' was given. */
export type KeyTypes = '' | 'number' | 'text' | 'blob' | 'number,text' | 'number,blob' | 'text,blob' | 'any';
export type Bytes = ArrayBufferView | ArrayBuffer;

/** As cf_info says it in SQL. */
export interface Info {
  items: number; occupied: number; capacity: number; buckets: number; bucket_size: number; fingerprint_bits: number;
  slot_bits: number; layout: 'plain' | 'semisort'; level: number; split: number; load_factor: number; items_per_slot: number;
  bytes: number; bits_per_key: number; fpr_now: number; fpr_at_capacity: number; turnovers: number; hash: 'xxh3' | 'keyed';
  seed: number | bigint; counter_bits: number; value_bits: number; affinity: Affinity; collation: Collation;
  key_types: KeyTypes; growth: 'on' | 'off'; stash: 'on' | 'off'; max_kicks?: number; stash_size?: number; stashed: number;
  saturated: number; exhausted: number; pair_bits: number; max_copies: number; base_buckets: number; format: number;
}

/** What lies in a slot. */
export interface Entry {
  /** In hexadecimal digits, of the `bits` that are known; in a grown filter older entries know fewer. */
  fingerprint: string; bits: number;
  /** Does it match the key that was asked for? */
  matches: boolean;
  /** Copies of a key that it stands for; at least so many when saturated. */
  copies: number; saturated: boolean;
  /** Only in filters with value_bits. */
  value?: number;
}

/** A bucket where a key may lie. */
export interface Place {
  bucket: number;
  /** What an entry of the key would have there. */
  fingerprint: string; bits: number;
  /** null: an empty slot. */
  slots: (Entry | null)[];
  /** Entries of the stash that belong to this bucket. */
  stashed: Entry[];
}

/** `vague`: whatever lies there, it is "perhaps", since SQLite may write this number as another text than JavaScript. */
export interface Explained { found: boolean; vague: boolean; buckets: Place[]; }

/** `buckets` buckets from `bucket` on, of which the first `counted` have `slots` slots, `used` of them in use. */
export interface Region { bucket: number; buckets: number; counted: number; slots: number; used: number; }

export declare class CuckooFilter {
  private constructor();
  /** true: perhaps; false: certainly not; null for null. */
  contains(key: Key): boolean;
  contains(key: Key | null): boolean | null;
  /** The same for many keys: 1 or 0 for each, 0 for null. */
  containsMany(keys: Iterable<Key | null>): Uint8Array;
  /** Copies of the key, with those of keys that look alike; null for null. */
  count(key: Key | null): number | null;
  /** One value of the key; null: the key is certainly not there. */
  get(key: Key | null): number | null;
  /** All values of the key, each once; none: the key is certainly not there. */
  values(key: Key | null): number[];
  /** Adds one copy of the key; null adds nothing. `value`: in filters with value_bits. */
  add(key: Key | null, value?: number): this;
  /** Deletes one copy of a key that was added. false: nothing has changed. */
  delete(key: Key | null, value?: number): boolean;
  /** Adds one copy of each key, with less work than `add`; all of them or, when that fails, none. */
  addMany(keys: Iterable<Key | null>): this;
  /** Deletes one copy of each key. */
  deleteMany(keys: Iterable<Key | null>): this;
  /** Takes in all that another filter holds. */
  merge(other: CuckooFilter): this;
  /** Makes the filter as it was when it was new. */
  clear(): this;
  /** 'ok', or the first thing that is wrong inside. */
  check(): string;
  info(): Info;
  /** Without looking at all buckets. */
  info(counted: false): Omit<Info, 'fpr_now' | 'saturated' | 'exhausted'>;
  /** Why contains(key) says so: the buckets where the key may lie, and what lies there; null for null. */
  explain(key: Key): Explained;
  explain(key: Key | null): Explained | null;
  /** How full so many regions of equal size are (1024; no more than there are buckets). In each up to `most` buckets (64) are counted. */
  regions(count?: number, most?: number): Region[];
  /** A copy of the bytes: the blob of SQL. */
  bytes(): Uint8Array;
  /** Gives the memory back at once. */
  close(): void;
}

/** As cf_info says it of an exact filter in SQL; with deltas `bytes` and `fpr_unknown` are those of all. */
export interface ExactInfo {
  kind: 'exact'; keys: number; members: number; levels: number; listed: number; bytes: number; bits_per_key: number;
  fpr_unknown: number; hash: 'xxh3' | 'keyed'; seed: number | bigint; affinity: Affinity; collation: Collation; key_types: KeyTypes;
  format: number; deltas?: number;
}

/** Never wrong for the keys that it was built of. Nothing can be added: a delta changes its answers. */
export declare class ExactFilter {
  private constructor();
  /** Is the key a member? Of a key from outside the universe: perhaps. null for null. */
  contains(key: Key): boolean;
  contains(key: Key | null): boolean | null;
  /** The same for many keys: 1 or 0 for each, 0 for null. */
  containsMany(keys: Iterable<Key | null>): Uint8Array;
  /** 'ok', or the first thing that is wrong inside. */
  check(): string;
  info(): ExactInfo;
  /** A copy of the bytes: the blob of SQL. Not of a filter with deltas. */
  bytes(): Uint8Array;
  /** Gives the memory back at once. */
  close(): void;
}

/** Opens a copy of the bytes of a filter. Those of an exact one give an ExactFilter: open<ExactFilter>(bytes). */
export declare function open<Filter extends CuckooFilter | ExactFilter = CuckooFilter>(bytes: Bytes): Filter;
/** Opens an exact filter with the deltas that change it, the oldest first. */
export declare function open(bytes: readonly [Bytes, ...Bytes[]] | readonly Bytes[]): ExactFilter;
/** A filter of these keys, each once, of the size that they need. null is no key. */
export declare function build(keys: Iterable<Key | null>, options?: Options): CuckooFilter;
/** An exact filter that knows the members from all others. null is no key. */
export declare function buildExact(members: Iterable<Key | null>, others: Iterable<Key | null>, options?: ExactOptions): ExactFilter;
/** An empty filter for so many keys. */
export declare function create(capacity: number, options?: Options): CuckooFilter;
/**
 * Compiles the library in the background: for browsers that refuse to do it at once, Chromium before 115. Or takes it compiled, a
 * WebAssembly.Module of sqlite-cuckoo/filter.wasm: for runtimes that compile no bytes.
 */
export declare function ready(module?: object): Promise<void>;
export declare const version: string;
