/* SPDX-License-Identifier: MIT */
/*
** plan.c - from (capacity, error rate, options) to the smallest shape that keeps both promises.
**
** For every bucket size and fingerprint width allowed, the fewest buckets are found that hold the
** keys (load.h) and meet the error rate; of these shapes the one with the fewest bytes is taken. A
** slightly larger table with fingerprints one bit shorter often wins, so size follows the error
** rate closely instead of jumping by a bit per key.
**
** All decisions are made on integers: the error rate counts in units of 2^-62.
*/
#include "../base/bits.h"
#include "geometry.h"
#include "load.h"

enum { RATE_BITS = 62 };

/* Growth turns remainder bits into address bits: it needs some to start with. */
static unsigned least_fingerprint(unsigned b, bool growth)
{
    if (!growth)
        return CF_FINGERPRINT_MIN;
    return b == 2 ? 12 : 8;
}

/* Shapes that have to be asked for by bucket_size, because they grow less densely: between two levels,
** keys crowd the buckets that are not split yet. With b = 2 paths are found up to a load of about
** 0.75 only; with b = 4 and 4 pair bits pairs of buckets are overfull from a million keys on
** (measured: load 0.58). */
static bool grows_loosely(unsigned b, unsigned f)
{
    return b == 2 || (b == 4 && f < 9);
}

/* See address.h: all of the fingerprint, or what leaves enough remainder bits to grow with. Large
** tables may need more: see size_table. */
static unsigned least_pair_bits(unsigned b, unsigned f, bool growth)
{
    if (!growth)
        return f;
    if (b == 2)
        return 8;
    unsigned s = f - 4;
    return s < 4 ? 4 : s > 6 ? 6 : s;
}

/* Turnovers that a filter lives for, unless the options of the user shorten its life. */
enum { LIFE = 100000 };

/* The fewest copies that let a filter live so long, because a larger cap costs no bytes. Three at
** least, so that a key added twice can be deleted once. With one slot to a bucket, for study, two
** keys of one fingerprint would fill both. */
static uint8_t cap_for(const cf_geometry *shape)
{
    enum { LEAST = 3 };
    cf_geometry kept = {.bucket_size = shape->bucket_size, .fingerprint_bits = shape->fingerprint_bits};
    unsigned most = cf_load_copies(shape);
    for (kept.cap = most < LEAST ? (uint8_t)most : LEAST; kept.cap < most && cf_turnovers(&kept) < LIFE;)
        kept.cap++;
    return kept.cap;
}

static bool can_be_semisorted(unsigned b, unsigned f)
{
    return b == 4 && f >= 5;
}

/* The share of random fingerprints that a slot matches, (2^f + 2) / 4^f, rounded up. */
static uint64_t match_rate(unsigned f)
{
    uint64_t first = (uint64_t)1 << (RATE_BITS - f);
    unsigned shift = 2 * f - 1;
    uint64_t second = shift <= RATE_BITS ? (uint64_t)1 << (RATE_BITS - shift) : 1;
    return first + second;
}

typedef struct request {
    uint64_t keys;     /* at least 1 */
    uint64_t rate;     /* in units of 2^-RATE_BITS; 0 = any */
    uint64_t capacity; /* the keys of which the user spoke */
} request;

/* A filter that grows errs up to 1.85 times as often in the end as when all its slots were first
** full (growth.h); that has to stay below three times the rate asked for. Only sparse tables, of
** few keys, are far from full at capacity. */
static bool meets_when_grown(const cf_geometry *shape, const request *want)
{
    uint64_t slots_compared = 2 * (uint64_t)shape->bucket_size;
    return !shape->growth || want->rate == 0 ||
           cf_product_at_most(5 * slots_compared, match_rate(shape->fingerprint_bits), 8, want->rate);
}

/* Does this shape hold the keys, and err seldom enough when it does? By the union bound: 2 * keys /
** buckets slots are compared, each matching with match_rate. */
static bool meets(const cf_geometry *shape, const request *want)
{
    if (!cf_load_takes(shape, want->keys) || !meets_when_grown(shape, want))
        return false;
    return want->rate == 0 || cf_product_at_most(2 * want->keys, match_rate(shape->fingerprint_bits),
                                                 want->rate, shape->buckets);
}

/* A filter that grows starts with so many buckets at least: from fewer it would grow into a table
** in which many pairs are crowded (measured: it would stay under a load of 0.8), while the header
** is most of it anyway. */
enum { LEAST_TO_GROW = 8 };

/* Small tables one by one, because a larger one may hold fewer keys (load.h). */
static bool fewest_of_few(cf_geometry *shape, const request *want)
{
    shape->buckets = shape->growth ? LEAST_TO_GROW : 2;
    while (shape->buckets < CF_LOAD_RISES && !meets(shape, want))
        shape->buckets += 2;
    return shape->buckets < CF_LOAD_RISES;
}

/* The fewest buckets that meet the request; false when not even the most do. */
static bool fewest_buckets(cf_geometry *shape, const request *want)
{
    if (fewest_of_few(shape, want))
        return true;
    uint64_t low = CF_LOAD_RISES / 2 - 1,
             high = CF_CAPACITY_MAX / 2; /* pairs of buckets: low fails, high may not */
    shape->buckets = 2 * high;
    if (!meets(shape, want))
        return false;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        shape->buckets = 2 * middle;
        if (meets(shape, want))
            high = middle;
        else
            low = middle;
    }
    shape->buckets = 2 * high;
    return true;
}

/* Would a table with one more pair bit be better? Three remainder bits have to be left: with two,
** it takes twice the bytes once it has grown (measured; with three, a tenth more than with
** four). */
static bool may_have_more_pair_bits(const cf_geometry *shape)
{
    enum { LARGE = 1024, LEAST_REMAINDER = 3 };
    return shape->buckets > LARGE && shape->pair_bits + LEAST_REMAINDER < shape->fingerprint_bits;
}

/* The fewest buckets, and the pair bits for them: in large tables too many keys would agree in few
** pair bits (load.h). More of them are taken as long as each saves one bucket in 32. */
static bool size_table(cf_geometry *shape, const request *want)
{
    bool found = fewest_buckets(shape, want);
    while (found && may_have_more_pair_bits(shape)) {
        cf_geometry other = *shape;
        other.pair_bits++;
        if (!fewest_buckets(&other, want) || other.buckets > shape->buckets - shape->buckets / 32)
            break;
        *shape = other;
    }
    return found;
}

/* Meeting an error rate with fingerprints that are far too short takes a table that is nearly
** empty: more than four times the buckets that the keys need is taken for a mistake. */
static bool far_too_empty(const cf_geometry *shape, const request *want)
{
    cf_geometry full = *shape;
    request keys_only = {want->keys, 0, want->capacity};
    return want->rate != 0 && fewest_buckets(&full, &keys_only) && shape->buckets / 4 > full.buckets;
}

/* Is this shape smaller than a Bloom filter of the error rate that it has when it holds the keys?
** That takes log2(e) log2(1/rate) bits per key. */
static bool beats_bloom(const cf_geometry *shape, const request *want)
{
    enum { LOG2_E = 1477, UNIT = 1024 }; /* log2(e) = 1.4427 */
    uint64_t matches =
        cf_log2_units(2 * want->keys) + cf_log2_units(match_rate(shape->fingerprint_bits));
    uint64_t one = ((uint64_t)RATE_BITS << CF_LOG_BITS) + cf_log2_units(shape->buckets);
    return matches < one && cf_product_at_most(8 * UNIT << CF_LOG_BITS, cf_geometry_bytes(shape),
                                               want->keys, LOG2_E * (one - matches));
}

/* Entries that the spill list takes unless the user says: enough for what a burst of insertions
** spills that adds two in a hundred keys to a table loaded to 95 % (with a budget of 10 buckets one
** insertion in five does). */
static unsigned spill_bound_for(const cf_geometry *shape)
{
    enum { LEAST = 16, SLOTS_PER_ENTRY = 256 };
    uint64_t bound = cf_geometry_slots(shape) / SLOTS_PER_ENTRY;
    return bound < LEAST ? LEAST : bound < CF_SPILL_MAX ? (unsigned)bound : CF_SPILL_MAX;
}

static void set_overflow(cf_geometry *shape, const cf_options *options)
{
    if (!options->overflow)
        return;
    shape->budget = (uint8_t)options->overflow_budget;
    shape->spill_bound =
        (uint16_t)(options->spill_bound ? options->spill_bound : spill_bound_for(shape));
}

/* The smallest shapes so far; buckets is 0 when there is none. */
typedef struct choice {
    cf_geometry any, good; /* good ones are smaller than a Bloom filter */
} choice;

static void keep_smaller(cf_geometry *best, const cf_geometry *shape)
{
    if (best->buckets == 0 || cf_geometry_bytes(shape) < cf_geometry_bytes(best))
        *best = *shape;
}

/* Compares one shape with the best ones so far, in this layout. */
static void consider_layout(const cf_geometry *sized, bool semisorted, const cf_options *options,
                            const request *want, choice *best)
{
    const char *why;
    cf_geometry shape = *sized;
    shape.semisorted = semisorted;
    set_overflow(&shape, options);
    if (cf_geometry_check(&shape, &why) != CF_OK)
        return;
    keep_smaller(&best->any, &shape);
    if (beats_bloom(&shape, want))
        keep_smaller(&best->good, &shape);
}

/* Has the planner the choice of what decides how long a filter lives? One that ages has no copies. */
static bool is_free(const cf_options *options)
{
    return !options->bucket_size && !options->fingerprint_bits && !options->counter_bits &&
           !options->epochs;
}

/* Compares the shapes of this bucket size and fingerprint width, in the layouts allowed, with the best
** so far. */
static void consider_table(unsigned b, unsigned f, const cf_options *options, const request *want,
                           choice *best)
{
    cf_geometry shape = {.capacity = want->capacity,
                         .seed = options->seed,
                         .keyed = cf_is_keyed(options),
                         .bucket_size = (uint8_t)b,
                         .fingerprint_bits = (uint8_t)f,
                         .pair_bits = (uint8_t)least_pair_bits(b, f, options->growth),
                         .counter_bits = (uint8_t)options->counter_bits,
                         .value_bits = (uint8_t)options->value_bits,
                         .epochs = (uint8_t)options->epochs,
                         .growth = options->growth,
                         .affinity = (uint8_t)options->affinity,
                         .collation = (uint8_t)options->collation};
    if (!size_table(&shape, want) || far_too_empty(&shape, want))
        return;
    shape.cap = shape.epochs ? 1 : cap_for(&shape);
    if (is_free(options) && cf_turnovers(&shape) < LIFE)
        return;
    if (options->layout != CF_LAYOUT_PLAIN && can_be_semisorted(b, f))
        consider_layout(&shape, true, options, want, best);
    if (options->layout != CF_LAYOUT_SEMISORT)
        consider_layout(&shape, false, options, want, best);
}

/* What is wrong with a shape that may grow; NULL: nothing. */
static const char *growth_fault(unsigned b, unsigned f)
{
    return b == 1            ? "bucket_size=1 cannot grow: add growth=off"
           : f != 0 && f < 8 ? "fingerprint_bits below 8 cannot grow: add growth=off, or use 8 or more"
           : b == 2 && f && f < 12
               ? "bucket_size=2 grows with fingerprint_bits of 12 or more: add growth=off"
               : NULL;
}

/* What is wrong with options; NULL: nothing. */
static const char *options_fault(const cf_options *options)
{
    unsigned b = options->bucket_size, f = options->fingerprint_bits;
    const char *sizes = cf_sizes_fault(b ? b : CF_BUCKET_MAX, f ? f : CF_FINGERPRINT_MAX,
                                       options->counter_bits, options->value_bits);
    return sizes ? sizes
           : options->layout == CF_LAYOUT_SEMISORT && !can_be_semisorted(b ? b : 4, f ? f : 5)
               ? "layout=semisort needs bucket_size=4 and fingerprint_bits of 5 or more: give these, or "
                 "leave one of them out"
           : options->epochs > CF_EPOCHS_MAX ? "epochs must be from 0 to 15"
           : options->epochs && (options->counter_bits || options->value_bits || options->overflow)
               ? "epochs excludes counter_bits, value_bits and overflow=on: leave these out"
           : options->overflow_budget > CF_BUDGET_MAX || options->spill_bound > CF_SPILL_MAX
               ? "overflow_budget must be from 0 to 255, spill_bound from 1 to 4096"
           : (unsigned)options->hash > CF_HASH_KEYED || (unsigned)options->affinity > CF_AFFINITY_REAL ||
                   (unsigned)options->collation > CF_COLLATION_RTRIM
               ? "hash, affinity or collation is unknown"
           : options->growth ? growth_fault(b, f)
                             : NULL;
}

static cf_status check_request(uint64_t capacity, double fpr, const cf_options *options,
                               const char **why)
{
    if (capacity > CF_CAPACITY_MAX)
        return cf_refuse(
            CF_TOO_BIG, why,
            "capacity must be at most 1099511627776 keys; split the keys over several filters");
    const char *fault = !(fpr >= 0 && fpr < 1) ? "fpr must be above 0 and below 1"
                        : fpr == 0 && options->fingerprint_bits == 0
                            ? "fpr must be above 0, or fingerprint_bits given in its place"
                            : options_fault(options);
    return fault ? cf_refuse(CF_BAD_ARGUMENT, why, fault) : CF_OK;
}

/* fpr in units of 2^-RATE_BITS, rounded down; scaling by a power of two is exact everywhere. */
static uint64_t rate_of(double fpr)
{
    return (uint64_t)(fpr * (double)((uint64_t)1 << RATE_BITS));
}

/* The smallest shape. Between the error rates that full tables of two fingerprint widths have, that
** is a table of the shorter one with slots to spare, which may take more than a Bloom filter would:
** then one bit more, and half the error rate, is the better choice where it does not cost more than
** a twelfth. */
static cf_geometry chosen_shape(const choice *best)
{
    uint64_t any = cf_geometry_bytes(&best->any), good = cf_geometry_bytes(&best->good);
    return best->good.buckets != 0 && good - good / 13 <= any ? best->good : best->any;
}

/* Compares the shapes with buckets of b that the options allow with the best ones so far. */
static void consider_bucket_size(unsigned b, const cf_options *options, const request *want,
                                 choice *best)
{
    unsigned least = least_fingerprint(b, options->growth), wanted = options->fingerprint_bits;
    bool given = options->bucket_size != 0;
    if (given ? b != options->bucket_size : b == 1 || (wanted != 0 && wanted < least))
        return;
    for (unsigned f = wanted ? wanted : least; f <= (wanted ? wanted : CF_FINGERPRINT_MAX); f++)
        if (given || !options->growth || !grows_loosely(b, f))
            consider_table(b, f, options, want, best);
}

static cf_geometry smallest_of(const cf_options *options, const request *want)
{
    static const unsigned sizes[] = {4, 2, 8, 1}; /* of equal bytes the first wins */
    choice best = {{0}, {0}};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        consider_bucket_size(sizes[i], options, want, &best);
    return chosen_shape(&best);
}

/* What the options and the request ask for; buckets is 0 when there is no such shape. With fingerprints
** of more than 16 bits all that is done takes less time in plain buckets: they are taken where they cost
** at most three in a hundred bytes. */
static cf_geometry smallest(const cf_options *options, const request *want)
{
    enum { LONG = 17, PLAIN = 100, SEMISORTED = 103 };
    cf_geometry shape = smallest_of(options, want);
    if (options->layout != CF_LAYOUT_AUTO || !shape.semisorted || shape.fingerprint_bits < LONG)
        return shape;
    cf_options plainly = *options;
    plainly.layout = CF_LAYOUT_PLAIN;
    cf_geometry plain = smallest_of(&plainly, want);
    bool fits =
        plain.buckets > 0 && cf_geometry_bytes(&plain) * PLAIN <= cf_geometry_bytes(&shape) * SEMISORTED;
    return fits ? plain : shape;
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
    return cf_refuse(CF_BAD_ARGUMENT, why, "fpr is too small: fingerprints of 32 bits reach about 1e-9");
}

cf_status cf_plan(uint64_t capacity, double fpr, const cf_options *options, cf_geometry *plan,
                  const char **why)
{
    cf_status status = check_request(capacity, fpr, options, why);
    if (status != CF_OK)
        return status;
    request want = {capacity ? capacity : 1, rate_of(fpr), capacity ? capacity : 1};
    want.keys = cf_planned_entries(want.keys, options->epochs);
    if (fpr > 0 && want.rate == 0)
        want.rate = 1;
    cf_geometry best = smallest(options, &want);
    if (best.buckets == 0)
        return refuse_plan(options, want, why);
    *plan = best;
    return CF_OK;
}
