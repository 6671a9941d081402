/* SPDX-License-Identifier: MIT */
/*
** cuckoo_plan.h - the first part of the public header: answers, limits, what filters can do, and
** choosing the shape of one. Errors: as in cuckoo_view.h.
**
** Copies. Adding a key again stores another copy, up to `max_copies` copies: 3 to 6 in most filters,
** more where fingerprints are short (cf_turnovers). Below max_copies the number of copies is exact. At
** max_copies the key is *saturated*: further adds are absorbed, and deletes change nothing. So deleting
** a key that was added never hides a key that is still there. With counters of c bits a key is
** saturated at 2^c copies (copies.h). Deleting a key that was never added may remove the fingerprint of
** another.
**
** Growth. A filter that may grow, and whose memory may (cf_memory), takes more keys than it was planned
** for: buckets are split one at a time, without the keys (growth.h). The first split writes the whole
** table again, with wider slots: some 15 ms for a million keys. Later adds split a hundred buckets at
** most; with values, more. Keys that were chosen to share buckets are rejected, and leave half of the
** slots occupied; with values, an eighth. After k doublings the false-positive rate is up to 1 + k / 16
** times that of the filter when it was first full: within three times the requested rate up to 2^13
** times the planned number of keys. A filter with epochs stops growing, and returns CF_FULL, while most
** of its entries have no remainder bit left to split on. An add that fails may have split some buckets:
** seal the filter, which is longer then; of several values of a key cf_get may give another one.
**
** Layouts. Buckets of four slots can be kept sorted by four bits of each fingerprint. That saves
** one bit per slot, and costs a little when it is written (semisort.h).
**
** Bounded insertion. A filter with a stash looks at a few buckets for a new key; then the key
** goes to an exact list, which lookups ask when a bit in their buckets says so (stash.h).
**
** Ageing. A filter with epochs expires keys that were added long ago (cf_advance). An entry carries the
** epoch in which its key was added last: there are no copies, and cf_delete answers CF_SATURATED.
**
** Values. A value of up to 32 bits with every copy of a key: an approximate map (paper, section 6).
*/
#ifndef CF_CUCKOO_PLAN_H
#define CF_CUCKOO_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cf_status {
    CF_OK = 0,
    CF_FULL,           /* no room for this key, even by moving others */
    CF_DAMAGED,        /* the bytes are not a filter, or not a sound one */
    CF_NEWER,          /* a filter of a later version, or with features this one does not have */
    CF_BAD_ARGUMENT,   /* a parameter is out of its range */
    CF_TOO_BIG,        /* larger than the format, the machine or cf_memory allows */
    CF_MISMATCH,       /* two filters that cannot be merged */
    CF_NO_MEMORY,      /* cf_memory gave none */
    CF_INTERRUPTED,    /* the watch said stop (cf_watch) */
    CF_READ_ONLY,      /* it was opened for reading only */
    CF_NEEDS_MEMORY,   /* full: it may grow, but filter.memory is not set */
    CF_ABSENT,         /* cf_delete: the key is definitely not in the set, nothing has changed */
    CF_SATURATED,      /* cf_delete: the number of copies is unknown, nothing has changed */
    CF_REMOVED = CF_OK /* cf_delete: one copy is gone */
} cf_status;

/* A constant text for a status, in lower case: "full", "corrupt". */
const char *cf_status_text(cf_status status);

/* Limits of the parameters. */
enum {
    CF_FINGERPRINT_MIN = 4,  /* bits */
    CF_FINGERPRINT_MAX = 32, /* bits */
    CF_BUCKET_MAX = 8,       /* slots in a bucket: 1 (for study), 2, 4 or 8 */
    CF_PAIR_BITS_MIN = 4,
    CF_COUNTER_MAX = 16, /* bits */
    CF_VALUE_MAX = 32,   /* bits */
    CF_EPOCHS_MAX = 15,
    CF_BUDGET_MAX = 255, /* buckets */
    CF_STASH_MAX = 4096, /* entries */
    CF_VALUES_MAX = 24,  /* values that a key can have */
    CF_HEADER_BYTES = 64,
    CF_FORMAT_VERSION = 2 /* what is read and written (format.h) */
};
#define CF_CAPACITY_MAX ((uint64_t)1 << 40) /* keys */

/* ---- choosing a shape ---- */

/* How buckets are written down. */
typedef enum cf_layout {
    CF_LAYOUT_AUTO,    /* the planner chooses */
    CF_LAYOUT_PLAIN,   /* one slot after the other */
    CF_LAYOUT_SEMISORT /* one bit per slot less (semisort.h): b = 4, f >= 5 */
} cf_layout;

/* How keys become hashes (hash.h). A filter stores the answer, and its keys are hashed by it. */
typedef enum cf_hash_choice {
    CF_HASH_AUTO, /* keyed when the seed is not 0, else XXH3 */
    CF_HASH_XXH3, /* the fastest, for keys that nobody chooses with the filter in mind */
    CF_HASH_KEYED /* SipHash-1-3: keys cannot be aimed at a filter whose seed is secret */
} cf_hash_choice;

/* The key rule: which values are one key. The caller makes hashes of values by it (cuckoo_key.h). */
typedef enum cf_affinity {
    CF_AFFINITY_NONE,    /* values are compared as they are: text is no number */
    CF_AFFINITY_TEXT,    /* as a column of TEXT, BLOB or no affinity compares */
    CF_AFFINITY_NUMERIC, /* as an INTEGER or NUMERIC column: text that looks like a number is one */
    CF_AFFINITY_REAL     /* as a REAL column: the same, and all numbers are floating point */
} cf_affinity;

typedef enum cf_collation {
    CF_COLLATION_BINARY,
    CF_COLLATION_NOCASE, /* the letters A to Z are a to z */
    CF_COLLATION_RTRIM   /* spaces at the end do not count */
} cf_collation;

/* The types of the keys that a filter was given, as far as the caller says so (cf_note_types). They
** change no answer of cf_contains; cuckoo_key.h says what they change. */
typedef enum cf_key_types {
    CF_TYPE_NUMBER = 1,
    CF_TYPE_TEXT = 2,
    CF_TYPE_BLOB = 4,
    CF_TYPE_ANY = 7,
    CF_TYPE_INEXACT = 8, /* texts that are numbers, which versions of SQLite read as different doubles */
    CF_TYPES_MIXED = 15  /* without an affinity: keys of all types are meant to be there, or not */
} cf_key_types;

/* What is noted for keys of these types. Under an affinity numbers and texts are one type, so that equal
** keys make equal bytes. */
unsigned cf_types_under(unsigned affinity, unsigned types);

/* Options; the planner chooses the rest. {0}: all defaults, with growth off. */
typedef struct cf_options {
    unsigned bucket_size; /* slots in a bucket: 1, 2, 4, 8 (may be slower: lanes.h); 0: 4 */
    unsigned
        fingerprint_bits; /* CF_FINGERPRINT_MIN .. MAX; 0: the fewest that meet the false-positive rate */
    unsigned counter_bits; /* count copies beyond max_copies: 0 .. CF_COUNTER_MAX */
    unsigned value_bits;   /* a value with every copy: 0 .. CF_VALUE_MAX; not with counters */
    unsigned epochs; /* adds are found for so many epochs, up to CF_EPOCHS_MAX; 0: forever. Not with
                        counters, values or a stash */
    bool
        growth; /* may grow when full (f >= 8, b >= 2), if filter.memory is set, too; not with a stash */
    int64_t seed; /* of the hash */
    cf_hash_choice hash;
    cf_layout layout;
    bool stash;          /* bounded insertion (stash.h); not with growth */
    unsigned max_kicks;  /* buckets an insertion looks at before it stashes: 0 .. CF_BUDGET_MAX */
    unsigned stash_size; /* entries of the stash: 1 .. CF_STASH_MAX; 0: the planner chooses */
    cf_affinity affinity;
    cf_collation collation;
    unsigned key_types; /* cf_key_types that it begins with; CF_TYPES_MIXED stays when it is cleared */
} cf_options;

/* The shape of a filter: everything that is fixed when it is made. */
typedef struct cf_geometry {
    uint64_t buckets;         /* m0, the number of base buckets: even, at least 2 */
    uint64_t capacity;        /* distinct keys it was planned for */
    int64_t seed;             /* of the hash */
    uint8_t bucket_size;      /* b, slots in a bucket */
    uint8_t fingerprint_bits; /* f */
    uint8_t pair_bits;        /* s, the lowest of them, which name the alternate; f without growth */
    uint8_t max_copies;       /* copies from which on a key is saturated: 1 .. 2b */
    uint8_t counter_bits;     /* an entry counts up to 2^counter_bits copies */
    uint8_t value_bits;       /* of the value that each entry carries */
    uint8_t epochs;           /* an add is found in so many epochs; 0: it does not age */
    bool growth;              /* may grow when full; not with a stash */
    bool semisorted;          /* the layout of its buckets */
    uint8_t budget;           /* buckets an insertion looks at before it stashes; 0 without a stash */
    uint16_t stash_size;      /* entries of the stash; 0: no list, and no overflow bits */
    uint8_t affinity;         /* a cf_affinity */
    uint8_t collation;        /* a cf_collation */
    bool keyed;               /* keys are hashed by the keyed hash, not by XXH3 */
    uint8_t key_types;        /* cf_key_types of the keys that were added */
} cf_geometry;

enum { CF_TRIES = 8 }; /* shapes that a build tries: cf_plan_wider */

#ifndef CUCKOO_READ_ONLY

/* The smallest filter that takes `capacity` distinct keys and, holding them, answers "perhaps" for at
** most the share `fpr` of the keys it does not hold; on every machine the same.
**
** capacity: 0 .. CF_CAPACITY_MAX keys; 0 plans for one key. With epochs: distinct keys added within so
** many; those of one more find room as well. fpr: above 0 and below 1; or 0 when
** options->fingerprint_bits decides. The chance that the filter is full before it holds `capacity` keys
** is some millionths (measured); with bucket_size 2 one in a thousand, with 1 one in a hundred.
**
** options may be NULL: as {0}. CF_OK and *plan; else CF_BAD_ARGUMENT or CF_TOO_BIG, *plan is unchanged,
** *why names the remedy. */
cf_status cf_plan(uint64_t capacity, double fpr, const cf_options *options, cf_geometry *plan,
                  const char **why);

/* About 3 % more buckets: what to try when a build with this shape was full. CF_OK, or CF_TOO_BIG with
** *shape unchanged. CF_TRIES shapes are full only when the keys were chosen to share buckets. */
cf_status cf_plan_wider(cf_geometry *shape);

#endif /* CUCKOO_READ_ONLY */

/* How many entries a filter of this capacity is planned for: with epochs those of one more. */
uint64_t cf_planned_entries(uint64_t capacity, unsigned epochs);

/* CF_OK when `shape` is one that cf_create takes; else CF_BAD_ARGUMENT or CF_TOO_BIG, and *why. */
cf_status cf_geometry_check(const cf_geometry *shape, const char **why);

/* The length in bytes of a new filter of this (checked) shape, header included. */
uint64_t cf_geometry_bytes(const cf_geometry *shape);

/* Slots in the table of a new filter: buckets times bucket size. */
uint64_t cf_geometry_slots(const cf_geometry *shape);

/* Bits of a slot of one of both forms: before any growth, and after. */
unsigned cf_slot_bits(const cf_geometry *shape, bool grown);

/* Do keys have the same hashes in filters of both shapes? */
bool cf_same_rule(const cf_geometry *one, const cf_geometry *other);

/* The expected share of absent keys that are answered "perhaps" when `entries` slots of a new table are
** occupied (paper, section 5.1). A slot matches with probability (2^f + 2) / 4^f, because the all-zero
** fingerprint becomes 1. For display: cf_take_census says what a filter in use really has. */
double cf_expected_fpr(const cf_geometry *shape, uint64_t entries);

/* How many turnovers (as many adds, and as many deletes, as it has keys) a filter of this shape lives
** for at its capacity: then one slot in 200 is lost to distinct keys that were saturated together, and
** adds begin to be refused, or the filter to grow. CF_TURNOVERS_MAX: practically without end. */
#define CF_TURNOVERS_MAX ((uint64_t)1000000000)
uint64_t cf_turnovers(const cf_geometry *shape);

#endif
