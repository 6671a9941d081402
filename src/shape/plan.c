/* SPDX-License-Identifier: MIT */
/*
** plan.c - from capacity, false-positive rate and options to the smallest shape that meets both.
**
** Each allowed fingerprint width sets two lower bounds on the number of buckets. The keys must fit: the
** load factor that can be reached depends on the bucket size (paper, section 4, figure 2), and in small
** tables a few keys may crowd a few buckets, so n + sqrt(n) + 9 slots at that load factor hold n keys.
** And two buckets with all these keys must have few enough false positives. The width with the fewest
** bytes wins: often fingerprints one bit shorter in a slightly larger table.
**
** All decisions are made on integers: the false-positive rate is in units of 2^-62.
*/
#include "../base/bits.h"
#include "../include/cuckoo_key.h"
#include "geometry.h"

enum { RATE_BITS = 62 };

typedef struct request {
    uint64_t keys; /* at least 1 */
    uint64_t rate; /* in units of 2^-RATE_BITS; 0 = any */
} request;

/* ---- the fields of a shape ---- */

/* Growth turns remainder bits into address bits, so it needs some to start with. With shorter
** fingerprints more than eight of a million keys share all bits that determine their buckets. Only an
** explicit option gives fewer. */
static unsigned least_fingerprint(unsigned b, bool growth)
{
    enum { GROWS = 9, GROWS_BY_TWO = 12 };
    return !growth ? CF_FINGERPRINT_MIN : b == 2 ? GROWS_BY_TWO : GROWS;
}

/* See address.h: the whole fingerprint, or a part that leaves enough remainder bits to grow with. In
** large tables too many keys would share few pair bits: nine of n do n^9 / 9! / pairs^8 times. */
static unsigned pair_bits(const cf_geometry *shape)
{
    enum { MOST = 6, REMAINDER = 3, CROWDED = 36 };
    unsigned f = shape->fingerprint_bits, s = f - 4 < MOST ? f - 4 : MOST;
    unsigned large = (cf_floor_log2(shape->buckets) + CROWDED) / 8;
    if (!shape->growth)
        return f;
    if (shape->bucket_size == 2)
        return 8;
    s = s > large ? s : large;
    return s < f - REMAINDER ? s : f - REMAINDER;
}

/* The smallest max_copies with which a filter lasts LIFE turnovers: at least three, so that a key added
** twice can be deleted once. But copies of one key, or keys with the same fingerprint, must not crowd
** other keys out of their buckets. */
static uint8_t cap_for(const cf_geometry *shape)
{
    enum { LEAST = 3, LIFE = 100000 };
    unsigned b = shape->bucket_size, f = shape->fingerprint_bits;
    unsigned most = b > 1 && f >= (b == 2 ? 13 : 6) ? 2 * b : b;
    cf_geometry kept = {.bucket_size = shape->bucket_size, .fingerprint_bits = shape->fingerprint_bits};
    for (kept.max_copies = most < LEAST ? (uint8_t)most : LEAST;
         kept.max_copies < most && cf_turnovers(&kept) < LIFE;)
        kept.max_copies++;
    return kept.max_copies;
}

/* By default the stash has room for the entries of a burst: if 2 % more keys are added at once to a
** table at a load factor of 95 %, one in five of them is stashed with a budget of 10 buckets. */
static void set_stash(cf_geometry *shape, const cf_options *options)
{
    enum { LEAST = 16, SLOTS_PER_ENTRY = 256 };
    uint64_t bound = cf_geometry_slots(shape) / SLOTS_PER_ENTRY;
    bound = options->stash_size ? options->stash_size : bound < LEAST ? LEAST : bound;
    shape->budget = (uint8_t)options->max_kicks;
    shape->stash_size = (uint16_t)(bound < CF_STASH_MAX ? bound : CF_STASH_MAX);
}

static bool can_be_semisorted(unsigned b, unsigned f)
{
    return b == 4 && f >= 5;
}

/* ---- how many buckets ---- */

/* floor(sqrt(n)), for n below 2^62. */
static uint64_t square_root(uint64_t n)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 30; bit > 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= n)
            root += bit;
    return root;
}

/* The fewest buckets into which the keys fit. With fewer than eight bits more keys `meet`. */
static uint64_t buckets_for_keys(const cf_geometry *shape, uint64_t keys)
{
    unsigned b = shape->bucket_size, meet = shape->fingerprint_bits < 8;
    unsigned thousandths = b == 1 ? 400 : b == 2 ? 850 : b == 4 ? 962 : 980;
    uint64_t filled = b * (thousandths - 7 * meet);
    if (keys <= 2 * b)
        return 2;
    return (1000 * (keys + (1 + 2 * meet) * square_root(keys) + 9) + filled - 1) / filled;
}

/* The probability that a slot matches a random fingerprint, (2^f + 2) / 4^f, rounded up. */
static uint64_t match_rate(unsigned f)
{
    uint64_t first = (uint64_t)1 << (RATE_BITS - f);
    unsigned shift = 2 * f - 1;
    uint64_t second = shift <= RATE_BITS ? (uint64_t)1 << (RATE_BITS - shift) : 1;
    return first + second;
}

/* True if the rate is met with all keys in these buckets. By the union bound: 2 * keys / buckets slots
** are compared, each matching with match_rate. */
static bool errs_seldom(const cf_geometry *shape, uint64_t buckets, const request *want)
{
    return want->rate == 0 ||
           cf_product_at_most(2 * want->keys, match_rate(shape->fingerprint_bits), want->rate, buckets);
}

/* True if the rate after 13 doublings, 1 + 13 / 16 times that when all slots were first full (growth.h),
** is below three times the requested rate. */
static bool errs_seldom_when_grown(const cf_geometry *shape, const request *want)
{
    uint64_t slots_compared = 2 * (uint64_t)shape->bucket_size;
    return !shape->growth || want->rate == 0 ||
           cf_product_at_most(5 * slots_compared, match_rate(shape->fingerprint_bits), 8, want->rate);
}

/* Sets the fewest buckets, an even number, that meet both. False: even four times the buckets that the
** keys need do not, because such fingerprints are far too short. With fewer buckets than LEAST_TO_GROW
** pairs would be crowded. */
static bool size_table(cf_geometry *shape, const request *want)
{
    static const uint64_t LEAST = 2, LEAST_TO_GROW = 8;
    uint64_t low = (shape->growth ? LEAST_TO_GROW : LEAST) / 2,
             keys = (buckets_for_keys(shape, want->keys) + 1) / 2, high;
    low = low > keys ? low : keys;
    high = 4 * low;
    if (!errs_seldom_when_grown(shape, want) || !errs_seldom(shape, 2 * high, want))
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (errs_seldom(shape, 2 * middle, want))
            high = middle;
        else
            low = middle + 1;
    }
    shape->buckets = 2 * high;
    return true;
}

/* ---- the choice ---- */

/* Plans a shape with fingerprints of f bits. False: there is none. */
static bool shape_of_width(unsigned f, const cf_options *options, const request *want,
                           cf_geometry *shape)
{
    const char *why;
    unsigned b = options->bucket_size ? options->bucket_size : 4;
    *shape = (cf_geometry){
        .seed = options->seed,
        .keyed = cf_is_keyed(options),
        .bucket_size = (uint8_t)b,
        .fingerprint_bits = (uint8_t)f,
        .counter_bits = (uint8_t)options->counter_bits,
        .value_bits = (uint8_t)options->value_bits,
        .epochs = (uint8_t)options->epochs,
        .growth = options->growth,
        .semisorted = options->layout != CF_LAYOUT_PLAIN && can_be_semisorted(b, f),
        .affinity = (uint8_t)options->affinity,
        .collation = (uint8_t)options->collation,
        .key_types = (uint8_t)(cf_types_under(options->affinity, options->key_types) & CF_TYPES_MIXED)};
    if ((options->layout == CF_LAYOUT_SEMISORT && !shape->semisorted) || !size_table(shape, want))
        return false;
    shape->pair_bits = (uint8_t)pair_bits(shape);
    shape->max_copies = shape->epochs ? 1 : cap_for(shape);
    if (options->stash)
        set_stash(shape, options);
    return cf_geometry_check(shape, &why) == CF_OK;
}

/* The smallest shape; its buckets are 0 if there is none. */
static cf_geometry smallest(const cf_options *options, const request *want)
{
    unsigned wanted = options->fingerprint_bits;
    unsigned f = wanted ? wanted : least_fingerprint(options->bucket_size, options->growth);
    cf_geometry best = {0}, shape;
    for (; f <= (wanted ? wanted : CF_FINGERPRINT_MAX); f++)
        if (shape_of_width(f, options, want, &shape) &&
            (best.buckets == 0 || cf_geometry_bytes(&shape) < cf_geometry_bytes(&best)))
            best = shape;
    return best;
}

/* ---- requests ---- */

/* What is wrong with a request; NULL: nothing. */
static const char *request_fault(double fpr, const cf_options *options)
{
    unsigned b = options->bucket_size, f = options->fingerprint_bits;
    const char *sizes = cf_sizes_fault(b ? b : CF_BUCKET_MAX, f ? f : CF_FINGERPRINT_MAX,
                                       options->counter_bits, options->value_bits);
    return !(fpr >= 0 && fpr < 1) ? "fpr must be above 0 and below 1"
           : fpr == 0 && f == 0   ? "fpr must be above 0, or fingerprint_bits given in its place"
           : sizes                ? sizes
           : options->layout == CF_LAYOUT_SEMISORT && !can_be_semisorted(b ? b : 4, f ? f : 5)
               ? "layout=semisort needs bucket_size=4 and fingerprint_bits of 5 or more: give these, or "
                 "leave one of them out"
           : options->epochs > CF_EPOCHS_MAX ? "epochs must be from 0 to 15"
           : options->epochs && (options->counter_bits || options->value_bits || options->stash)
               ? "epochs excludes counter_bits, value_bits and stash=on: leave these out"
           : options->stash && options->value_bits > CF_VALUE_MAX
               ? "with stash=on value_bits are at most 32"
           : options->stash && options->growth
               ? "stash=on excludes growth: add growth=off, or leave stash=on out"
           : options->max_kicks > CF_BUDGET_MAX || options->stash_size > CF_STASH_MAX
               ? "max_kicks must be from 0 to 255, stash_size from 1 to 4096"
           : (unsigned)options->hash > CF_HASH_KEYED || (unsigned)options->affinity > CF_AFFINITY_REAL ||
                   (unsigned)options->collation > CF_COLLATION_RTRIM ||
                   (unsigned)options->layout > CF_LAYOUT_SEMISORT
               ? "hash, affinity, collation or layout is unknown"
           : !options->growth ? NULL
           : b == 1           ? "bucket_size=1 cannot grow: add growth=off"
           : f && f < 8       ? "fingerprint_bits below 8 cannot grow: add growth=off, or use 8 or more"
           : b == 2 && f && f < 12
               ? "bucket_size=2 grows with fingerprint_bits of 12 or more: add growth=off"
               : NULL;
}

uint64_t cf_planned_entries(uint64_t capacity, unsigned epochs)
{
    return epochs ? capacity + (capacity + epochs - 1) / epochs : capacity;
}

static cf_status refuse_plan(const cf_options *options, request want, const char **why)
{
    want.rate = 0;
    if (smallest(options, &want).buckets == 0)
        return cf_refuse(CF_TOO_BIG, why, "capacity is too large for these options");
    if (options->fingerprint_bits != 0)
        return cf_refuse(CF_BAD_ARGUMENT, why,
                         "fingerprint_bits is too small for this fpr: use more, or NULL as fpr");
    return cf_refuse(CF_BAD_ARGUMENT, why,
                     options->growth ? "fpr is too small: fingerprints of 32 bits reach 1.2e-9 (2.4e-9 "
                                       "with bucket_size=8), and 1e-9 with growth=off"
                                     : "fpr is too small: fingerprints of 32 bits reach 1e-9");
}

cf_status cf_plan(uint64_t capacity, double fpr, const cf_options *options, cf_geometry *plan,
                  const char **why)
{
    static const cf_options none = {0};
    options = options ? options : &none;
    if (capacity > CF_CAPACITY_MAX)
        return cf_refuse(
            CF_TOO_BIG, why,
            "capacity must be at most 1099511627776 keys; split the keys over several filters");
    const char *fault = request_fault(fpr, options);
    if (fault)
        return cf_refuse(CF_BAD_ARGUMENT, why, fault);
    if (capacity == 0)
        capacity = 1;
    /* rounded down; scaling by a power of two is exact everywhere */
    uint64_t rate = (uint64_t)(fpr * (double)((uint64_t)1 << RATE_BITS));
    request want = {cf_planned_entries(capacity, options->epochs), rate};
    if (fpr > 0 && want.rate == 0)
        want.rate = 1;
    cf_geometry best = smallest(options, &want);
    if (best.buckets == 0)
        return refuse_plan(options, want, why);
    best.capacity = capacity;
    *plan = best;
    return CF_OK;
}
