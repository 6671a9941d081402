/* SPDX-License-Identifier: MIT */
/*
** exports.c - the C library as filter.mjs calls it, compiled to WebAssembly without a C library; and as
** the Python module calls it (../python/module.c), which includes this file.
**
** All memory is JavaScript's: it gives blocks (resize), and keeps what lies in them apart. A filter and
** a list of keys are blocks of OBJECT bytes, an exact filter is one of EXACT, which begin as zeros. All
** calls that need a key mean the one that `key` was called with last. Statuses are those of cf_status.
** The caller has checked all arguments.
*/
typedef int cuckoo_exports; /* elsewhere it is empty, for those who compile all files of ext */
#if defined(__wasm__) || defined(CUCKOO_PYTHON)
#define CUCKOO_LIBRARY_ONLY
#define CUCKOO_API static /* what nobody calls is left out */
#ifdef __wasm__
#define CUCKOO_SMALL
#define CF_FILLS_NIBBLES
#define FOR_JS(name) __attribute__((export_name(name)))
#endif
#include "cuckoo.c"

enum { OBJECT = 1024, EXACT = 32768, MOST = 0x7fffffff /* bytes of a block, as a blob of SQLite */ };

#ifdef __wasm__
/* Once, before all other calls. */
FOR_JS("start") void start(void)
{
    cf_fill_nibbles();
}
#endif

/* What *why of the last call said; NULL: nothing. */
static const char *said;

FOR_JS("why") const char *js_why(void)
{
    return said;
}

/* A status that is all there is to say says nothing more. */
static cf_status plain(cf_status status)
{
    if (status == CF_OK || said == cf_status_text(status))
        said = NULL;
    return status;
}

FROM_JS("resize") uint8_t *js_resize(uint8_t *bytes, size_t size);

static uint8_t *resize_in_js(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    return size <= MOST ? js_resize(bytes, (size_t)size) : NULL;
}

static const cf_memory js_memory = {resize_in_js, MOST, NULL};

/* ---- the key ---- */

static uint64_t hash;
static unsigned key_type;

static cf_key key_at(unsigned type, const uint8_t *at, size_t n)
{
    double real;
    memcpy(&real, at, sizeof real);
    return type == CF_KEY_INTEGER ? cf_key_integer((int64_t)cf_load64(at))
           : type == CF_KEY_REAL  ? cf_key_real(real)
                                  : (cf_key){.type = (uint8_t)type, .content = at, .length = n};
}

typedef enum sureness {
    UNSURE, /* VAGUE: a text that versions of SQLite read as different numbers */
    SURE,
    VAGUE, /* the answer is "probably" */
    UNFIT  /* it cannot have been meant: cf_key_fits */
} sureness;

/* `asks`: the key is not going to be added. `room` is that of cf_key_hash. */
static sureness put(const cf_geometry *rule, cf_key *form, uint8_t *room, bool asks)
{
    bool vague = cf_key_is_vague(rule, form); /* a driver may bind a whole number as a REAL */
    key_type = cf_key_type(form);
    if (asks && !cf_key_fits(rule, form))
        return UNFIT;
    bool inexact = cf_key_apply(rule, form);
    key_type |= vague || inexact ? CF_TYPE_INEXACT : 0;
    hash = cf_key_hash(rule, form, room);
    return !vague ? SURE : inexact ? UNSURE : VAGUE;
}

/* The key is the one of a filter or a list, which begin with their rule. It is a type, and the bytes at
** an address: text and blobs as they are, numbers as 8 bytes, an integer or a double. The bytes are
** lost, and 8 behind them. */
FOR_JS("key") sureness js_put(const cf_geometry *rule, unsigned type, uint8_t *at, size_t n, bool asks)
{
    cf_key form = key_at(type, at, n);
    return put(rule, &form, at, asks);
}

/* The key_types of a filter or a list; and those of an exact filter, of which deltas bring more. */
FOR_JS("types") unsigned types(const cf_geometry *rule)
{
    return rule->key_types & CF_TYPE_ANY;
}

FOR_JS("take_types") void take_types(cf_geometry *rule, const cf_geometry *other)
{
    rule->key_types |= other->key_types;
}

/* ---- one filter ---- */

FOR_JS("open") cf_status open(cf_filter *filter, uint8_t *bytes, size_t length)
{
    cf_status status = cf_open_writable(filter, bytes, cf_without_label(bytes, length), &said);
    filter->memory = js_memory;
    return status;
}

FOR_JS("release") void release(cf_filter *filter)
{
    js_resize(filter->writable, 0);
}

FOR_JS("seal") const uint8_t *seal(cf_filter *filter)
{
    cf_seal(filter);
    return filter->bytes;
}

FOR_JS("contains") bool contains(cf_filter *filter)
{
    return cf_contains(filter, hash);
}

FOR_JS("count") double count(cf_filter *filter)
{
    return (double)cf_count(filter, hash);
}

FOR_JS("values") unsigned js_values(const cf_filter *filter, double *values)
{
    uint64_t found[CF_VALUES_MAX];
    unsigned n = cf_get_all(filter, hash, found);
    for (unsigned i = 0; i < n; i++)
        values[i] = (double)found[i];
    return n;
}

FOR_JS("add") cf_status add(cf_filter *filter, double value)
{
    uint8_t was = filter->geometry.key_types;
    cf_note_types(filter, key_type);
    cf_status status = cf_add_value(filter, hash, (uint64_t)value);
    filter->geometry.key_types = status == CF_OK ? filter->geometry.key_types : was;
    return status;
}

FOR_JS("delete")
bool take(cf_filter *filter, double value)
{
    cf_deleted deleted = cf_delete_value(filter, hash, (uint64_t)value);
    cf_drop_types(filter);
    return deleted == CF_REMOVED;
}

FOR_JS("clear") void clear(cf_filter *filter)
{
    cf_clear(filter);
}

FOR_JS("merge") cf_status merge(cf_filter *into, const cf_filter *from)
{
    return plain(cf_merge(into, from, &said));
}

FOR_JS("check") cf_status check(cf_filter *filter)
{
    cf_seal(filter);
    return cf_check(filter, &said);
}

/* As INFO in filter.mjs; the seed, an integer, behind them. */
FOR_JS("info") void info(const cf_filter *filter, double *numbers, int64_t *seed, bool counted)
{
    const cf_geometry *g = &filter->geometry;
    cf_census census = {0};
    if (counted)
        census = cf_take_census(filter);
    const double all[] = {(double)filter->items,
                          (double)filter->occupied,
                          (double)g->capacity,
                          (double)filter->buckets,
                          g->bucket_size,
                          g->fingerprint_bits,
                          filter->view.form.slot_bits,
                          g->semisorted,
                          filter->level,
                          (double)filter->split,
                          (double)filter->length,
                          census.fpr,
                          cf_expected_fpr(g, cf_planned_entries(g->capacity, g->epochs)),
                          (double)cf_turnovers(g),
                          g->keyed,
                          g->counter_bits,
                          g->value_bits,
                          g->affinity,
                          g->collation,
                          g->key_types & CF_TYPE_ANY,
                          g->growth,
                          g->stash_size != 0,
                          g->budget,
                          g->stash_size,
                          filter->stashed,
                          (double)census.saturated,
                          (double)census.exhausted,
                          g->pair_bits,
                          g->max_copies,
                          (double)g->buckets,
                          CF_FORMAT_VERSION,
                          g->epochs,
                          (double)filter->epoch};
    memcpy(numbers, all, sizeof all);
    *seed = g->seed;
}

/* ---- looking inside ---- */

/* Where the key may lie: *pair, and the numbers of so many buckets. */
FOR_JS("places") unsigned places(const cf_filter *filter, cf_pair *pair, double *buckets)
{
    *pair = cf_candidates(filter, hash);
    for (unsigned i = 0; i < pair->sides; i++)
        buckets[i] = (double)pair->place[i].bucket;
    return pair->sides;
}

/* The fingerprint that the key of `pair` would get in its bucket i, and how many bits that has. */
FOR_JS("fingerprint")
void fingerprint(const cf_filter *filter, const cf_pair *pair, unsigned i, uint64_t *seen)
{
    cf_side side = cf_new_fingerprint(filter, &pair->side[i]);
    seen[0] = side.bits;
    seen[1] = filter->geometry.pair_bits + side.length;
}

/* What lies in a slot of a bucket; from slot CF_IN_LIST on: in a line of the stash, if that belongs
** to the bucket. False: nothing. As SEEN in filter.mjs; without a `pair` only the answer. */
FOR_JS("slot")
bool slot(const cf_filter *filter, unsigned bucket, unsigned at, const cf_pair *pair, unsigned i,
          uint64_t *seen)
{
    cf_entry entry;
    bool there = at < CF_IN_LIST
                     ? cf_entry_at(filter, bucket, at, &entry)
                     : cf_stashed_at(filter, at - CF_IN_LIST, &entry) && entry.bucket == bucket;
    if (!there || pair == NULL)
        return there;
    seen[0] = entry.side.bits;
    seen[1] = filter->geometry.pair_bits + entry.side.length;
    seen[2] = cf_entry_matches(filter, &entry, &pair->side[i]);
    seen[3] = cf_entry_copies(filter, &entry);
    seen[4] = entry.payload;
    seen[5] = entry.saturated;
    return true;
}

/* ---- many keys ---- */

typedef struct list {
    cf_geometry rule; /* hash, seed and key rule; the rest is not looked at */
    uint64_t *hashes;
    size_t used, room;
    unsigned types; /* of its keys */
} list;

_Static_assert(sizeof(cf_filter) <= OBJECT && sizeof(list) <= OBJECT, "OBJECT is too small");

/* `options`: as OPTIONS in filter.mjs, whether affinity none was written out, and the seed, an integer,
** behind them. */
static cf_options options_of(const double *options, const int64_t *seed)
{
    return (cf_options){.bucket_size = (unsigned)options[2],
                        .fingerprint_bits = (unsigned)options[3],
                        .counter_bits = (unsigned)options[4],
                        .value_bits = (unsigned)options[5],
                        .growth = options[6] != 0,
                        .hash = (cf_hash_choice)options[7],
                        .layout = (cf_layout)options[8],
                        .stash = options[9] != 0,
                        .max_kicks = (unsigned)options[10],
                        .stash_size = (unsigned)options[11],
                        .affinity = (cf_affinity)options[12],
                        .collation = (cf_collation)options[13],
                        .key_types = options[14] != 0 ? CF_TYPES_MIXED : 0,
                        .seed = *seed};
}

FOR_JS("begin") void begin(list *keys, const double *options, const int64_t *seed)
{
    cf_options given = options_of(options, seed);
    keys->rule.seed = given.seed;
    keys->rule.keyed = cf_is_keyed(&given);
    keys->rule.affinity = (uint8_t)given.affinity;
    keys->rule.collation = (uint8_t)given.collation;
}

FOR_JS("begin_like") void begin_like(list *keys, const cf_geometry *rule)
{
    keys->rule = *rule;
}

FOR_JS("push") bool push(list *keys)
{
    if (keys->used == keys->room) {
        size_t room = keys->room ? 2 * keys->room : OBJECT;
        uint64_t *longer = (void *)resize_in_js(NULL, (uint8_t *)keys->hashes, room * sizeof(uint64_t));
        if (longer == NULL)
            return false;
        keys->hashes = longer;
        keys->room = room;
    }
    keys->hashes[keys->used++] = hash;
    keys->types |= key_type;
    return true;
}

FOR_JS("end") void end(list *keys)
{
    js_resize((uint8_t *)keys->hashes, 0);
}

FOR_JS("build")
cf_status js_build(list *keys, cf_filter *filter, const double *options, const int64_t *seed)
{
    cf_options given = options_of(options, seed);
    filter->memory = js_memory;
    given.key_types |= keys->types;
    return plain(
        cf_build(filter, keys->hashes, keys->used, (uint64_t)options[0], options[1], &given, &said));
}

/* As cf_add_keys and cf_delete_keys in SQL. */
FOR_JS("change_many") cf_status change_many(list *keys, cf_filter *filter, bool adds)
{
    uint64_t capacity = filter->geometry.capacity;
    cf_status status = CF_OK;
    cf_note_types(filter, adds ? keys->types : 0);
    if (adds && filter->items <= capacity && keys->used <= capacity - filter->items)
        return cf_add_many(filter, keys->hashes, keys->used, NULL);
    for (size_t i = 0; i < keys->used && status == CF_OK; i++)
        if (adds)
            status = cf_add(filter, keys->hashes[i]);
        else
            cf_delete(filter, keys->hashes[i]);
    cf_drop_types(filter);
    return status == CF_OK && keys->used != 0 ? cf_settle(filter) : status;
}

/* The answers overwrite the hashes: each is a byte. */
FOR_JS("contains_many") const bool *contains_many(list *keys, const cf_filter *filter)
{
    enum { SOME = 256 };
    bool answers[SOME], *all = (bool *)keys->hashes;
    for (size_t i = 0; i < keys->used; i += SOME) {
        size_t n = keys->used - i < SOME ? keys->used - i : SOME;
        cf_contains_many(filter, keys->hashes + i, n, answers);
        memcpy(all + i, answers, n);
    }
    return all;
}

#include "exact.h"

#endif
