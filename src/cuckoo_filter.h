/*
** cuckoo_filter.h - the filter library: cuckoo filters in caller memory.
**
** A cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher: "Cuckoo Filter: Practically Better Than
** Bloom", CoNEXT 2014) is a set of fingerprints. It answers "certainly not there" or "perhaps
** there", takes keys one by one, and can delete them again.
**
**                     hash (64 bits)
**      +---------------------------------+--------------+-----------+
**      |  high bits: base bucket         | remainder    | pair bits |
**      +---------------------------------+--------------+-----------+
**                                         \__ fingerprint, f bits __/
**
**      bucket 0   [tag][tag][tag][tag]        A key lies in its base bucket or in its alternate
**      bucket 1   [tag][   ][tag][   ]        bucket, which follows from the base bucket and the
**      ...                                    fingerprint alone: an entry can move between the two
**      bucket m-1 [tag][tag][   ][tag]        without its key (paper, section 3.1).
**
** The whole filter is one string of bytes: a 64-byte header and the bit-packed buckets (format.h
** has every byte). The library allocates nothing but through cf_memory, keeps no globals, does no I/O and draws no
** random numbers: the same calls give the same bytes on every machine.
**
**      cf_geometry shape;                          what to build: how many keys, which error rate
**      cf_plan(1000000, 0.01, &options, &shape, &why);
**      uint8_t *bytes = malloc(cf_geometry_bytes(&shape));
**      cf_filter filter;
**      cf_create(&filter, &shape, bytes);
**      cf_add(&filter, cf_hash("key", 3, shape.seed));
**      cf_seal(&filter);                           now `bytes` may be stored or sent
**
**      cf_open(&other, bytes, length, &why);       opening validates: hostile bytes are refused
**      cf_contains(&other, cf_hash("key", 3, other.geometry.seed));
**
** Copies. Adding a key again stores another copy, up to `cap` copies: 3 to 6 in most filters, more where fingerprints
** are short (cf_turnovers). Below cap the number of copies is exact; at cap the key is *sticky*: further adds are
** absorbed and deletes change nothing. So no number of repetitions can fill a filter, and deleting a
** key that was added never hides a key that is still there. Counters (options) make copies exact far beyond.
**
** Growth. A filter that may grow and whose memory may (cf_memory) never fills up: buckets are split one at a time,
** without the keys (growth.h). One add at most doubles the table; a small one may go on to 4,096 buckets.
**
** Layouts. Buckets of four slots can be kept sorted by four bits of each fingerprint: that saves one bit per slot, and
** costs a little when it is written (semisort.h).
**
** Bounded insertion. A filter with a spill list looks at a few buckets for a new key; then the key goes to an exact list,
** and lookups know by a bit in its buckets that they have to ask it (spill.h).
**
** Values. A filter may keep a value of up to 32 bits with every copy of a key: an approximate map (paper,
** section 6).
**
** Deleting a key that was never added may remove the fingerprint of another: no filter can know.
*/
#ifndef CUCKOO_FILTER_H
#define CUCKOO_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

typedef enum cf_status {
    CF_OK = 0,
    CF_FULL,         /* no room for this key, even by moving others: nothing has changed */
    CF_DAMAGED,      /* the bytes are not a filter, or not a sound one */
    CF_NEWER,        /* a filter of a later version, or with features this one does not have */
    CF_BAD_ARGUMENT, /* a parameter is out of its range */
    CF_TOO_BIG,      /* the filter would be larger than the format or the machine can address */
    CF_MISMATCH,     /* two filters that cannot be merged */
    CF_NO_MEMORY,    /* cf_resize gave none: nothing has changed */
    CF_INTERRUPTED   /* the watch said stop (cf_watch): what is unchanged says each function */
} cf_status;

/* Limits of the parameters. */
enum {
    CF_FINGERPRINT_MIN = 4,  /* bits */
    CF_FINGERPRINT_MAX = 32, /* bits */
    CF_BUCKET_MAX = 8,       /* slots in a bucket: 1 (for study), 2, 4 or 8 */
    CF_PAIR_BITS_MIN = 4,
    CF_COUNTER_MAX = 16, /* bits */
    CF_VALUE_MAX = 32,   /* bits */
    CF_BUDGET_MAX = 255, /* buckets */
    CF_SPILL_MAX = 4096, /* entries */
    CF_VALUES_MAX = 24   /* values that a key can have */
};
#define CF_CAPACITY_MAX ((uint64_t)1 << 40) /* keys */

/* ---------------------------------------------------------------------------------------------
** Choosing a shape
*/

/* How buckets are written down. */
typedef enum cf_layout {
    CF_LAYOUT_AUTO,    /* the planner chooses */
    CF_LAYOUT_PLAIN,   /* one slot after the other */
    CF_LAYOUT_SEMISORT /* one bit per slot less (semisort.h): b = 4, f >= 5 */
} cf_layout;

/*
** The key rule: which values are one key. It says how the caller makes hashes of values (ext/key.h). The library only
** stores it, and refuses to merge filters of different rules.
*/
typedef enum cf_affinity {
    CF_AFFINITY_NONE,    /* values are compared as they are: text is no number */
    CF_AFFINITY_TEXT,    /* as a column of TEXT, BLOB or no affinity compares, with whatever affinity
                            there is on the other side */
    CF_AFFINITY_NUMERIC, /* as an INTEGER or NUMERIC column: text that looks like a number is one */
    CF_AFFINITY_REAL     /* as a REAL column: so, and all numbers are floating point */
} cf_affinity;

typedef enum cf_collation {
    CF_COLLATION_BINARY,
    CF_COLLATION_NOCASE, /* the letters A to Z are a to z */
    CF_COLLATION_RTRIM   /* spaces at the end do not count */
} cf_collation;

/* What the user fixes; the planner chooses the rest. */
typedef struct cf_options {
    unsigned bucket_size;      /* slots in a bucket: 1, 2, 4, 8; 0 = choose among 2, 4, 8 */
    unsigned fingerprint_bits; /* CF_FINGERPRINT_MIN..MAX; 0 = the fewest that meet the error rate */
    unsigned counter_bits;     /* count copies beyond cap: 0 .. CF_COUNTER_MAX */
    unsigned value_bits; /* a value with every copy: 0 .. CF_VALUE_MAX; not together with counters */
    bool growth;         /* may grow when full (f >= 8, b >= 2) */
    int64_t seed;        /* of the hash; 0 is the fastest */
    cf_layout layout;
    bool overflow; /* bounded insertion (spill.h) */
    unsigned
        overflow_budget;  /* buckets that an insertion looks at before it spills: 0 .. CF_BUDGET_MAX */
    unsigned spill_bound; /* entries of the spill list: 1 .. CF_SPILL_MAX; 0 = the planner chooses */
    cf_affinity affinity;
    cf_collation collation;
} cf_options;

/* The shape of a filter: everything that is fixed when it is made. */
typedef struct cf_geometry {
    uint64_t buckets;         /* m0, the number of base buckets, at least 1 */
    uint64_t capacity;        /* distinct keys it was planned for */
    int64_t seed;             /* of the hash */
    uint8_t bucket_size;      /* b, slots in a bucket */
    uint8_t fingerprint_bits; /* f */
    uint8_t pair_bits;        /* s, the lowest bits of the fingerprint; they name the alternate;
                                 all f of them unless the filter may grow */
    uint8_t cap;              /* with so many copies a key is sticky: at most 2b, or b when m0 is odd */
    uint8_t counter_bits;     /* an entry counts up to 2^counter_bits copies */
    uint8_t value_bits;       /* of the value that each entry carries */
    bool growth;              /* may grow when full */
    bool semisorted;          /* the layout of its buckets */
    uint8_t budget; /* buckets that an insertion looks at before it spills; 0 without a spill list */
    uint16_t spill_bound; /* entries that the spill list takes; 0: no spill list and no overflow bits */
    uint8_t affinity;     /* a cf_affinity: the key rule */
    uint8_t collation;    /* a cf_collation */
} cf_geometry;

/*
** The smallest filter that takes `capacity` distinct keys and, holding them, answers "perhaps" for
** at most the share `fpr` of the keys it does not hold.
**
** capacity  0 .. CF_CAPACITY_MAX; 0 plans for one key.
** fpr       above 0 and below 1; or 0 when options->fingerprint_bits decides.
** The chance that a filter so planned is full before it holds `capacity` keys is at most 1e-6, at
** every capacity: small tables get more slack than large ones (load.h).
** Integer arithmetic only, so that every machine plans the same bytes.
**
** Returns CF_OK and fills *plan, or CF_BAD_ARGUMENT / CF_TOO_BIG with *why naming the parameter and
** the remedy, and *plan unchanged.
*/
cf_status cf_plan(uint64_t capacity, double fpr, const cf_options *options, cf_geometry *plan,
                  const char **why);

/* The next larger shape after `shape`, about 3 % more buckets: what to try when a build with the
** planned one was full. Deterministic. CF_OK, or CF_TOO_BIG with *shape unchanged. */
cf_status cf_plan_wider(cf_geometry *shape);

/* CF_OK when `shape` is one that cf_create takes; else CF_BAD_ARGUMENT or CF_TOO_BIG, and *why. */
cf_status cf_geometry_check(const cf_geometry *shape, const char **why);

/* The length in bytes of a new filter of this (checked) shape, header and all. */
uint64_t cf_geometry_bytes(const cf_geometry *shape);

/* Slots in the table of a new filter: buckets times bucket size. */
uint64_t cf_geometry_slots(const cf_geometry *shape);

/* The expected share of absent keys that are answered "perhaps" when `entries` slots of a new table are occupied
** (paper, section 5.1; a slot matches a random fingerprint with probability (2^f + 2) / 4^f because
** the all-zero fingerprint becomes 1). For display: no byte of a filter depends on it. What a filter holds in
** fact says cf_take_census. */
double cf_expected_fpr(const cf_geometry *shape, uint64_t entries);

/* How long a filter of this shape lives when it is kept at its capacity while its keys come and go: after so many complete
** turnovers (as many adds, and as many deletes, as it has keys) one slot in 200 is lost to distinct keys that became
** sticky together. Then adds begin to be refused, or the filter to grow. 0: within the first turnover.
** CF_TURNOVERS_MAX: practically without end. */
#define CF_TURNOVERS_MAX ((uint64_t)1000000000)
uint64_t cf_turnovers(const cf_geometry *shape);

/* ---------------------------------------------------------------------------------------------
** A filter in use
*/

/* Constants for comparing all the tags of a word at once (lanes.h). */
typedef struct cf_lanes {
    uint64_t ones;        /* bit 0 of every lane */
    uint64_t highs;       /* the top bit of every lane */
    uint64_t terminators; /* the lowest bit that can be a terminator, of every lane */
    unsigned width;       /* bits of a lane: the width of a slot */
    unsigned count;       /* lanes in a word */
    unsigned words;       /* words in a bucket */
} cf_lanes;

/* Ways to look for a key: short ones for the most frequent kinds of filters (filter.c). */
typedef enum cf_lookup { CF_LOOKUP_ANY, CF_LOOKUP_PLAIN, CF_LOOKUP_SEMISORTED } cf_lookup;

/* Constants for moving up to four lanes of a word apart, in two steps (semisort.h). */
typedef struct cf_spread {
    uint64_t stay_two, move_two, stay,
        move;            /* bits of the lower and the upper two lanes; of each second one */
    unsigned by_two, by; /* bits */
} cf_spread;

/* Memory that can become longer: what a filter needs to grow. */
typedef struct cf_memory {
    /* As realloc: `bytes` NULL makes new ones; NULL leaves the old ones as they are; size 0 gives them back. */
    uint8_t *(*resize)(uint8_t *bytes, uint64_t size);
    uint64_t most; /* bytes; no filter becomes longer */
} cf_memory;

/* For filters of which only a part is in memory. Offsets are counted from the start of the blob.
**
** `need` and `change` are told of bytes that are going to be read, or changed, before they are: from
** `from` to before `to`. Both may be called with ranges that were there before. A caller that cannot
** provide the bytes leaves zeros, and forgets what the operation under way has done.
**
** `skip` says where zeros end: the first offset at or behind `from` that may hold anything else, or
** any offset behind the blob when none is left. It must not pass over a byte that is not zero. Walks
** over the whole filter (cf_check, cf_take_census, cf_merge, cf_shrink) ask it for each bucket, and
** never need what it skips: so a filter that is nearly empty costs what it holds, not what its header
** claims. NULL: everything may hold something. */
typedef struct cf_pages {
    void (*need)(void *context, uint64_t from, uint64_t to);
    void (*change)(void *context, uint64_t from, uint64_t to); /* implies need */
    uint64_t (*skip)(void *context, uint64_t from);            /* may be NULL */
    void *context;
} cf_pages;

/* Asked from time to time in long work, every few microseconds: is it to stop? */
typedef struct cf_watch {
    bool (*stop)(void *context);
    void *context;
} cf_watch;

/*
** An open filter: a view of bytes that the caller owns and keeps in place. Read `geometry`, `items`,
** `occupied`, `level`, `split`, `buckets`, `length` and `bytes`; set `memory` to let it grow, and
** `watch` to end long work early; leave the rest to the library. A plain struct on the caller's stack:
** there is nothing to free. Copying it gives a second view of the same bytes.
**
** What looks at the watch: cf_add_many, cf_merge, cf_shrink, cf_settle, cf_take_census and cf_check. A
** single add or delete does not.
**
** With `memory` set, cf_add, cf_add_many and cf_merge may replace `bytes` by longer ones, whatever they return: take
** them, and `length`, from here afterwards. Without it a filter is full when it is full.
*/
typedef struct cf_filter {
    cf_geometry geometry;
    uint64_t items;    /* adds minus the deletes that took effect; stops counting at 2^48 - 1 */
    uint64_t occupied; /* slots in use; absorbed adds use none */
    uint64_t split;    /* split pointer: so many buckets of this level are split; 0 .. m0 * 2^level */
    unsigned level;    /* of growth: remainder bits that all bucket numbers stand for */
    uint64_t buckets;  /* in use: m0 * 2^level + split */
    uint64_t length;   /* of the blob, bytes */
    unsigned spilled;  /* entries in the spill list */

    const uint8_t *bytes;  /* the blob */
    cf_memory memory;      /* {NULL, 0}: it cannot grow */
    const cf_watch *watch; /* NULL: nobody is asked */
    const cf_pages *pages; /* NULL: all of it is in memory */
    const uint8_t *table;  /* its buckets */
    uint8_t *writable;     /* == table when the filter may be changed, else NULL */
    bool grown;            /* slots have terminators (bucket.h) */
    bool simple;           /* neither that, nor with a spill list */
    cf_lookup lookup;      /* how cf_contains reads buckets */
    unsigned new_length;   /* remainder bits that a new entry knows */
    unsigned payload_bits;
    uint64_t fingerprint_mask; /* f bits */
    uint64_t level_mask;       /* level bits */
    uint64_t slot_mask;        /* the bits of a slot */
    uint64_t pair_mask;
    uint64_t bucket_bits; /* bits of one bucket record */
    unsigned tag_bits;    /* of them, those of the tags */
    uint64_t odd_pairs;   /* 1 when m0 is even: see address.h */
    cf_lanes lanes;       /* of the tags */
    cf_lanes tops;        /* semi-sorted: of the bits that are not sorted */
    cf_spread spread_tops, spread_nibbles;
    unsigned lane_of; /* semi-sorted: see there; 0: not for this filter */
} cf_filter;

/* Makes an empty filter in the cf_geometry_bytes(shape) bytes at `bytes`, sealed, and opens it for
** writing. `shape` has passed cf_plan or cf_geometry_check. */
void cf_create(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes);

/* The same in bytes that are all zeros, as calloc gives them. It writes the header only, so that an
** empty filter of any size costs no time, and no memory until keys come. */
void cf_create_in_zeros(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes);

/*
** Opens `length` bytes for reading. Opening is validating, in constant time: whatever the bytes
** are, after CF_OK no call reads or writes outside them. Contents that lie about themselves (a wrong
** count, say) are found by cf_check.
** CF_DAMAGED or CF_NEWER: *why says what is wrong; *filter is unchanged.
*/
cf_status cf_open(cf_filter *filter, const uint8_t *bytes, size_t length, const char **why);

/* The same, for reading and writing: cf_add, cf_delete, cf_clear, cf_merge (into) and cf_seal need a filter opened so,
** or made by cf_create. */
cf_status cf_open_writable(cf_filter *filter, uint8_t *bytes, size_t length, const char **why);

/* Opens one filter after another for reading, as a query does for each row: while the next bytes have the
** header of the last ones, which is the rule, that costs a comparison. Start with {0}. */
typedef struct cf_reader {
    cf_filter filter;   /* the open filter */
    uint8_t header[64]; /* its header, as it was read */
} cf_reader;

/* cf_open for reader->filter; that one is unchanged on error. `bytes` may be NULL when length is 0. */
cf_status cf_reader_open(cf_reader *reader, const uint8_t *bytes, size_t length, const char **why);

/* From now on the filter tells of the bytes it touches; NULL: no more. `pages` must live as long. */
void cf_attach_pages(cf_filter *filter, const cf_pages *pages);

/* Writes the counts of an open filter into its header, with the checksum. Until then the bytes hold
** the counts of before: seal once, after the last change, before the bytes are stored or sent. */
void cf_seal(cf_filter *filter);

/* Perhaps (true) or certainly not (false). Two memory reads, whatever the size. Paper, algorithm 2. */
bool cf_contains(const cf_filter *filter, uint64_t hash);

/* The number of copies stored for this key and those that share its fingerprint and its pair: cap or more means
** "at least cap"; with counters of c bits, cap * 2^c or more means "at least that". */
uint64_t cf_count(const cf_filter *filter, uint64_t hash);

/* The value of a key in a filter with values: that of the longest match, of equally long ones the first. False:
** the key is certainly not there, and *value is unchanged. All the matches: cf_entry_at and cf_entry_matches. */
bool cf_get(const cf_filter *filter, uint64_t hash, uint64_t *value);

/* All values of a key, each once, in that order: how many. `values` has room for CF_VALUES_MAX. */
unsigned cf_get_all(const cf_filter *filter, uint64_t hash, uint64_t *values);

/*
** Adds one copy of a key. Paper, algorithm 1, except that the shortest eviction path is searched
** breadth first before anything is written (eviction.h).
** CF_OK: stored, counted, or absorbed because cap copies are there; the filter may have grown.
** CF_FULL: there is no room, and growing is not allowed or does not help; CF_TOO_BIG: it would be longer than
** memory.most; CF_NO_MEMORY. Then nothing has changed.
*/
cf_status cf_add(cf_filter *filter, uint64_t hash);

/* The same with a value below 2^value_bits, for filters with values; in others, value is 0. */
cf_status cf_add_value(cf_filter *filter, uint64_t hash, uint64_t value);

typedef enum cf_deleted {
    CF_ABSENT,  /* the key is certainly not there: nothing has changed */
    CF_REMOVED, /* one copy is gone */
    CF_STICKY   /* at cap, the number of copies is unknown: nothing has changed */
} cf_deleted;

/* Moves spilled entries to slots where an ordinary search finds some: after many adds, so that the
** list is empty when it is needed. cf_add_many and cf_merge end with it, and each delete does it for
** one entry. CF_INTERRUPTED: some entries have not been looked at; the filter is sound. */
cf_status cf_settle(cf_filter *filter);

/* Deletes one copy of a key. Paper, algorithm 3. */
cf_deleted cf_delete(cf_filter *filter, uint64_t hash);

/* The same for one copy with this value. */
cf_deleted cf_delete_value(cf_filter *filter, uint64_t hash, uint64_t value);

/* Makes the filter as it was when it was new: empty, not grown, sealed. */
void cf_clear(cf_filter *filter);

/* ---------------------------------------------------------------------------------------------
** Many keys at once
*/

/* Sorts n hashes in place. In this order a build walks through the table instead of jumping, and its
** bytes depend on the keys alone. `watch` may be NULL. CF_OK; CF_INTERRUPTED: they are all there, in
** some order. */
cf_status cf_sort(uint64_t *hashes, size_t n, const cf_watch *watch);

/* Drops repeated hashes of n sorted ones; returns how many are left. For filters that do not count
** copies. */
size_t cf_drop_repeated(uint64_t *hashes, size_t n);

/* Adds n hashes, one after the other. Not CF_OK: as cf_add, or CF_INTERRUPTED; those before *added
** (may be NULL) are in, the rest is not. */
cf_status cf_add_many(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added);

/*
** Adds every copy in `from` to `into`: afterwards `into` answers for the keys of both. Both must agree
** in hash, seed, key rule, m0, b, f, s, cap and payload, and have bytes of their own: else CF_MISMATCH, *why
** names the field, nothing has changed. When `from` has grown more, `into` grows as much first.
** CF_FULL, CF_TOO_BIG, CF_NO_MEMORY as cf_add, and CF_INTERRUPTED when the watch of `into` said so:
** `into` holds all it held and perhaps a part of `from`; merge into a copy when that matters.
*/
cf_status cf_merge(cf_filter *into, const cf_filter *from, const char **why);

/*
** Makes a filter that has grown, and lost keys since, smaller: adds what `from` holds to `into`, an empty filter of the same
** geometry that may grow, after growing it as far as that takes. Entries forget what its narrower slots have no room for:
** they err as often as new keys of a filter of that size do. Answers for the same keys, and its items are those of `from`.
** CF_FULL: it would not be an eighth smaller, or m0 is odd, as the planner never has it; `into` may hold a part. Else as cf_merge.
*/
cf_status cf_shrink(cf_filter *into, const cf_filter *from);

/* CF_OK when cf_merge would not answer CF_MISMATCH; else that, and *why names the field. */
cf_status cf_mergeable(const cf_filter *one, const cf_filter *other, const char **why);

/* ---------------------------------------------------------------------------------------------
** Looking inside
*/

/* A fingerprint, or all the bits of a hash, as seen from one of its two sides. */
typedef struct cf_side {
    uint64_t base;   /* base bucket, 0 .. m0-1 */
    uint64_t bits;   /* pair bits lowest, then the remainder bits known, then zeros */
    unsigned length; /* remainder bits known */
} cf_side;

/* Where a side lies, or would lie. */
typedef struct cf_place {
    uint64_t bucket; /* number of the bucket */
    uint64_t
        tag; /* pair bits, then the remainder bits behind the extension: what slots are compared with */
    unsigned extension; /* remainder bits that the number of the bucket stands for */
} cf_place;

/* The two candidate places of a key; sides is 1 when both buckets are the same one. */
typedef struct cf_pair {
    cf_side side[2]; /* base, alternate */
    cf_place place[2];
    unsigned sides;
} cf_pair;

/* The candidate places of a key. */
cf_pair cf_candidates(const cf_filter *filter, uint64_t hash);

/* One stored entry. */
typedef struct cf_entry {
    cf_side side;       /* seen from where it lies */
    uint64_t payload;   /* its value, or the copies beyond the first */
    uint64_t alternate; /* its other bucket, if it can move there */
    bool folded;        /* it is a class of sticky entries in one slot (join.h) */
    unsigned entries;   /* that its slot stands for: cap when it is folded, else 1 */
    uint64_t copies;    /* of a key that its slot stands for */
    bool movable;       /* it can lie in its other bucket, too */
} cf_entry;

/* What lies in slot 0 .. b-1 of a bucket 0 .. buckets-1. False: nothing. */
bool cf_entry_at(const cf_filter *filter, uint64_t bucket, unsigned slot, cf_entry *entry);

/* Entry 0 .. spilled-1 of the spill list, and the bucket it has no slot in. False: bytes that lie. */
bool cf_spilled_at(const cf_filter *filter, unsigned index, uint64_t *bucket, cf_entry *entry);

/* The overflow bit of a bucket: is it in the pair of a spilled entry? */
bool cf_overflows(const cf_filter *filter, uint64_t bucket);

/* Does an entry that lies in the bucket of a key's side match the key? */
bool cf_entry_matches(const cf_filter *filter, const cf_entry *entry, const cf_side *key);

/* The fingerprint that the key would get if it were added now: pair bits and so many remainder bits. */
cf_side cf_new_fingerprint(const cf_filter *filter, const cf_side *key);

/* What a full walk over the buckets finds. */
typedef struct cf_census {
    cf_status status;  /* CF_OK; CF_INTERRUPTED: the rest counts a part of the filter */
    uint64_t occupied; /* slots in use */
    uint64_t copies;   /* that they stand for: more with counters */
    uint64_t sticky;   /* fingerprints whose copies are not known any more: deletes do not change them */
    uint64_t voids;    /* entries that know no bit beyond their bucket: they double when it splits */
    unsigned shortest; /* remainder bits of the entry that knows least; UINT_MAX: there is none */
    double fpr;        /* the share of all hashes that some entry matches: the error rate as it is now */
} cf_census;

/* Counts, in time proportional to the part of the table that is in use. */
cf_census cf_take_census(const cf_filter *filter);

/* Checks all that opening does not: the counts against the buckets, the entries against the rules,
** unused bits zero. CF_OK; CF_DAMAGED and *why; CF_INTERRUPTED, and nothing is known. Time
** proportional to the part of the table that is in use. */
cf_status cf_check(const cf_filter *filter, const char **why);

#endif
