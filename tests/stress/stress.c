/* SPDX-License-Identifier: MIT */
/*
** stress.c - filters that grow, merge and forget, with collisions made likely.
**
**      stress [operations per configuration | long] [configuration]    last line: N passed, N failed
**      stress shapes SECONDS       short lives of filters of any shape, for so long: lives.h
**      stress life SEED            one of them again
**
** A configuration is a bucket size, a kind of payload and a style of universe (universe.h). It is
** run as a row of lives. Each life has a shape of its own with short fingerprints, and a few keys;
** it adds, deletes, splits, merges, reopens, shrinks and clears at random beside an exact model
** (model.h); in the end it deletes all that is present. Then come the merges: filters of different
** levels, in both orders.
**
** An add that is refused must change nothing. When many hashes agree in all that a level can tell
** apart, or entries know next to nothing beyond the pair bits, or memory is refused, that may
** happen often. When the hashes are scattered and the shape is one that the planner makes, next to
** never: the few keys live long here, and now and then some of them crowd a pair.
*/
#include "directed.h"
#include "lives.h"

enum {
    SHORT_RUN = 2500, /* operations of a configuration */
    LONG_RUN = 100000,
    MOST_SLOTS = 1 << 13, /* a life ends before its table is larger */
    CHECK_SOUND_EVERY = 100,
    MOST_REFUSED_ONE_IN = 100, /* adds, when the shape is as planned */
    FEW_KEYS = 20
};

/* ---- configurations ---- */

typedef struct payload {
    unsigned counter_bits, value_bits;
} payload;

static const unsigned bucket_sizes[] = {2, 4, 8};
static const payload payloads[] = {{0, 0}, {1, 0}, {2, 0}, {4, 0}, {0, 2}, {0, 3}};

enum {
    SIZES = sizeof bucket_sizes / sizeof *bucket_sizes,
    PAYLOADS = sizeof payloads / sizeof *payloads,
    CONFIGURATIONS = SIZES * PAYLOADS * STYLES
};

/* Pair bits and fingerprint as the planner has them, and a number of buckets as it chooses them. */
static void as_planned(cf_geometry *shape)
{
    unsigned f = shape->bucket_size == 2 ? 12 : (unsigned)random_between(8, 10);
    shape->fingerprint_bits = (uint8_t)f;
    shape->pair_bits = (uint8_t)(shape->bucket_size == 2 ? 8 : f - 4);
    shape->buckets = 2 * random_between(4, 8);
}

/* Any that are sound: entries may know nothing beyond their pair bits. */
static void tiny_bits(cf_geometry *shape)
{
    unsigned f = (unsigned)random_between(4, 10);
    shape->fingerprint_bits = (uint8_t)f;
    shape->pair_bits = (uint8_t)random_between(4, f);
}

static cf_geometry small_shape(unsigned b, payload with)
{
    cf_geometry shape = {.bucket_size = (uint8_t)b, .growth = true};
    shape.buckets = one_in(3) ? 2 : 2 * random_between(1, 8);
    shape.counter_bits = (uint8_t)with.counter_bits;
    shape.value_bits = (uint8_t)with.value_bits;
    shape.capacity = shape.buckets * b;
    return shape;
}

/* Copies that are exact: any number that is sound; or, as planned, one of those that are usual. */
static unsigned random_cap(const cf_geometry *shape, bool planned)
{
    unsigned b = shape->bucket_size, most = 2 * b;
    unsigned usual = b == 2 ? 2 : b == 4 ? 3 : 4;
    return planned ? usual + (b > 2 && one_in(2)) : (unsigned)random_between(1, most);
}

/* Small universes more often than large ones. */
static uint32_t random_keys(void)
{
    return (uint32_t)random_between(20, one_in(4) ? 2000 : one_in(2) ? 400 : 60);
}

/* Half of the buckets that can be are semi-sorted, a third of all have a spill list. */
static void random_layout(cf_geometry *shape)
{
    shape->semisorted = shape->bucket_size == 4 && shape->fingerprint_bits > 4 && one_in(2);
    if (one_in(3)) {
        shape->spill_bound = (uint16_t)random_between(1, one_in(2) ? 4 : 40);
        shape->budget = (uint8_t)(one_in(3) ? 0 : random_between(1, 10));
    }
}

static setup random_setup(unsigned configuration)
{
    bool planned = one_in(2);
    setup with = {.style = configuration % STYLES};
    configuration /= STYLES;
    with.shape = small_shape(bucket_sizes[configuration / PAYLOADS], payloads[configuration % PAYLOADS]);
    planned ? as_planned(&with.shape) : tiny_bits(&with.shape);
    with.shape.cap = (uint8_t)random_cap(&with.shape, planned);
    random_layout(&with.shape);
    with.keys = random_keys();
    with.scarce = one_in(6);
    with.planned = planned && with.style == SCATTERED && !with.scarce;
    with.most_copies = one_in(3) ? UINT32_MAX : (uint32_t)random_between(1, 3);
    with.split_one_in = one_in(3) ? 2000 : (uint32_t)random_between(50, 400);
    return with;
}

/* Hardly more than share a pair of buckets, and all used often. */
static void few_keys(setup *with)
{
    with->style = CLUMPED;
    with->planned = false;
    with->keys = (uint32_t)random_between(3, 8);
    with->shape.buckets = one_in(2) ? 2 : 4;
    with->shape.cap = (uint8_t)random_cap(&with->shape, false);
}

/* ---- one life ---- */

/* Values of one key. Its copies must fit into its pair of buckets: no splitting parts them. */
static uint32_t values_of_a_key(const setup *with)
{
    uint32_t most = with->shape.bucket_size / with->shape.cap;
    return !with->planned || most > values_of(with) ? values_of(with) : most;
}

/* A key and value: now and then one of a few that are used often. */
static pair_id random_pair(const setup *with)
{
    uint32_t values = values_of(with), first = one_in(8) ? 0 : (uint32_t)random_below(with->keys);
    uint32_t key = first ? first : (uint32_t)random_below(with->keys < 3 ? with->keys : 3);
    return key * values + (key + (uint32_t)random_below(values_of_a_key(with))) % values;
}

/* Splits beyond need, but not so many that the table is nearly empty: a filter may then refuse to
** grow.
** */
static void split_early(subject *s)
{
    uint64_t slots = slots_of(s), steps = one_in(4) ? s->filter.buckets : random_between(1, 4);
    if (slots < 6 * s->filter.occupied && slots < MOST_SLOTS / 2)
        split(s, steps);
}

/* Another filter of the same keys. */
static subject another(const setup *with, const uint64_t *hash)
{
    subject made = new_subject(with, hash);
    uint64_t n = random_below(with->keys < FEW_KEYS ? 60 : 2 * with->keys), keep = random_between(1, 4);
    for (uint64_t i = 0; i < n && !failed && slots_of(&made) < MOST_SLOTS / 2; i++) {
        add(&made, random_pair(with));
        if (made.n > 0 && one_in(keep + 1))
            take(&made);
        if (one_in(64))
            split_early(&made);
    }
    return made;
}

/* Adds another filter to this one, or this one to the other. */
static void merge_with_another(subject *s)
{
    subject other = another(s->with, s->hash), *into = s, *from = &other;
    if (one_in(2))
        into = &other, from = s;
    memory_is_scarce = s->with->scarce && one_in(2);
    merge(into, from);
    memory_is_scarce = false;
    free_subject(from);
    if (into == &other)
        *s = other;
}

static void step(subject *s, unsigned add_percent)
{
    if (one_in(s->with->split_one_in))
        split_early(s);
    else if (one_in(400))
        reopen(s);
    else if (one_in(s->with->keys < FEW_KEYS ? 100 : 600) && slots_of(s) < MOST_SLOTS / 4)
        merge_with_another(s);
    else if (one_in(200))
        shrink(s);
    else if (one_in(5000))
        clear(s);
    else if (s->n == 0 || random_below(100) < add_percent)
        add(s, random_pair(s->with));
    else
        take(s);
}

static void note_size(const subject *s)
{
    if (s->filter.level > total.level)
        total.level = s->filter.level;
}

/* All is checked often enough that a loss is found near its cause, and seldom enough to be
** quick. */
static void live(subject *s, uint64_t operations)
{
    unsigned add_percent = 70;
    uint64_t every = 1 + s->with->keys / 16, sound_every = CHECK_SOUND_EVERY;
    for (uint64_t i = 1; i <= operations && !failed && slots_of(s) < MOST_SLOTS; i++) {
        if (i % 200 == 0)
            add_percent = (unsigned)random_between(25, 75);
        step(s, add_percent);
        if (i % every == 0)
            check_all_present(s);
        if (i % sound_every == 0)
            check_sound(s);
        sound_every = CHECK_SOUND_EVERY + slots_of(s) / 8;
        note_size(s);
    }
}

/* Deletes all that is present; what stays are entries of sticky keys, and halves of void ones. */
static void die(subject *s)
{
    bool grown = s->filter.view.grown;
    total.peak_slots += s->filter.occupied;
    total.planned_peak += s->with->planned ? s->filter.occupied : 0;
    while (s->n > 0 && !failed) {
        take(s);
        if (s->n % 64 == 0)
            check_all_present(s);
    }
    if (!failed)
        check_sound(s);
    if (!failed && !grown && !s->orphans && s->filter.occupied > 0)
        FAIL("%llu slots stay occupied", (unsigned long long)s->filter.occupied);
    total.left_slots += s->filter.occupied;
    total.planned_left += s->with->planned ? s->filter.occupied : 0;
    total.lives++;
}

static void run_life(const setup *with, uint64_t operations)
{
    uint64_t *hash = new_universe(with);
    subject s = new_subject(with, hash);
    running = with;
    live(&s, operations);
    die(&s);
    running = NULL;
    free_subject(&s);
    free(hash);
}

static void run_configuration(unsigned configuration, uint64_t operations)
{
    uint64_t end = total.operations + operations;
    uint64_t adds = total.planned_adds, refused = total.planned_refused;
    while (total.operations < end && !failed) {
        setup with = random_setup(configuration);
        if (one_in(4))
            few_keys(&with);
        uint64_t life = one_in(8) ? 20000 : random_between(100, 3000);
        run_life(&with, least(life, end - total.operations));
    }
    adds = total.planned_adds - adds;
    refused = total.planned_refused - refused;
    if (refused > 2 + adds / MOST_REFUSED_ONE_IN)
        FAIL("%llu of %llu adds refused, with shapes as planned", (unsigned long long)refused,
             (unsigned long long)adds);
}

/* ---- merges across levels ---- */

/* The sum of two in this order; then all is deleted. Neither of the two is changed. */
static void merge_and_die(const subject *one, const subject *other)
{
    subject sum = copy_of(one);
    if (!failed)
        merge(&sum, other);
    note_size(&sum);
    die(&sum);
    free_subject(&sum);
}

static void merge_both_ways(const setup *with)
{
    uint64_t *hash = new_universe(with);
    running = with;
    subject one = another(with, hash), other = another(with, hash);
    for (unsigned i = 0; i < 3; i++)
        split_early(&one);
    merge_and_die(&one, &other);
    merge_and_die(&other, &one);
    free_subject(&one);
    free_subject(&other);
    running = NULL;
    free(hash);
}

static void run_merges(uint64_t operations)
{
    uint64_t end = total.operations + operations;
    while (total.operations < end && !failed) {
        setup with = random_setup((unsigned)random_below(CONFIGURATIONS));
        if (one_in(2))
            few_keys(&with);
        merge_both_ways(&with);
    }
}

/* ---- all of it ---- */

static bool run_one(unsigned number, uint64_t operations)
{
    random_state = random_seed + number * UINT64_C(0xd1342543de82ef95);
    failed = false;
    if (number < CONFIGURATIONS)
        run_configuration(number, operations);
    else if (number == CONFIGURATIONS)
        run_merges(8 * operations);
    else
        run_directed(number - CONFIGURATIONS - 1);
    if (failed)
        fprintf(stderr, "  in configuration %u\n", number);
    return !failed;
}

static void print_number(const char *what, uint64_t n)
{
    printf("%-32s %12llu\n", what, (unsigned long long)n);
}

static void print_totals(void)
{
    print_number("operations", total.operations);
    print_number("adds", total.adds);
    print_number("deletes", total.deletes);
    print_number("sticky no-ops", total.sticky);
    print_number("splits by hand and by merging", total.splits);
    print_number("highest level", total.level);
    print_number("merges", total.merges);
    print_number("merges refused", total.merges_refused);
    print_number("adds refused", total.refused);
    print_number("  as memory was", total.no_memory);
    print_number("  of adds as planned", total.planned_adds);
    print_number("  refused of these", total.planned_refused);
    print_number("  compared with before, bytes", total.unchanged_compared);
    print_number("reopened", total.reopened);
    print_number("cleared", total.cleared);
    print_number("shrunk", total.shrunk);
    print_number("lives", total.lives);
    print_number("slots occupied before the end", total.peak_slots);
    print_number("  after all is deleted", total.left_slots);
    print_number("as planned: before", total.planned_peak);
    print_number("  after", total.planned_left);
    print_number("false negatives", total.false_negatives);
    print_number("lost deletes", total.lost_deletes);
    print_number("other failures", total.other_failures);
}

/* A slice of shapes is another one in each run (tests/run.sh). */
static uint64_t seed_of_run(bool slice)
{
    const char *given = getenv("CUCKOO_TEST_SEED");
    if (given == NULL && slice)
        given = getenv("CUCKOO_SLICE");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 20140214;
    fprintf(stderr, "random seed %llu\n", (unsigned long long)seed);
    return seed;
}

int main(int n, char **argument)
{
    bool given = n > 1 && strcmp(argument[1], "long") != 0;
    bool shapes = n > 2 && strcmp(argument[1], "shapes") == 0;
    uint64_t operations = given ? strtoull(argument[1], NULL, 0) : n > 1 ? LONG_RUN : SHORT_RUN;
    unsigned first = 0, last = CONFIGURATIONS + DIRECTED, passed = 0;
    random_seed = seed_of_run(shapes);
    if (shapes)
        return run_shapes(strtod(argument[2], NULL));
    if (n > 2 && strcmp(argument[1], "life") == 0)
        return !run_life_of(strtoull(argument[2], NULL, 0));
    if (n > 2)
        first = last = (unsigned)strtoul(argument[2], NULL, 0);
    if (operations == 0 || last > CONFIGURATIONS + DIRECTED) {
        fprintf(stderr, "stress [operations per configuration | long] [0 to %u]: nothing was tested\n",
                (unsigned)(CONFIGURATIONS + DIRECTED));
        return 2;
    }
    for (unsigned i = first; i <= last; i++)
        passed += run_one(i, operations);
    print_totals();
    printf("%u passed, %u failed\n", passed, last - first + 1 - passed);
    return passed < last - first + 1;
}
