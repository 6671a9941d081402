/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/cuckoo_key.h"

#include <math.h>

static cf_geometry rule_of(cf_affinity affinity, cf_collation collation)
{
    return (cf_geometry){.seed = 3, .affinity = (uint8_t)affinity, .collation = (uint8_t)collation};
}

static cf_key text(const char *words)
{
    return cf_key_text(words, strlen(words));
}

/* Content and room in blocks of exactly their size: a sanitizer sees what lies beyond them. `in_place`:
** the room is where the content is. */
static uint64_t hash_of(const cf_geometry *rule, cf_key key, bool in_place)
{
    if (!cf_key_apply_sure(rule, &key))
        fail_msg("no hash of '%.*s'", (int)key.length, (const char *)key.content);
    size_t room = cf_key_room(rule, &key), n = key.length;
    uint8_t *content = malloc(n + (in_place ? room : 0) + 1), *other = malloc(room + 1);
    assert_true(content && other);
    if (n > 0)
        memcpy(content, key.content, n);
    key.content = content;
    uint64_t hash = cf_key_hash(rule, &key, in_place ? content : other);
    free(content);
    free(other);
    return hash;
}

static void assert_same(const cf_geometry *rule, cf_key one, cf_key other, bool same)
{
    uint64_t hash = hash_of(rule, one, false);
    assert_true(hash == hash_of(rule, one, true));
    assert_true((hash == hash_of(rule, other, true)) == same);
}

TEST(values_without_a_rule)
{
    cf_geometry none = rule_of(CF_AFFINITY_NONE, CF_COLLATION_BINARY);
    assert_same(&none, cf_key_integer(1), cf_key_real(1), true);
    assert_same(&none, cf_key_real(0), cf_key_real(-0.0), true);
    assert_same(&none, cf_key_integer((1ll << 53) + 1), cf_key_real(9007199254740992.0), false);
    assert_same(&none, cf_key_integer(INT64_MIN), cf_key_real(-9223372036854775808.0), true);
    assert_same(&none, cf_key_real(INFINITY), cf_key_real(-INFINITY), false);
    assert_same(&none, cf_key_integer(1), text("1"), false);
    assert_same(&none, text("a"), cf_key_blob("a", 1), false);
    assert_same(&none, text(""), cf_key_blob(NULL, 0), false);
    assert_same(&none, text("a "), text("a"), false);
    assert_true(hash_of(&none, text("ada"), false) == cf_hash_prefixed(&none, CF_KEY_TEXT, "ada", 3));
    assert_true(hash_of(&none, cf_key_real(7), false) == cf_hash_words(&none, CF_KEY_INTEGER, 7));
}

/* Texts that are the number 1200 under each affinity, and what is none. */
TEST(numbers_in_texts)
{
    static const char *const same[] = {"1200",  " 1200 ", "+1200",     "1200.",
                                       "1.2e3", "12E+2",  "\t001200\n"};
    static const char *const others[] = {"0x4b0", "1_200", "1200x", "1 200",  "1,200",  "",
                                         "e3",    "1.2e",  "1200e", "1200e+", "1200.0."};
    for (int affinity = CF_AFFINITY_TEXT; affinity <= CF_AFFINITY_REAL; affinity++) {
        cf_geometry rule = rule_of((cf_affinity)affinity, CF_COLLATION_NOCASE);
        for (size_t i = 0; i < sizeof same / sizeof *same; i++)
            assert_same(&rule, text(same[i]), cf_key_integer(1200), true);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            assert_same(&rule, text(others[i]), cf_key_integer(1200), false);
        assert_same(&rule, text("43722338363512900e-2"), cf_key_integer(437223383635129), true);
        assert_same(&rule, cf_key_text("12\0x", 4), cf_key_integer(12), true);
        assert_same(&rule, cf_key_text("123", 2), cf_key_integer(12),
                    true); /* what follows is not read */
        assert_same(&rule, cf_key_text("12e2", 2), cf_key_integer(12), true);
        assert_same(&rule, cf_key_text("12 ", 2), cf_key_integer(12), true);
        assert_same(&rule, text("+"), cf_key_integer(0), false);
        assert_same(&rule, text("."), cf_key_integer(0), false);
        assert_same(&rule, cf_key_blob("12", 2), cf_key_integer(12), false);
        assert_same(&rule, text("-2.50"), cf_key_real(-2.5), affinity != CF_AFFINITY_TEXT);
        assert_same(&rule, cf_key_integer((1ll << 53) + 1), cf_key_integer(1ll << 53),
                    affinity == CF_AFFINITY_REAL);
    }
}

/* Which texts are told alike by all versions of SQLite. */
TEST(texts_that_versions_read_differently)
{
    static const struct {
        const char *words;
        bool as_text, as_number;
    } given[] = {{"0.1234", true, true},
                 {"0.12345", true, false},
                 {"99999999999.9999", true, true},
                 {"999999999999.9999", true, false},
                 {"1e18", true, true},
                 {"1e19", true, false},
                 {"9223372036854775807", true, true},
                 {"9223372036854775808", false, false},
                 {"99999999999999999999", true, false},
                 {"10000000000000000000", true, false},
                 {"1000000000000000000.1", true, true},
                 {"1234567890123456.5", false, false},
                 {"1e400", true, false},
                 {"1e-400", true, false},
                 {"0e400", true, true}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        for (int affinity = CF_AFFINITY_NONE; affinity <= CF_AFFINITY_REAL; affinity++) {
            cf_geometry rule = rule_of((cf_affinity)affinity, CF_COLLATION_BINARY);
            cf_key key = text(given[i].words), before = key;
            bool sure = affinity == CF_AFFINITY_NONE   ? true
                        : affinity == CF_AFFINITY_TEXT ? given[i].as_text
                                                       : given[i].as_number;
            if (cf_key_apply_sure(&rule, &key) != sure)
                fail_msg("%s under %d", given[i].words, affinity);
            assert_true(sure || (key.content == before.content && key.type == CF_KEY_TEXT));
        }
}

TEST(a_real_that_the_caller_reads)
{
    cf_geometry numeric = rule_of(CF_AFFINITY_NUMERIC, CF_COLLATION_BINARY);
    cf_geometry as_text = rule_of(CF_AFFINITY_TEXT, CF_COLLATION_BINARY);
    cf_key key = text("1234567890123456.5");
    assert_false(cf_key_apply(&numeric, &key));
    cf_key_apply_real(&numeric, &key, 1234567890123456.5);
    assert_same(&numeric, key, cf_key_real(1234567890123456.5), true);
    key = text("1234567890123456.5");
    assert_false(cf_key_apply(&as_text, &key));
    cf_key_apply_real(&as_text, &key, 1234567890123456.5);
    assert_int_equal(key.type, CF_KEY_TEXT);
    cf_key_apply_real(&as_text, &key, 1234567890123456.0);
    assert_same(&as_text, key, cf_key_integer(1234567890123456), true);
    static const char *const read_as_reals[] = {"1e15", "1234567890123456e0", "1234567890123456."};
    for (size_t i = 0; i < sizeof read_as_reals / sizeof *read_as_reals; i++) {
        key = text(read_as_reals[i]);
        assert_false(cf_key_apply(&as_text, &key));
    }
    assert_true(cf_key_is_vague(0.5) && cf_key_is_vague(1e15) && cf_key_is_vague(-INFINITY));
    assert_false(cf_key_is_vague(999999999999999.0) || cf_key_is_vague(-0.0));
}

/* Under TEXT, what has a point or an exponent: to 15 digits, halves upwards. */
TEST(texts_that_are_rounded)
{
    cf_geometry rule = rule_of(CF_AFFINITY_TEXT, CF_COLLATION_BINARY);
    assert_same(&rule, text("100000000000000.05"), cf_key_integer(100000000000000), true);
    assert_same(&rule, text("123456789012345.5"), cf_key_integer(123456789012346), true);
    assert_same(&rule, text("123456789012345.4"), cf_key_integer(123456789012345), true);
    assert_same(&rule, text("1e-400"), cf_key_integer(0), true);
    assert_same(&rule, text("1e-290"), cf_key_integer(0), false);
}

/* What silence would hide: by the types that were noted, and the type of the key. */
TEST(keys_that_cannot_have_been_meant)
{
    const cf_key of_types[] = {cf_key_integer(5), cf_key_real(2.5), text(" 7.0 "), text("abc"),
                               cf_key_blob("5", 1)};
    const unsigned types[] = {CF_TYPE_NUMBER, CF_TYPE_NUMBER, CF_TYPE_TEXT, CF_TYPE_TEXT, CF_TYPE_BLOB};
    /* for each key: a bit for each value of key_types with which it fits; without an affinity, and with one */
    const unsigned fits[][2] = {{0xeb, 0xef}, {0xeb, 0xef}, {0xed, 0xef}, {0xef, 0xef}, {0xf1, 0xf1}};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned noted = 0; noted < 8; noted++)
            for (unsigned affinity = 0; affinity < 4; affinity++)
                for (unsigned inexact = 0; inexact < 16; inexact += 8) {
                    cf_geometry rule = rule_of((cf_affinity)affinity, CF_COLLATION_BINARY);
                    rule.key_types = (uint8_t)(noted | inexact);
                    assert_int_equal(cf_key_type(&of_types[i]), types[i]);
                    assert_int_equal(cf_key_fits(&rule, &of_types[i]),
                                     fits[i][affinity != 0] >> noted & 1);
                }
}

TEST(collations)
{
    cf_geometry nocase = rule_of(CF_AFFINITY_NONE, CF_COLLATION_NOCASE);
    cf_geometry rtrim = rule_of(CF_AFFINITY_NONE, CF_COLLATION_RTRIM);
    assert_same(&nocase, text("aZ@[`{"), text("Az@[`{"), true);
    assert_same(&nocase, text("\xc3\xa4"), text("\xc3\x84"), false);
    assert_same(&nocase, text("@"), text("`"), false);
    assert_same(&nocase, text("["), text("{"), false);
    assert_same(&nocase, text("a"), text("a "), false);
    assert_same(&nocase, cf_key_text("a\0b", 3), cf_key_text("b\0b", 3), false);
    assert_same(&nocase, cf_key_text("a\0b", 3), cf_key_text("A\0c", 3), true);
    assert_same(&nocase, cf_key_text("a\0b", 3), cf_key_text("A\0bc", 4), false);
    assert_same(&nocase, cf_key_text("a\0", 2), text("a"), false);
    assert_same(&nocase, text(""), cf_key_text("\0", 1), false);
    assert_same(&nocase, cf_key_blob("a", 1), cf_key_blob("A", 1), false);
    assert_same(&rtrim, text("a  "), text("a"), true);
    assert_same(&rtrim, text("  "), text(""), true);
    assert_same(&rtrim, text(" a"), text("a"), false);
    assert_same(&rtrim, text("a\t"), text("a"), false);
    assert_same(&rtrim, text("a"), text("A"), false);
    assert_same(&rtrim, cf_key_blob("a ", 2), cf_key_blob("a", 1), false);
    cf_key spaces = cf_key_text(&"   "[1], 2); /* there is one before it */
    assert_true(cf_key_hash(&rtrim, &spaces, NULL) == hash_of(&rtrim, text(""), false));
}
