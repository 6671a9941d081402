/* SPDX-License-Identifier: MIT */
/*
** cuckoo_filter.h - cuckoo filters in memory.
**
**      cf_make(&seen, 1000000, 0.01, NULL, &why);                  a million keys, 1 % false positives
**      cf_add_key(&seen, "ada", 3);
**      if (cf_contains_key(&seen, "ada", 3))                       probably in the set
**          cf_delete_key(&seen, "ada", 3);
**      bytes = cf_finish(&seen, &length);                          to be stored, or read by SQL
**
**      cf_open(&other, bytes, length, &why);                       corrupt bytes are rejected
**      cf_contains_key(&other, "ada", 3);                          definitely not in the set
**      cf_free(&seen);
**
** That is cuckoo_simple.h: text keys, memory of malloc, growth. For keys and memory of your own:
**
**      cf_plan(1000000, 0.01, &options, &shape, &why);
**      uint8_t *bytes = malloc(cf_geometry_bytes(&shape));
**      cf_create(&filter, &shape, bytes);
**      cf_add(&filter, cf_hash(&shape, "ada", 3));
**      cf_contains(&filter, cf_hash(&shape, "ada", 3));
**      cf_seal(&filter);                                           now `bytes` may be stored or sent
**
** A cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher: "Cuckoo Filter: Practically Better Than
** Bloom", CoNEXT 2014) is a set of fingerprints. It answers "definitely not in the set" or "probably in
** the set", takes keys one by one, and can delete them again.
**
**                     hash (64 bits)
**      +---------------------------------+--------------+-----------+
**      |  high bits: base bucket         | remainder    | pair bits |
**      +---------------------------------+--------------+-----------+
**                                         \__ fingerprint, f bits __/
**
**      bucket 0   [tag][tag][tag][tag]        A key is stored in its base bucket or in its
**      bucket 1   [tag][   ][tag][   ]        alternate, which follows from the base bucket and
**      ...                                    the fingerprint alone: an entry can move between the
**      bucket m-1 [tag][tag][   ][tag]        two without its key (paper, section 3.1).
**
** creating   cf_plan cf_geometry_bytes cf_create cf_create_in_zeros cf_open cf_open_writable
**            cf_reader_open cf_without_label cf_seal cf_clear
** lookups    cf_hash cf_contains cf_contains_many cf_count
** changes    cf_add cf_delete
** in bulk    cf_build cf_add_many cf_merge cf_shrink cf_difference cf_sort cf_drop_repeated
** growth     cf_memory, cf_realloc
** values     cf_add_value cf_delete_value cf_get cf_get_all cf_widen cf_build_values
**            cf_sort_pairs cf_drop_repeated_pairs
** one by one cf_collect cf_build_collected cf_collected_count cf_collected_free
** expiry     cf_advance cf_age_to cf_add_epoch cf_sweep cf_renew cf_epoch_is_live
** the rest   a stash, errors, memory and threads, part of a filter in memory, figures of a shape;
**            struct cf_filter is at the end
** elsewhere  cuckoo_key.h: keys of SQL. cuckoo_inspect.h: looking inside. cuckoo_exact.h: no false
**            positives for known keys. shape/format.h: the bytes
*/
#ifndef CUCKOO_FILTER_H
#define CUCKOO_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
#define CF_INLINE inline
#else
#define CF_INLINE static inline
#endif

typedef struct cf_filter cf_filter; /* an open filter: a view of its bytes */
typedef struct cf_reader cf_reader; /* opens one filter after another, for reading */
typedef struct cf_watch cf_watch;   /* stops long work */

typedef enum cf_status {
    CF_OK = 0,
    CF_FULL,           /* there is no slot for this key, even by moving others */
    CF_DAMAGED,        /* the bytes are not a filter, or are corrupt */
    CF_NEWER,          /* a filter of a later version: do not rebuild it, it would lose its keys */
    CF_BAD_ARGUMENT,   /* a parameter is out of its range */
    CF_TOO_BIG,        /* larger than the format, the machine or cf_memory allows */
    CF_MISMATCH,       /* two filters that cannot be merged */
    CF_NO_MEMORY,      /* cf_memory gave none */
    CF_INTERRUPTED,    /* the watch said stop (cf_watch) */
    CF_READ_ONLY,      /* it was opened for reading only */
    CF_NEEDS_MEMORY,   /* full: it may grow, but filter.memory is not set */
    CF_ABSENT,         /* cf_delete: the key is definitely not in the set, nothing has changed */
    CF_SATURATED,      /* cf_delete: the number of copies is unknown, nothing has changed */
    CF_REMOVED = CF_OK /* cf_delete: one copy has been deleted */
} cf_status;

/* What a delete did: CF_REMOVED, CF_ABSENT or CF_SATURATED; or why it did nothing. */
typedef cf_status cf_deleted;

/* A constant text for a status, in lower case: "full", "corrupt". */
const char *cf_status_text(cf_status status);

/* ---- creating ---- */

/* The layout of buckets. Semi-sorted ones take one bit less per slot, and longer to write. */
typedef enum cf_layout { CF_LAYOUT_AUTO, CF_LAYOUT_PLAIN, CF_LAYOUT_SEMISORT } cf_layout;

/* The hash function of keys, which is stored in the filter. */
typedef enum cf_hash_choice {
    CF_HASH_AUTO, /* keyed if the seed is not 0, else XXH3 */
    CF_HASH_XXH3, /* the fastest, for keys that nobody chooses with the filter in mind */
    CF_HASH_KEYED /* SipHash-1-3: without the seed nobody can choose keys that share a bucket */
} cf_hash_choice;

/* The key rule: which values of SQL are the same key (cuckoo_key.h). */
typedef enum cf_affinity {
    CF_AFFINITY_NONE,    /* values are compared as they are: no text is a number */
    CF_AFFINITY_TEXT,    /* as a column of TEXT, BLOB or no affinity compares */
    CF_AFFINITY_NUMERIC, /* as an INTEGER or NUMERIC column: text that looks like a number is one */
    CF_AFFINITY_REAL     /* as a REAL column: the same, and all numbers are floating point */
} cf_affinity;

typedef enum cf_collation {
    CF_COLLATION_BINARY,
    CF_COLLATION_NOCASE, /* the letters A to Z are a to z */
    CF_COLLATION_RTRIM   /* spaces at the end do not count */
} cf_collation;

/* Options; the planner chooses the rest. {0}: all defaults, and the filter does not grow. */
typedef struct cf_options {
    unsigned bucket_size;      /* slots in a bucket: 1, 2, 4 or 8; 0: 4 */
    unsigned fingerprint_bits; /* 4 .. 32; 0: the fewest that meet the false-positive rate */
    unsigned counter_bits;     /* counts copies beyond max_copies: 0 .. 16 */
    unsigned value_bits;       /* a value with every copy: 0 .. 62, with a stash 32; not with counters */
    unsigned epochs;           /* epochs after which keys expire, 1 .. 15; 0: never. Not with counters,
                             values or a stash */
    bool growth;  /* may grow when full, if filter.memory is set as well. Needs fingerprints of
                             8 bits, and 2 slots in a bucket; not with a stash */
    int64_t seed; /* of the hash */
    cf_hash_choice hash;
    cf_layout layout;    /* CF_LAYOUT_SEMISORT needs 4 slots in a bucket, and fingerprints of 5 bits */
    bool stash;          /* bounds the time of each insertion (stash.h) */
    unsigned max_kicks;  /* buckets that an insertion examines before it stashes: 0 .. 255 */
    unsigned stash_size; /* entries of the stash: 1 .. 4,096; 0: the planner chooses */
    cf_affinity affinity;
    cf_collation collation;
    unsigned key_types; /* cf_key_types at the start (cuckoo_key.h) */
} cf_options;

/* The shape of a filter: everything that is fixed when it is made. */
typedef struct cf_geometry {
    uint64_t buckets;         /* m0, the number of base buckets: even, at least 2 */
    uint64_t capacity;        /* distinct keys that it was planned for */
    int64_t seed;             /* of the hash */
    uint8_t bucket_size;      /* b, slots in a bucket */
    uint8_t fingerprint_bits; /* f */
    uint8_t pair_bits;        /* s, the lowest of them, which name the alternate; f without growth */
    uint8_t max_copies;       /* number of copies at which a key is saturated: 1 .. 2b */
    uint8_t counter_bits;     /* an entry counts up to 2^counter_bits copies */
    uint8_t value_bits;       /* of the value that each entry carries */
    uint8_t epochs;           /* epochs until a key expires; 0: never */
    bool growth;              /* may grow when full */
    bool semisorted;          /* the layout of its buckets */
    uint8_t budget;      /* buckets that an insertion examines before it stashes; 0 without a stash */
    uint16_t stash_size; /* entries of the stash; 0: there is none, and no overflow bits */
    uint8_t affinity;    /* a cf_affinity */
    uint8_t collation;   /* a cf_collation */
    bool keyed;          /* keys are hashed by the keyed hash, not by XXH3 */
    uint8_t key_types;   /* cf_key_types of the keys that were added */
} cf_geometry;

#define CF_CAPACITY_MAX ((uint64_t)1 << 40) /* keys */

/* The length in bytes of a new filter of this shape, header included. */
uint64_t cf_geometry_bytes(const cf_geometry *shape);

/* Opens `length` bytes for reading. Reads the header alone, in constant time; whatever the bytes are,
** after CF_OK no call reads or writes outside them. CF_DAMAGED or CF_NEWER: *why says what is wrong,
** *filter is unchanged. Contents have no checksum, and a changed bit of a fingerprint nearly always
** causes a false negative: store a checksum with each filter that you send. */
cf_status cf_open(cf_filter *filter, const uint8_t *bytes, size_t length, const char **why);

/* The length of the filter in a file of `length` bytes, which may have a label behind it (format.h);
** `length` if there is no label. Pass it to cf_open. */
size_t cf_without_label(const uint8_t *bytes, size_t length);

/* Opens one blob after another in reader->filter, like cf_open: a header that is equal to the last one
** costs only a comparison. Zero *reader first. `bytes` may be NULL if length is 0. */
cf_status cf_reader_open(cf_reader *reader, const uint8_t *bytes, size_t length, const char **why);

#ifndef CUCKOO_READ_ONLY /* which omits from cuckoo.c all functions that change filters */

/* Plans the smallest filter that takes `capacity` distinct keys and then has at most the false-positive
** rate `fpr`. The result is the same on every machine.
**
** capacity: 0 .. CF_CAPACITY_MAX keys; 0 plans for one key. With epochs: distinct keys added within
** `epochs` epochs; there is room for the keys of one more. fpr: above 0 and below 1; or 0, if
** options->fingerprint_bits decides. The chance that the filter is full before it has `capacity` keys
** is some millionths (measured); with bucket_size 2 one in a thousand, with 1 one in a hundred.
**
** options may be NULL, which means {0}. CF_OK and *plan; otherwise CF_BAD_ARGUMENT or CF_TOO_BIG, *plan
** is unchanged, and *why names the remedy. */
cf_status cf_plan(uint64_t capacity, double fpr, const cf_options *options, cf_geometry *plan,
                  const char **why);

/* Creates an empty filter in cf_geometry_bytes(shape) bytes, sealed and open for writing. Sets all of
** *filter, `memory` included. cf_create_in_zeros: the bytes are already zero, as from calloc, and only
** the header is written. Errors: as cf_geometry_check; CF_NO_MEMORY if bytes is NULL. */
cf_status cf_create(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes);
cf_status cf_create_in_zeros(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes);

/* cf_open for reading and writing. */
cf_status cf_open_writable(cf_filter *filter, uint8_t *bytes, size_t length, const char **why);

/* Writes the counts into the header. Call it after the last change, before the bytes are stored or sent:
** the first change breaks the seal, and until this call cf_open returns CF_DAMAGED, and says so. */
cf_status cf_seal(cf_filter *filter);

/* Resets the filter to a new one: empty, not grown, in epoch 0, sealed. */
cf_status cf_clear(cf_filter *filter);

#endif /* CUCKOO_READ_ONLY */

/* ---- lookups ---- */

/* The hash of a key of n bytes in filters of this shape, which depends on `seed` and `keyed`. If SQL
** made the filter, or will read it, use cuckoo_key.h. */
uint64_t cf_hash(const cf_geometry *shape, const void *key, size_t n);

/* True if the key is probably in the set; false: it is definitely not. Two memory reads. Paper,
** algorithm 2. */
CF_INLINE bool cf_contains(const cf_filter *filter, uint64_t hash);

/* The same for n hashes, with their cache misses overlapped. Returns how many answers are true. */
size_t cf_contains_many(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers);

/* The copies of a key and of all keys with the same fingerprint and pair. max_copies means "at least
** max_copies"; with counters of c bits 2^c or more means "at least that". */
uint64_t cf_count(const cf_filter *filter, uint64_t hash);

/* ---- changes ----
**
** Adding a key again stores another copy, up to `max_copies`: 3 to 6 in most filters, more where
** fingerprints are short (cf_turnovers). Below max_copies the number of copies is exact. At max_copies,
** or with counters of c bits at 2^c, the key is *saturated*: further adds are absorbed, and deletes
** change nothing. So deleting a key that was added never hides a key that is still in the set. Deleting
** a key that was never added may delete the fingerprint of another. */

#ifndef CUCKOO_READ_ONLY

/* Adds one copy of a key, with value_bits one of value 0. Paper, algorithm 1, but the shortest eviction
** path is searched before anything is written (eviction.h). CF_OK: stored, counted, or absorbed because
** the key is saturated. CF_FULL: no free slot, and growth is off or does not help. CF_TOO_BIG: longer
** than memory.most. CF_NEEDS_MEMORY: `memory` is not set. CF_NO_MEMORY, CF_INTERRUPTED: while it grew.
** On error every answer is as it was, but it may have grown. */
cf_status cf_add(cf_filter *filter, uint64_t hash);

/* Deletes one copy of a key, with value_bits one of value 0. Paper, algorithm 3. */
cf_deleted cf_delete(cf_filter *filter, uint64_t hash);

#endif /* CUCKOO_READ_ONLY */

/* ---- in bulk ---- */

#ifndef CUCKOO_READ_ONLY

/* Builds a filter from n hashes, which it sorts: for the distinct ones, or for `capacity` if there are
** no more, so that filters of equal capacity can be merged. A repeated hash counts once, or with
** counters as a copy. Set filter->memory (with resize) and ->watch before. The bytes, a block of that
** memory, are not sealed yet. On error filter->bytes is NULL. CF_FULL: keys share buckets, try another
** seed. CF_BAD_ARGUMENT: as cf_plan, or filter->memory is not set. CF_TOO_BIG: as cf_plan, or
** memory.most; then *why is cf_status_text. Otherwise as cf_add. options may be NULL: {0}. */
cf_status cf_build(cf_filter *filter, uint64_t *hashes, size_t n, uint64_t capacity, double fpr,
                   const cf_options *options, const char **why);

/* Adds n hashes in an order of its own, in which it leaves them: the bytes depend on the filter and on
** the set. An empty filter planned for this many is filled several times as fast as by cf_add
** (bulk_add.c). Errors: as cf_add; then the first *added hashes (`added` may be NULL) are in the
** filter, the others are not. */
cf_status cf_add_many(cf_filter *filter, uint64_t *hashes, size_t n, size_t *added);

/* Adds every copy in `from`, which has bytes of its own. Both must agree in hash, seed, key rule, m0, b,
** f, s, max_copies, payload and epochs; CF_MISMATCH: *why names the first field in which they differ.
** With epochs `into` moves to the later of the two epochs, entries keep their own, and a key in both the
** later one. If `from` has grown more, `into` first grows as much. CF_FULL: no free slots; or a key
** would have more entries than can be found, two buckets full and, with a stash, eight more; or corrupt
** bytes would take far more work than keys do. On error nothing has changed if memory.resize is set;
** without it `into` may have a part of `from`. */
cf_status cf_merge(cf_filter *into, const cf_filter *from, const char **why);

/* Names the next field that keeps two filters from being merged; NULL: no more. *at starts at 0. */
const char *cf_difference(const cf_filter *one, const cf_filter *other, unsigned *at);

/* Copies all of `from` into an empty filter of the same shape that may grow; it is smaller if `from` has
** lost keys. CF_FULL: by less than an eighth. CF_MISMATCH: another shape. CF_BAD_ARGUMENT: `into` is not
** empty. On other errors `into` may have a part. */
cf_status cf_shrink(cf_filter *into, const cf_filter *from);

/* Sorts n hashes in place; drops the repeated ones of n sorted hashes, and returns how many are left.
** `watch` may be NULL; CF_INTERRUPTED: they are all there, in some order. */
cf_status cf_sort(uint64_t *hashes, size_t n, const cf_watch *watch);
size_t cf_drop_repeated(uint64_t *hashes, size_t n);

#endif /* CUCKOO_READ_ONLY */

/* ---- growth ----
**
** A filter takes more keys than it was planned for if options.growth and filter.memory are set. Buckets
** are split one at a time, without the keys (growth.h). The first split rewrites the whole table with
** wider slots: some 15 ms for a million keys. Later adds split a hundred buckets at most; with values,
** more. Keys that were chosen to share buckets are rejected, and leave half of the slots occupied; with
** values, an eighth. After k doublings the false-positive rate is up to 1 + k / 16 times the rate when
** the filter was first full: within three times the requested rate up to 2^13 times the planned number
** of keys. A filter with epochs stops growing, and returns CF_FULL, while most of its entries have no
** remainder bit left to split on. An add that fails may have split some buckets: seal the filter, which
** is longer then; of several values of a key cf_get may give another one.
**
** Set `memory` after cf_create and cf_open, which clear it, and before cf_build. Calls that change the
** filter may replace `bytes` by a longer block, whatever they return: take filter.bytes and
** filter.length afterwards. */

typedef struct cf_memory {
    /* Like realloc: bytes == NULL allocates, size == 0 frees; blocks are aligned for a uint64_t. NULL:
    ** no memory, and the old block is as it was, or freed. */
    uint8_t *(*resize)(void *context, uint8_t *bytes, uint64_t size);
    uint64_t most; /* bytes; no filter becomes longer. 0: no limit */
    void *context;
} cf_memory;

/* ---- values ----
**
** A value of up to 62 bits with every copy of a key: an approximate map (paper, section 6). */

enum { CF_VALUES_MAX = 24 /* values that a key can have */ };

/* A key with a value: below 2^value_bits. */
typedef struct cf_valued {
    uint64_t hash, value;
} cf_valued;

/* The value of the longest match of a key, the first of equally long ones. False: the key is
** definitely not in the set, or the filter has no values, and *value is unchanged. */
bool cf_get(const cf_filter *filter, uint64_t hash, uint64_t *value);

/* All its values, each once, in that order, in room for CF_VALUES_MAX. Returns how many. */
unsigned cf_get_all(const cf_filter *filter, uint64_t hash, uint64_t *values);

#ifndef CUCKOO_READ_ONLY

/* cf_add with a value, and cf_delete of a copy with this value; 0 in a filter without values.
** CF_BAD_ARGUMENT: it has more than value_bits bits. */
cf_status cf_add_value(cf_filter *filter, uint64_t hash, uint64_t value);
cf_deleted cf_delete_value(cf_filter *filter, uint64_t hash, uint64_t value);

/* Copies all of `from` into an empty filter of the same shape that has more value bits, with
** memory.resize. CF_MISMATCH: another shape, or fewer. CF_NO_MEMORY; CF_TOO_BIG. */
cf_status cf_widen(cf_filter *into, const cf_filter *from);

/* cf_build from n pairs, for the distinct ones. If many keys have several values, it is up to 2.3 times
** as large. CF_BAD_ARGUMENT also: a value has more than options->value_bits bits. CF_FULL also: a key
** has more values than two buckets have slots and, with a stash, eight more. */
cf_status cf_build_values(cf_filter *filter, cf_valued *pairs, size_t n, uint64_t capacity, double fpr,
                          const cf_options *options, const char **why);

/* cf_sort and cf_drop_repeated of pairs, by hash and value. */
cf_status cf_sort_pairs(cf_valued *pairs, size_t n, const cf_watch *watch);
size_t cf_drop_repeated_pairs(cf_valued *pairs, size_t n);

#endif /* CUCKOO_READ_ONLY */

/* ---- a build of keys that come one by one ----
**
**      cf_collected list = {.memory = {cf_realloc, 0, NULL}};
**      while (... && status == CF_OK)
**          status = cf_collect(&list, hash, 0);
**      if (status == CF_OK)
**          status = cf_build_collected(&filter, &list, 0, 0.01, NULL, &why);
**      cf_collected_free(&list);
**
** The list takes 8 to 16 bytes per key, or 16 to 32 with values. With a temporary file it takes 8 MB
** until the build, which then needs, besides the filter, a 64th of the bytes of all hashes; the file has
** 8 or 16 bytes per key. */

typedef struct cf_temporary {
    /* Writes or reads n bytes at an offset. Called with n == 0 first: false then means that there can be
    ** no file, and all keys stay in memory. Otherwise false is an error. */
    bool (*move)(void *context, uint64_t at, void *bytes, size_t n, bool writes);
    void *context;
} cf_temporary;

/* The first five are the caller's, and stay as they are from the first key on. */
typedef struct cf_collected {
    cf_memory memory;         /* with resize; `most` limits the list */
    const cf_watch *watch;    /* or NULL */
    const cf_temporary *file; /* or NULL */
    bool valued;              /* keys have values */
    bool counts;              /* a repeated key is a copy: for counter_bits */
    uint64_t *array;          /* `used` of `room` words of 8 bytes */
    size_t used, room, sorted;
    uint32_t *ends; /* of runs in the file */
    size_t runs;
    uint64_t values;                /* all of them, by | */
    size_t n, distinct, most_alike; /* of cf_build_collected */
    unsigned parts;
} cf_collected;

#ifndef CUCKOO_READ_ONLY

/* Adds a key. CF_NO_MEMORY, also if the file has failed. CF_TOO_BIG: longer than memory.most.
** CF_INTERRUPTED. After an error the list may only be freed. */
cf_status cf_collect_more(cf_collected *list);
CF_INLINE cf_status cf_collect(cf_collected *list, uint64_t hash, uint64_t value)
{
    if (list->used == list->room) {
        cf_status status = cf_collect_more(list);
        if (status != CF_OK)
            return status;
    }
    list->array[list->used++] = hash;
    list->values |= value;
    if (list->valued)
        list->array[list->used++] = value;
    return CF_OK;
}

/* cf_build or cf_build_values from the list: the same bytes, and the same errors. CF_NO_MEMORY, also if
** the file has failed. Then the list may only be freed. */
cf_status cf_build_collected(cf_filter *filter, cf_collected *list, uint64_t capacity, double fpr,
                             const cf_options *options, const char **why);

/* Counts the different keys, or pairs, of the list; then it may only be freed. Errors: as cf_collect. */
cf_status cf_collected_count(cf_collected *list, size_t *different);

void cf_collected_free(cf_collected *list);

#endif /* CUCKOO_READ_ONLY */

/* ---- expiry ----
**
** An entry of a filter with epochs has the number, epoch % 16, of the epoch in which its key was last
** added. It is *live*, and found, if filter->live has the bit of that number; otherwise it has expired.
** Opening and a new epoch set the bits of the last `epochs` epochs. A program that knows the time of
** each epoch may set others. There are no copies, and cf_delete returns CF_SATURATED. */

/* True if keys added in `epoch` are still found. Any number is allowed. */
bool cf_epoch_is_live(const cf_filter *filter, uint64_t epoch);

#ifndef CUCKOO_READ_ONLY

/* Begins the next epoch, or a later one, and deletes expired entries, in a walk over all entries. All of
** these return CF_BAD_ARGUMENT for a filter without epochs, and for an epoch before the current one. */
cf_status cf_advance(cf_filter *filter);
cf_status cf_age_to(cf_filter *filter, uint64_t epoch);

/* cf_add in an earlier epoch, one of the last 16. */
cf_status cf_add_epoch(cf_filter *filter, uint64_t hash, uint64_t epoch);

/* Deletes expired entries. */
cf_status cf_sweep(cf_filter *filter);

/* Moves all live entries to the current epoch. */
cf_status cf_renew(cf_filter *filter);

#endif /* CUCKOO_READ_ONLY */

/* ---- a stash ----
**
** A filter with a stash examines `max_kicks` buckets for a new key; then the key goes to an exact list,
** which lookups search if a bit in both of their buckets is set (stash.h). */

#ifndef CUCKOO_READ_ONLY

/* Moves stashed entries to slots, if an ordinary search finds some; cf_add_many and cf_merge end with
** it, and each delete does it for one. CF_OK; CF_INTERRUPTED: some were not tried. */
cf_status cf_settle(cf_filter *filter);

#endif /* CUCKOO_READ_ONLY */

/* ---- errors ----
**
** A call that does not return CF_OK has changed nothing, unless its description says otherwise. `*why`
** is a constant text that names what is wrong, set whenever the call fails; `why` may be NULL. Calls
** that would change a filter that was opened for reading return CF_READ_ONLY. Pointers must be valid:
** NULL is checked only where memory may come from malloc. Other preconditions, such as a bucket in
** range, are checked by assert alone, if cuckoo.c is compiled with CUCKOO_DEBUG. */

/* ---- memory and threads ----
**
** The library allocates only through cf_memory, does no I/O, and draws no random numbers. Equal calls
** give equal bytes on every machine. Calls that sort hashes may allocate 8 bytes for each and 16 KB,
** whatever memory.most is, or sort in place. cf_merge copies `into` first.
**
** There are no globals, no locks and no memory barriers. Any number of threads may make calls that take
** a `const cf_filter *` at the same time, as long as nobody changes the filter. A thread that changes a
** filter must be the only one that uses its bytes and its view; other views of the same bytes are out of
** date then: open them again. Callbacks (cf_memory, cf_watch, cf_pages) run in the thread that called.
** With cf_pages a lookup counts as a change. A cf_reader belongs to one thread.
**
** Code for a Cortex-M4, by clang 14 -Os of the one file: 350 KB; with CUCKOO_SMALL 87 KB; with
** CUCKOO_READ_ONLY as well 43 KB. There is no data and no bss. A READ_ONLY build calls memcpy and its
** like, strtod for texts that are numbers, and of libm (-lm) expm1, log1p and ldexp for shares. A
** cf_filter takes 0.5 KB, a cf_exact 25 KB. No call takes 13 KB of stack, as measured on x86-64. */

/* Called during long work, every few microseconds, to decide whether it should stop: by cf_add while the
** filter grows, and by cf_add_many, cf_merge, cf_shrink, cf_settle, cf_take_census and cf_check, which
** then return CF_INTERRUPTED. */
struct cf_watch {
    bool (*stop)(void *context);
    void *context;
};

/* For filters of which only a part is in memory. Offsets are bytes from the start of the blob.
**
** `need` and `change` get the bytes that will be read or changed, possibly again: from `from` to before
** `to`, at most the length of the filter. Its `bytes` and `length` are up to date then. A caller that
** cannot provide the bytes leaves zeros, and discards the effects of the current operation. Bytes that a
** longer filter has behind the old end are set to 0 in memory, without a call.
**
** `skip`: the first offset at or behind `from` that may have anything but zeros, or any offset behind
** the blob. Walks over the whole filter (cf_check, cf_take_census, cf_merge, cf_shrink) do not need what
** it skips. NULL: nothing is skipped. */
typedef struct cf_pages {
    void (*need)(void *context, uint64_t from, uint64_t to);
    void (*change)(void *context, uint64_t from, uint64_t to); /* implies need */
    uint64_t (*skip)(void *context, uint64_t from);            /* may be NULL */
    void *context;
} cf_pages;

/* From now on the filter reports the bytes that it reads and changes; NULL: no longer. `pages` must stay
** valid. CF_BAD_ARGUMENT: `need` is NULL; or `change`, if the filter is open for writing. */
cf_status cf_attach_pages(cf_filter *filter, const cf_pages *pages);

/* Moves a view to a copy of its bytes. `writable` is `bytes`, or NULL for reading only. Memory, watch
** and pages stay as they are. */
cf_status cf_rebase(cf_filter *filter, const uint8_t *bytes, uint8_t *writable);

/* ---- figures of a shape ---- */

/* Limits of the fields. */
enum {
    CF_FINGERPRINT_MIN = 4,  /* bits */
    CF_FINGERPRINT_MAX = 32, /* bits */
    CF_BUCKET_MAX = 8,       /* slots */
    CF_PAIR_BITS_MIN = 4,
    CF_COUNTER_MAX = 16, /* bits */
    CF_VALUE_MAX = 32,   /* bits; without a stash: */
    CF_WIDE_VALUE_MAX = 62,
    CF_EPOCHS_MAX = 15,
    CF_BUDGET_MAX = 255, /* buckets */
    CF_STASH_MAX = 4096, /* entries */
    CF_HEADER_BYTES = 64,
    CF_FORMAT_VERSION = 2, /* the format that is read and written */
    CF_TRIES = 8           /* shapes that a build tries: cf_plan_wider */
};

/* CF_OK if cf_create accepts `shape`; otherwise CF_BAD_ARGUMENT or CF_TOO_BIG, and *why. */
cf_status cf_geometry_check(const cf_geometry *shape, const char **why);

/* Slots in the table of a new filter: buckets times bucket size. */
uint64_t cf_geometry_slots(const cf_geometry *shape);

/* Bits of a slot, before any growth or after. */
unsigned cf_slot_bits(const cf_geometry *shape, bool grown);

/* True if keys have the same hashes in filters of both shapes. */
bool cf_same_rule(const cf_geometry *one, const cf_geometry *other);

/* The number of entries that a filter of this capacity is planned for: with epochs plus one epoch. */
uint64_t cf_planned_entries(uint64_t capacity, unsigned epochs);

/* The expected false-positive rate of a new table with `entries` occupied slots (paper, section 5.1). A
** slot matches with probability (2^f + 2) / 4^f, because the all-zero fingerprint becomes 1. For
** display: cf_take_census computes the rate of a filter in use. */
double cf_expected_fpr(const cf_geometry *shape, uint64_t entries);

/* How many turnovers a filter of this shape lasts at its capacity. A turnover adds and deletes as many
** keys as it has. At the end one slot in 200 is lost to distinct keys that were saturated together, and
** adds begin to fail, or the filter to grow. CF_TURNOVERS_MAX: practically forever. */
#define CF_TURNOVERS_MAX ((uint64_t)1000000000)
uint64_t cf_turnovers(const cf_geometry *shape);

#ifndef CUCKOO_READ_ONLY

/* Adds about 3 % to the buckets: try it if a build with this shape was full. CF_OK, or CF_TOO_BIG with
** *shape unchanged. CF_TRIES shapes in a row are full only if the keys were chosen to share buckets. */
cf_status cf_plan_wider(cf_geometry *shape);

#endif /* CUCKOO_READ_ONLY */

/* ---- an open filter ---- */

#include "cuckoo_inline.h"
#include "version.h"

/* A view of bytes that the caller owns and keeps in place; a copy is a second view of the same bytes.
** Read the first part; set the second; leave `view` to the library. */
struct cf_filter {
    cf_geometry geometry;
    uint64_t items;       /* adds minus the deletes that took effect; stops counting at 2^48 - 1. With
                               epochs: entries */
    uint64_t occupied;    /* slots in use; absorbed adds use none */
    uint64_t split;       /* split pointer: buckets of this level that are split; 0 .. m0 * 2^level */
    unsigned level;       /* of growth: remainder bits implied by every bucket number */
    uint64_t buckets;     /* in use: m0 * 2^level + split */
    uint64_t length;      /* of the blob, bytes */
    unsigned stashed;     /* entries in the stash */
    uint64_t epoch;       /* the current one, 0 .. 2^48 - 1; adds belong to it. Without epochs 0 */
    const uint8_t *bytes; /* the blob */
    uint8_t *writable;    /* the same, if it may be changed; else NULL */

    cf_memory memory;      /* {NULL, 0, NULL}: it cannot grow */
    const cf_watch *watch; /* NULL: it cannot be stopped */
    const cf_pages *pages; /* NULL: all of it is in memory; cf_attach_pages sets it */
    uint32_t live;         /* with epochs: bit e % 16 for each live epoch e */

    cf_view view;
};

struct cf_reader {
    cf_filter filter;
    uint8_t header[CF_HEADER_BYTES]; /* the header of filter, as it was read */
};

#if defined(__STDC_HOSTED__) && __STDC_HOSTED__
#define CF_HAS_MALLOC
#include <stdlib.h>

/* The memory of malloc: filter.memory.resize = cf_realloc. */
CF_INLINE uint8_t *cf_realloc(void *context, uint8_t *bytes, uint64_t size)
{
    void *block = NULL;
    uint8_t *result;
    size_t n = size;
    (void)context;
    if (n == 0)
        free(bytes);
    else if (n == size)
        block = realloc(bytes, n);
    memcpy(&result, &block, sizeof result); /* C++ would need a cast */
    return result;
}
#endif

bool cf_contains_any(const cf_filter *filter, uint64_t hash);

/* Inlined if the filter cannot grow, is in memory, and has four slots of 8, 10, 12, 14 or 16 bits, not
** semi-sorted: a call, as for all others, would take half as long again. */
CF_INLINE bool cf_contains(const cf_filter *filter, uint64_t hash)
{
#ifdef CF_HAS_WIDE
    if (CF_LIKELY(filter->view.whole != 0))
        return cf_view_contains(&filter->view, filter->geometry.buckets, hash);
#endif
    return cf_contains_any(filter, hash);
}

#endif
