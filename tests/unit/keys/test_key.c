/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/include/cuckoo_key.h"

#include <locale.h>
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
    cf_key_apply(rule, &key);
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
        assert_same(&rule, text("inf"), cf_key_real(INFINITY), affinity == CF_AFFINITY_TEXT);
        assert_same(&rule, text("-Inf"), cf_key_real(-INFINITY), affinity == CF_AFFINITY_TEXT);
        assert_same(&rule, text("-Inf"), cf_key_real(INFINITY), false);
        assert_same(&rule, text("1e999"), cf_key_real(INFINITY), affinity != CF_AFFINITY_TEXT);
        assert_same(&rule, text("inf"), cf_key_real(1.5), false);
        assert_same(&rule, text("inf"), cf_key_integer(0x7ff0000000000000), false); /* the same bits */
        assert_same(&rule, cf_key_integer((1ll << 53) + 1), cf_key_integer(1ll << 53),
                    affinity == CF_AFFINITY_REAL);
    }
}

/* Which texts all versions of SQLite read alike. */
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
                 {"1000000000000000000.0", true, true},
                 {"1000000000000000000.1", false, false},
                 {"1234567890123456.5", false, false},
                 {"1e400", true, false},
                 {"1e-400", true, false},
                 {"word", true, true},
                 {"0e400", true, true}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        for (int affinity = CF_AFFINITY_NONE; affinity <= CF_AFFINITY_REAL; affinity++) {
            cf_geometry rule = rule_of((cf_affinity)affinity, CF_COLLATION_BINARY);
            cf_key key = text(given[i].words);
            bool number = affinity > CF_AFFINITY_TEXT, vague = cf_key_is_vague(&rule, &key);
            bool sure = number                         ? given[i].as_number
                        : affinity == CF_AFFINITY_TEXT ? given[i].as_text
                                                       : true;
            if (cf_key_apply(&rule, &key) == sure || vague != (number && !sure))
                fail_msg("%s under %d", given[i].words, affinity);
        }
}

/* A filter with a text that some version reads as another number: which keys may be that number? */
TEST(keys_that_may_be_inexact)
{
    const cf_key coarse[] = {cf_key_integer(1000000000000000), cf_key_integer(-(1ll << 53) - 2),
                             cf_key_real(1e15)};
    const cf_key fine[] = {cf_key_integer(999999999999999),
                           cf_key_integer(0),
                           cf_key_real(-7),
                           text("a"),
                           text("1"),
                           text("-07 "),
                           text("1.5x"),
                           cf_key_blob("0.12345", 7)};
    for (int affinity = CF_AFFINITY_NONE; affinity <= CF_AFFINITY_REAL; affinity++)
        for (int inexact = 0; inexact < 2; inexact++) {
            cf_geometry rule = rule_of((cf_affinity)affinity, CF_COLLATION_BINARY);
            rule.key_types = inexact ? CF_TYPE_INEXACT | CF_TYPE_TEXT : CF_TYPE_ANY;
            bool any = affinity != CF_AFFINITY_NONE, as_text = affinity == CF_AFFINITY_TEXT;
            for (size_t i = 0; i < sizeof coarse / sizeof *coarse; i++)
                assert_int_equal(cf_key_is_vague(&rule, &coarse[i]),
                                 any && (inexact || (as_text && coarse[i].real)));
            for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
                assert_false(cf_key_is_vague(&rule, &fine[i]));
            cf_key odd = cf_key_integer((1ll << 53) + 1), half = cf_key_real(0.5),
                   tenth = cf_key_real(0.1), most = cf_key_integer(INT64_MAX);
            assert_int_equal(cf_key_is_vague(&rule, &odd), inexact && affinity == CF_AFFINITY_REAL);
            assert_int_equal(cf_key_is_vague(&rule, &most), inexact && affinity == CF_AFFINITY_REAL);
            assert_int_equal(cf_key_is_vague(&rule, &half), any && (inexact || as_text));
            assert_int_equal(cf_key_is_vague(&rule, &tenth), any && (inexact || as_text));
        }
}

TEST(a_number_ends_where_its_text_ends)
{
    cf_number number;
    const char *const texts[] = {"  5", "\t5", "-5", "1e5", "1.5e+9"};
    const size_t lengths[] = {2, 1, 1, 2, 5};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(cf_number_read(texts[i], strlen(texts[i]), &number));
        assert_false(cf_number_read(texts[i], lengths[i], &number));
        char *alone = malloc(lengths[i]); /* sanitizers notice a read beyond it */
        memcpy(alone, texts[i], lengths[i]);
        assert_false(cf_number_read(alone, lengths[i], &number));
        free(alone);
    }
}

/* Under TEXT a real may be compared as the text that SQLite makes of it. */
TEST(texts_that_a_real_may_equal)
{
    const char *const texts[] = {"0.5", "7.0", "+1e3", " 1e15", "99999999999999999999"};
    const cf_key reals[] = {cf_key_real(0.5), cf_key_real(1e15), cf_key_real(-1e300)};
    for (int affinity = CF_AFFINITY_NONE; affinity <= CF_AFFINITY_REAL; affinity++) {
        cf_geometry rule = rule_of((cf_affinity)affinity, CF_COLLATION_BINARY);
        bool as_text = affinity == CF_AFFINITY_TEXT;
        cf_key whole = cf_key_real(7), integer = cf_key_integer(1000000000000000);
        assert_false(cf_key_is_vague(&rule, &whole) || cf_key_is_vague(&rule, &integer));
        for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
            assert_int_equal(cf_key_is_vague(&rule, &reals[i]), as_text);
        }
        for (size_t i = 0; as_text && i < sizeof texts / sizeof *texts; i++)
            for (int inexact = 0; inexact < 2; inexact++) {
                cf_key key = text(texts[i]);
                rule.key_types = inexact ? CF_TYPES_MIXED : CF_TYPE_ANY;
                assert_int_equal(cf_key_is_vague(&rule, &key), inexact);
            }
    }
}

/* The integer that some version reads, where another one reads the double beside it. */
TEST(texts_beside_an_integer)
{
    for (int affinity = CF_AFFINITY_TEXT; affinity <= CF_AFFINITY_REAL; affinity++) {
        cf_geometry rule = rule_of((cf_affinity)affinity, CF_COLLATION_BINARY);
        assert_same(&rule, text("9.9999999999999991118"), cf_key_integer(10), true);
        assert_same(&rule, text("4.94e-324"), cf_key_integer(0), true);
        assert_same(&rule, text("100000000000000.05"), cf_key_integer(100000000000000), true);
        assert_same(&rule, text("123456789012345.5"), cf_key_integer(123456789012346), true);
        assert_same(&rule, text("123456789012345.4"), cf_key_integer(123456789012345), true);
        assert_same(&rule, text("1e-400"), cf_key_integer(0), true);
        assert_same(&rule, text("1e-290"), cf_key_integer(0), false);
        assert_same(&rule, text("1234567890123456."), cf_key_integer(1234567890123456), true);
        assert_same(&rule, text("1234567890123456.5"), cf_key_real(1234567890123456.5),
                    affinity != CF_AFFINITY_TEXT);
        assert_same(&rule, text("9223372036854775808"), cf_key_real(9223372036854775808.0),
                    affinity != CF_AFFINITY_TEXT);
        assert_same(&rule, text("934892710554018880.49"), cf_key_integer(934892710554018944), true);
    }
}

static double read_number(const char *words)
{
    cf_number number;
    assert_true(cf_number_read(words, strlen(words), &number));
    return cf_number_real(&number);
}

static void assert_read(const char *words)
{
    double mine = read_number(words), theirs = strtod(words, NULL);
    if (memcmp(&mine, &theirs, sizeof mine) != 0)
        fail_msg("%s: %.17g, not %.17g", words, mine, theirs);
}

/* Halves of two doubles, to their last digit and beside it; any digits and exponents. The locale is the
** one in which strtod reads the same words. */
TEST(numbers_are_read_exactly)
{
    char words[2000], digits[40];
    static const char *const given[] = {"-0",
                                        "0.0e999999999",
                                        "1e999999999",
                                        "1e-999999999",
                                        "00000000000000000000001",
                                        "4.9e-324",
                                        "2.4703282292062327e-324",
                                        "1.7976931348623159e308"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        assert_read(given[i]);
    for (int i = 0; i < 20000; i++) {
        unsigned n = 1 + (unsigned)random_below(30), point = (unsigned)random_below(n + 1);
        for (unsigned d = 0; d < n; d++)
            digits[d] = (char)('0' + random_below(10));
        int length = sprintf(words, "%.*s.%.*s", (int)point, digits, (int)(n - point), digits + point);
        sprintf(words + length, random_below(2) ? "e%d" : "", (int)random_below(660) - 340);
        assert_read(words);
        union {
            double real;
            uint64_t bits;
        } one = {.bits = random64() >> 1};
        if (!(one.real < 1e300))
            continue;
        union {
            double real;
            uint64_t bits;
        } next = {.bits = one.bits + 1};
        int exponent = 0;
        double scale = frexp(one.real, &exponent);
        assert_true(scale < 1);
        if (exponent > -900 && exponent < 60) { /* long double has the half, and prints all its digits */
            length = sprintf(words, "%.1000Lf", ((long double)one.real + (long double)next.real) / 2);
            assert_read(words);
            strcpy(words + length, "00000000000000001");
            assert_read(words);
        }
    }
}

/* A NUL ends a number, and counts as an exponent. */
TEST(an_integer_has_neither_point_nor_exponent)
{
    static const struct {
        const char *text;
        size_t length;
        bool is_integer;
    } cases[] = {{"12", 2, true},    {" -12 ", 5, true},  {"+0012", 5, true}, {"12.0", 4, false},
                 {"12.", 3, false},  {"1.2e1", 5, false}, {"12e0", 4, false}, {"1200e-2", 7, false},
                 {"12\0", 3, false}, {"12E+0", 5, false}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cf_number number;
        int64_t whole = 0, integer = 0;
        assert_true(cf_number_read(cases[i].text, cases[i].length, &number));
        assert_true(cf_number_whole(&number, &whole));
        assert_int_equal(whole < 0 ? -whole : whole, 12);
        assert_int_equal(cf_number_integer(&number, &integer), cases[i].is_integer);
        assert_int_equal(integer, cases[i].is_integer ? whole : 0);
    }
}

TEST(a_locale_changes_no_number)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"};
    double point = read_number("0.12345678901234567");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setlocale(LC_ALL, names[i]) != NULL)
            assert_true(read_number("0.12345678901234567") == point && point > 0.12);
    }
    setlocale(LC_ALL, "C");
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

TEST(types_are_dropped_with_the_last_key)
{
    cf_filter filter = {.geometry = {.key_types = CF_TYPE_TEXT}, .occupied = 1};
    cf_drop_types(&filter);
    assert_int_equal(filter.geometry.key_types, CF_TYPE_TEXT);
    filter.occupied = 0;
    filter.stashed = 1;
    cf_drop_types(&filter);
    assert_int_equal(filter.geometry.key_types, CF_TYPE_TEXT);
    filter.stashed = 0;
    cf_drop_types(&filter);
    assert_int_not_equal(filter.geometry.key_types, CF_TYPE_TEXT);
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
