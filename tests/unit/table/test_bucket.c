/* SPDX-License-Identifier: MIT */
/* Buckets of every form beside naive ones, which are read and written a bit at a time, as format.h, tag.h and
** semisort.h describe them: whatever lies in them and around them, at the very end of a blob, by pages; and lookups.
** Each form comes with one number of pair bits; CUCKOO_WHOLE=1: with every one. */
#include "../test.h"

#include "../../../src/filter/quick.h"
#include "../../../src/table/epochs.h"
#include "../../probe.h"

enum { HEADER = 64, BEHIND = 8, NIBBLE = 4, CODES = 3876, AWAY = 0xa5, KEYS = 40 };

typedef struct content {
    struct slot {
        uint64_t tag, payload;
    } slot[CF_BUCKET_MAX];
    uint64_t code, overflow;
} content;

static cf_filter filter; /* what is tested */
static uint8_t *then;    /* a blob of the same length: what is right */
static uint64_t like;    /* the pair bits of many tags */
static cf_kind
    kinds[3]; /* that suit the form at hand, which is, in bits (top_bits: of a slot, behind the code): */
static unsigned kind_count, f, s, b, slot_bits, code_bits, below, top_bits, overflow_bits, payload_bits;
static unsigned overflow_at, payloads_at, bits;
static bool semi, grown;
static uint64_t nibbles_of[1 << 12]; /* of each code */
static unsigned long long compared;
static struct {
    uint64_t needs, changes, from, to, bytes;
} told; /* by the filter */

static void differs(int line, const char *what)
{
    const cf_geometry *g = &filter.geometry;
    fail_msg("line %d: %s: f=%u b=%u s=%u semisorted=%u counter=%u value=%u epochs=%u list=%u m0=%u "
             "level=%u split=%u",
             line, what, f, b, s, semi, g->counter_bits, g->value_bits, g->epochs, g->stash_size,
             (unsigned)g->buckets, filter.level, (unsigned)filter.split);
}

#define CHECK(condition) (compared++, (condition) ? (void)0 : differs(__LINE__, #condition))

/* ---- naive buckets ---- */

static uint64_t ones(unsigned n)
{
    return ((uint64_t)1 << n) - 1;
}

static uint64_t get(const uint8_t *blob, uint64_t at, unsigned n)
{
    uint64_t x = 0;
    while (n-- > 0)
        x = x << 1 | (blob[HEADER + (at + n) / 8] >> (at + n) % 8 & 1);
    return x;
}

static void put(uint64_t at, unsigned n, uint64_t x)
{
    for (uint8_t *table = then + HEADER; n > 0; n--, at++, x >>= 1)
        table[at / 8] = (uint8_t)((table[at / 8] & ~(1u << at % 8)) | (x & 1) << at % 8);
}

static content read_naively(uint64_t bucket)
{
    uint64_t at = bucket * bits;
    content c = {.code = get(then, at, code_bits),
                 .overflow = get(then, at + overflow_at, overflow_bits)};
    for (unsigned i = 0; i < b; i++) {
        uint64_t top = get(then, at + code_bits + i * top_bits, top_bits);
        c.slot[i].tag = top << below | (nibbles_of[c.code] >> i % 4 * NIBBLE & ones(below));
        c.slot[i].payload = get(then, at + payloads_at + i * payload_bits, payload_bits);
    }
    return c;
}

/* By nibble, then by the rest, then by payload. */
static int compare(const void *one, const void *other)
{
    const struct slot *x = one, *y = other;
    uint64_t i = x->tag << 60 | x->tag >> NIBBLE, j = y->tag << 60 | y->tag >> NIBBLE;
    return i != j ? (i > j) - (i < j) : (x->payload > y->payload) - (x->payload < y->payload);
}

static void write_naively(uint64_t bucket, content c)
{
    uint64_t at = bucket * bits, nibbles = 0;
    if (semi)
        qsort(c.slot, b, sizeof *c.slot, compare);
    for (unsigned i = 0; i < b; i++) {
        nibbles |= (c.slot[i].tag & ones(below)) << i % 4 * NIBBLE;
        put(at + code_bits + i * top_bits, top_bits, c.slot[i].tag >> below);
        put(at + payloads_at + i * payload_bits, payload_bits, c.slot[i].payload);
    }
    for (c.code = 0; nibbles_of[c.code] != nibbles;)
        c.code++;
    put(at, code_bits, c.code);
    put(at + overflow_at, overflow_bits, c.overflow);
}

/* Bits that a slot knows: those below its terminator; without one, pair bits. */
static unsigned known_bits(uint64_t stored)
{
    unsigned known = slot_bits;
    while (grown && known > s && !(stored >> known & 1))
        known--;
    return known;
}

static bool agrees(uint64_t stored, uint64_t tag)
{
    return stored != 0 && ((stored ^ tag) & ones(known_bits(stored))) == 0;
}

/* ---- what lies in buckets ---- */

static uint64_t random_tag(void)
{
    uint64_t tag = random64() & ones(1 + (unsigned)random_below(slot_bits));
    return random_below(2) ? (tag & ~ones(s)) | like : tag;
}

static content random_content(void)
{
    content c = {.overflow = random64() & overflow_bits};
    unsigned most = (unsigned)random_below(2) * payload_bits;
    for (unsigned i = 0; i < b; i++) {
        c.slot[i].tag = random_below(3) == 0            ? 0
                        : i > 0 && random_below(3) == 0 ? c.slot[i - 1].tag
                                                        : random_tag();
        c.slot[i].payload = c.slot[i].tag == 0 ? 0 : random64() & ones((unsigned)random_below(most + 1));
    }
    return c;
}

static void synchronize(void)
{
    memcpy(bytes_of(&filter), then, filter.length);
}

/* Any bytes, ones, few bits; and sound buckets, or these alone. */
static void fill(unsigned from)
{
    like = random64() & ones(s);
    for (uint64_t bucket = 0; bucket < filter.buckets; bucket++) {
        uint64_t how = from + random_below(5 - from);
        for (unsigned i = 0; i < bits; i++)
            put(bucket * bits + i, 1, how == 1 || (how == 0 ? random64() : random64() % 8 == 0));
        if (how > 2)
            write_naively(bucket, random_content());
    }
    for (unsigned i = 1; i <= BEHIND; i++)
        then[filter.length - i] = (uint8_t)random64();
    memset(&told, 0, sizeof told);
}

/* ---- the pager: bytes come when it is told of them ---- */

static void need(void *context, uint64_t from, uint64_t to)
{
    (void)context, told.needs++, told.from = from, told.to = to, told.bytes += to - from;
    memcpy(bytes_of(&filter) + from, then + from, to - from);
}

static void change(void *context, uint64_t from, uint64_t to)
{
    need(context, from, to), told.needs--, told.changes++;
}

static const cf_pages pager = {need, change, NULL, NULL};

/* It was told so many times of the bytes of a bucket, and of no others. Then they are away again. */
static void check_told(uint64_t bucket, uint64_t needs, uint64_t changes)
{
    uint64_t from = HEADER + bucket * bits / 8, to = HEADER + (bucket * bits + bits + 7) / 8;
    CHECK(told.needs == needs && told.changes == changes &&
          told.bytes == (needs + changes) * (to - from));
    CHECK(needs + changes == 0 || (told.from == from && told.to == to));
    memset(&told, 0, sizeof told);
    memset(bytes_of(&filter) + from, AWAY, to - from);
}

/* ---- reading ---- */

/* A look at a bucket whose bytes are away asks for them so many times. */
#define READ(bucket, times, condition) (CHECK(condition), check_told(bucket, times, 0))

static void check_reading(uint64_t bucket)
{
    content c = read_naively(bucket);
    cf_contents record;
    unsigned lane;
    int empty = -1; /* the first; of semi-sorted slots it comes before others, or there is none */
    check_told(bucket, 0, 0);
    READ(bucket, 1, (cf_bucket_read(&filter, bucket, &record), true));
    for (unsigned i = b; i-- > 0;) {
        empty = c.slot[i].tag == 0 && (!semi || i == 0) ? (int)i : empty;
        CHECK(record.tag[i] == c.slot[i].tag && record.payload[i] == c.slot[i].payload);
        READ(bucket, 1, cf_slot_get(&filter, bucket, i) == c.slot[i].tag);
        READ(bucket, payload_bits != 0, cf_payload_get(&filter, bucket, i) == c.slot[i].payload);
    }
    READ(bucket, overflow_bits, cf_overflow_get(&filter, bucket) == c.overflow);
    if (filter.geometry.epochs == 0)
        READ(bucket, 1, cf_bucket_usable_slot(&filter, bucket) == empty);
    synchronize();
    for (unsigned k = 0; k < kind_count; k++) {
        CHECK(cf_empty_by(kinds[k], &filter, bucket * bits, &lane) == (empty >= 0));
        CHECK(empty < 0 || lane == (unsigned)empty * top_bits);
        cf_tags_by(kinds[k], &filter, bucket * bits, record.tag);
        for (unsigned i = 0; i < b; i++)
            CHECK(record.tag[i] == c.slot[i].tag);
    }
    for (unsigned i = 1; i < b && semi; i++)
        c.slot[i].payload = c.slot[i - 1].payload,
        c.code |= compare(&c.slot[i - 1], &c.slot[i]) > 0 ? CODES : 0;
    CHECK(!semi ||
          cf_semisort_in_order(get(then, bucket * bits, code_bits), record.tag) == (c.code < CODES));
}

/* What a key may ask for: without terminators never 0. */
static uint64_t tag_to_ask(uint64_t stored)
{
    uint64_t tag = random_below(4) ? stored : random_tag(), bit = random_below(3) == 0;
    unsigned known = grown && random_below(2) ? known_bits(tag) : slot_bits;
    tag = ((tag & ones(known)) | random64() << known) ^ bit << random_below(slot_bits);
    return (tag & ones(slot_bits)) == 0 && !grown ? 1 : tag & ones(slot_bits);
}

static bool is_right(cf_found found, unsigned n, unsigned side, unsigned slot)
{
    bool here = found.side == side && found.lane == slot * top_bits;
    return n == 1 ? found.n == 1 && here : n == 0 ? found.n == 0 : found.n > 1;
}

/* The two sides of a key share their pair bits; a plain one that has none there has the same tag on both. */
static void check_matching(uint64_t x, uint64_t y)
{
    content c[2] = {read_naively(x), read_naively(y)};
    unsigned n = 0, alike = 0, near = 0, slots[2] = {0, 0}, side = 0, slot = 0;
    uint64_t tag = tag_to_ask(c[0].slot[random_below(b)].tag),
             there = tag_to_ask(c[1].slot[random_below(b)].tag);
    there = grown || (tag & ones(s)) != 0 ? (there & ~ones(s)) | (tag & ones(s)) : tag;
    cf_spot spots[2] = {{x * bits, tag, 0}, {y * bits, there, 0}};
    for (unsigned i = 0; i < 2 * b; i++) {
        uint64_t stored = c[i / b].slot[i % b].tag, top = (stored ^ spots[i / b].tag) >> below;
        bool same = agrees(stored, spots[i / b].tag);
        alike += top == 0, near += top <= 1;
        slots[i / b] |= (unsigned)same << i % b;
        if (same && n++ == 0)
            side = i / b, slot = i % b;
    }
    bool unclear = !grown && !semi && alike > 0 && near > 1; /* then it may say 2 */
    check_told(x, 0, 0);
    READ(x, 1, cf_bucket_find(&filter, x, tag) == slots[0]);
    synchronize();
    cf_found all = cf_find_all(&filter, spots[0].at, spots[1].at, tag, there);
    CHECK(is_right(all, n, side, slot) && all.n == n);
    for (unsigned k = 0; k < kind_count; k++) {
        cf_found found = cf_find_by(kinds[k], &filter, spots);
        CHECK(is_right(found, n, side, slot) || (unclear && found.n == 2));
        CHECK(cf_holds_by(kinds[k], &filter, spots) == (n > 0));
        CHECK(cf_slots_by(kinds[k], &filter, spots[1].at, there) == slots[1]);
    }
}

/* ---- writing ---- */

/* What comes of one slot of hostile semi-sorted ones is not known; only that nothing around them changes. */
static void check_writing(uint64_t bucket)
{
    enum { TAGS, RECORD, SLOT, SET, OVERFLOW };
    unsigned way = (unsigned)random_below(4 + overflow_bits), i = (unsigned)random_below(b);
    bool sound = way == TAGS || random_below(4) != 0;
    content c = sound ? random_content() : read_naively(bucket), d = random_content();
    cf_kind kind = kinds[random_below(kind_count)];
    uint64_t at = bucket * bits;
    cf_contents record;
    for (unsigned j = 0; j < b; j++) {
        if (way == TAGS) /* of a bucket whose payloads are 0 */
            c.slot[j].payload = d.slot[j].payload = 0;
        record.tag[j] = d.slot[j].tag, record.payload[j] = d.slot[j].payload;
    }
    if (sound)
        write_naively(bucket, c);
    c = read_naively(bucket);
    synchronize();
    check_told(bucket, 0, 0);
    if (way == TAGS)
        cf_store_by(kind, &filter, cf_bucket_to_change(&filter, bucket), record.tag, NULL);
    else if (way == RECORD)
        cf_bucket_write(&filter, bucket, &record);
    else if (way == SLOT)
        cf_bucket_set(&filter, bucket, i, d.slot[i].tag, d.slot[i].payload);
    else if (way == SET)
        cf_set_by(kind, &filter, cf_bucket_to_change(&filter, bucket), i * top_bits, d.slot[i].tag,
                  d.slot[i].payload);
    else
        cf_overflow_set(&filter, bucket, d.overflow);
    for (unsigned j = 0; j < b && way != OVERFLOW; j++)
        c.slot[j] = way < SLOT || j == i ? d.slot[j] : c.slot[j];
    if (way != OVERFLOW)
        write_naively(bucket, c);
    put(at + overflow_at, overflow_bits, way == OVERFLOW ? d.overflow : c.overflow);
    for (unsigned j = 0; j < bits && semi && !sound && (way == SLOT || way == SET); j++)
        put(at + j, 1, get(filter.bytes, at + j, 1));
    CHECK(memcmp(filter.bytes, then, filter.length) == 0);
    check_told(bucket, way == OVERFLOW, way != OVERFLOW || d.overflow != c.overflow);
    synchronize();
}

/* ---- whole lookups ---- */

static bool is_there(uint64_t hash)
{
    unsigned epochs = filter.geometry.epochs, n = 0;
    cf_pair pair = cf_candidates(&filter, hash);
    for (unsigned i = 0; i < 2 * b; i++) {
        struct slot slot = read_naively(pair.place[i / b].bucket).slot[i % b];
        n += agrees(slot.tag, pair.place[i / b].tag) &&
             (epochs == 0 || (filter.epoch - slot.payload) % 16 < epochs);
    }
    return n > 0;
}

/* Some keys have an entry in one of their buckets, and some nearly that. */
static void check_lookups(void)
{
    uint64_t hash[KEYS];
    bool answer[KEYS];
    fill(3);
    for (unsigned i = 0; i < KEYS; i++) {
        hash[i] = i % 8 ? random64() : random64() >> f << f;
        cf_place place = cf_candidates(&filter, hash[i]).place[random_below(2)];
        content c = read_naively(place.bucket);
        unsigned known = grown ? s + (unsigned)random_below(slot_bits - s) : slot_bits;
        uint64_t bit = random_below(3) == 0,
                 tag = (place.tag & ones(known)) ^ bit << random_below(known);
        tag |= (uint64_t)grown << known;
        c.slot[random_below(b)] = (struct slot){tag, tag == 0 ? 0 : random64() & ones(payload_bits)};
        if (i % 4)
            write_naively(place.bucket, c);
    }
    synchronize();
    cf_attach_pages(&filter, NULL);
    cf_set_epoch(&filter, random64() & ones(48));
    cf_contains_many(&filter, hash, KEYS, answer);
    for (unsigned i = 0; i < KEYS; i++) {
        bool right = is_there(hash[i]);
        cf_pair pair = cf_candidates(&filter, hash[i]);
        cf_spot spots[2];
        cf_spots_of(kinds[i % kind_count], &filter, hash[i], spots);
        CHECK(cf_contains(&filter, hash[i]) == right && cf_contains_any(&filter, hash[i]) == right);
        CHECK(answer[i] == right);
        for (unsigned side = 0; side < 2; side++) {
            CHECK(spots[side].at == pair.place[side].bucket * bits &&
                  spots[side].tag == pair.place[side].tag);
            CHECK(spots[side].extension == pair.place[side].extension);
        }
    }
    cf_attach_pages(&filter, &pager);
    for (unsigned i = 0; i < KEYS; i += 4) {
        memset(&told, 0, sizeof told);
        memset(bytes_of(&filter) + HEADER, AWAY, filter.length - HEADER);
        CHECK(cf_contains(&filter, hash[i]) == answer[i]);
        CHECK(filter.geometry.epochs || told.needs == 2);
    }
}

/* ---- all forms ---- */

static void set_form(const cf_geometry *g)
{
    b = g->bucket_size, f = g->fingerprint_bits, s = g->pair_bits, semi = g->semisorted;
    slot_bits = grown ? f + 5 : f, below = semi ? NIBBLE : 0, code_bits = 3 * below,
    top_bits = slot_bits - below;
    payload_bits = g->counter_bits ? g->counter_bits : g->epochs ? 4 : g->value_bits + grown;
    overflow_at = code_bits + b * top_bits, overflow_bits = g->stash_size != 0;
    payloads_at = overflow_at + overflow_bits, bits = payloads_at + b * payload_bits;
    const cf_form *form = &filter.view.form;
    kinds[0] = CF_KIND_ANY(form);
    kinds[1] = CF_KIND(semi, form->two, grown);
    kinds[2] = CF_KIND_WHOLE(semi, s == f);
    bool whole = !form->two && !grown && bits % 8 == 0 && payload_bits == 0;
    kind_count = form->any ? 1 : whole ? 3 : 2;
}

static void check_form(const cf_geometry *g)
{
    uint8_t *bytes = new_filter(*g).bytes;
    unsigned level = grown ? (unsigned)random_below(3) : 0;
    assert_int_equal(cf_open_writable(&filter, bytes, cf_geometry_bytes(g), &(const char *){NULL}),
                     CF_OK);
    filter.view.sealed = false; /* bytes of the header are not looked at */
    cf_set_stage(&filter, level, grown ? (level == 0) + random_below(g->buckets << level) : 0, grown);
    set_form(g);
    filter.length = HEADER + (filter.buckets * bits + 7) / 8 + BEHIND;
    bytes = realloc(bytes, filter.length);
    then = calloc(1, filter.length);
    cf_rebase(&filter, bytes, bytes);
    cf_attach_pages(&filter, &pager);
    fill(0);
    for (uint64_t bucket = 0; bucket < filter.buckets; bucket++) {
        check_reading(bucket);
        check_matching(bucket, (bucket + 1 + random_below(filter.buckets - 1)) % filter.buckets);
        check_writing(bucket);
    }
    check_lookups();
    free(bytes);
    free(then);
}

TEST(every_bucket_is_what_the_format_says)
{
    static const unsigned counters[9] = {1, 3, 16},
                          values[9] = {0, 0, 0, 1, 5, 7, 32}; /* then epochs, and nothing */
    unsigned codes = 0, n = 0, all = getenv("CUCKOO_WHOLE") != NULL;
    const char *why;
    for (unsigned x = 0; x < 1 << 16; x++) /* four nibbles in order; the last one counts most */
        if ((x & 15) <= (x >> 4 & 15) && (x >> 4 & 15) <= (x >> 8 & 15) && (x >> 8 & 15) <= x >> 12)
            nibbles_of[codes++] = x;
    assert_int_equal(codes, CODES);
    for (unsigned i = 0; i < (CF_FINGERPRINT_MAX + 1) * 5 * 9 * 4; i++) {
        unsigned width = i / 180, kind = i / 36 % 5, payload = i / 4 % 9, way = i % 4;
        grown = way == 3;
        cf_geometry g = {.buckets = (grown ? 2 : 8) + 2 * random_below(2),
                         .bucket_size = (uint8_t)(kind < 4 ? 1u << kind : 4),
                         .semisorted = kind == 4,
                         .fingerprint_bits = (uint8_t)width,
                         .pair_bits = (uint8_t)(all || width < 4 ? 4 : 4 + random_below(width - 3)),
                         .max_copies = 1,
                         .counter_bits = (uint8_t)counters[payload],
                         .value_bits = (uint8_t)values[payload],
                         .epochs = payload == 7 ? 3 : 0,
                         .stash_size = way == 1 ? 9 : 0,
                         .growth = way > 1};
        do
            if (cf_geometry_check(&g, &why) == CF_OK && is_asked_for(n++))
                check_form(&g);
        while (all && g.pair_bits++ < width);
    }
    fprintf(stderr, "%llu comparisons\n", compared);
}
