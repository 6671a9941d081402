/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "../sqlite/errors.h"
#include "../sqlite/register.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { MAX_NAME = 20, MAX_VALUE = 40, DEFAULT_KICKS = 10 /* buckets */ };
static const double default_fpr = 0.01;

/* A format for CF_CAPACITY_MAX and the given value. */
#define CAPACITY_TOO_BIG                                                                                \
    "capacity is above the maximum of %lld keys, got %s; split the keys over several filters"

/* One name=value of the text. */
typedef struct assignment {
    char name[MAX_NAME + 1];
    char value[MAX_VALUE + 1];
} assignment;

/* A value is a word of a list, which is stored as its index, or an integer in a range. */
typedef struct option_rule {
    const char *valid;        /* "name=" and the valid values, for messages */
    const char *const *words; /* NULL: an integer */
    int64_t least, most;
    size_t at, size; /* the field of cuckoo_options: an int64_t, an unsigned, an enum or a bool */
} option_rule;

#define AT(field) offsetof(cuckoo_options, field), sizeof(((cuckoo_options *)NULL)->field)

static const char *const layouts[] = {"auto", "plain", "semisort", NULL};
const char *const cuckoo_hash_words[3] = {"xxh3", "keyed", NULL};
static const char *const switches[] = {"off", "on", NULL};

/* In the order of the enums. The last two affinities are other names of numeric and text. */
const char *const cuckoo_affinity_words[7] = {"none",    "text", "numeric", "real",
                                              "integer", "blob", NULL};
const char *const cuckoo_collation_words[4] = {"binary", "nocase", "rtrim", NULL};

/* In the order of enum cuckoo_option. */
static const option_rule rules[CUCKOO_OPTION_COUNT] = {
    {"bucket_size=1|2|4|8", NULL, 1, CF_BUCKET_MAX, AT(filter.bucket_size)},
    {"fingerprint_bits=4..32", NULL, CF_FINGERPRINT_MIN, CF_FINGERPRINT_MAX,
     AT(filter.fingerprint_bits)},
    {"layout=auto|plain|semisort", layouts, 0, 0, AT(filter.layout)},
    {"counter_bits=0..16", NULL, 0, CF_COUNTER_MAX, AT(filter.counter_bits)},
    {"value_bits=0..32", NULL, 0, CF_VALUE_MAX, AT(filter.value_bits)},
    {"seed=integer", NULL, INT64_MIN, INT64_MAX, AT(filter.seed)},
    {"hash=xxh3|keyed", cuckoo_hash_words, 0, 0, AT(filter.hash)},
    {"growth=on|off", switches, 0, 0, AT(filter.growth)},
    {"stash=on|off", switches, 0, 0, AT(filter.stash)},
    {"max_kicks=0..255", NULL, 0, CF_BUDGET_MAX, AT(filter.max_kicks)},
    {"stash_size=1..4096", NULL, 1, CF_STASH_MAX, AT(filter.stash_size)},
    {"affinity=none|text|blob|integer|real|numeric", cuckoo_affinity_words, 0, 0, AT(filter.affinity)},
    {"collation=binary|nocase|rtrim", cuckoo_collation_words, 0, 0, AT(filter.collation)},
    {"epochs=0..15", NULL, 0, CF_EPOCHS_MAX, AT(filter.epochs)},
    {"capacity=number of keys", NULL, 0, (int64_t)CF_CAPACITY_MAX, AT(capacity)},
};

#define SEPARATORS " ,\t\n\r"

/* Reads one name=value and moves *text behind it. False: there is none. */
static bool take_assignment(const char **text, assignment *found)
{
    size_t n = strcspn(*text, "=" SEPARATORS);
    const char *name = *text, *value = name + n + (name[n] == '=');
    size_t m = strcspn(value, "=" SEPARATORS);
    if (n == 0 || n > MAX_NAME || name[n] != '=' || m == 0 || m > MAX_VALUE || value[m] == '=')
        return false;
    sqlite3_snprintf((int)n + 1, found->name, "%s", name);
    sqlite3_snprintf((int)m + 1, found->value, "%s", value);
    *text = value + m;
    return true;
}

/* True if `option` ("name=...") has this name. */
static bool is_named(const char *name, const char *option)
{
    size_t n = strlen(name);
    return sqlite3_strnicmp(name, option, (int)n) == 0 && option[n] == '=';
}

/* Finds the index of a word in a list. */
static bool find_word(const char *const *words, const char *text, int64_t *index)
{
    for (int i = 0; words[i]; i++)
        if (sqlite3_stricmp(text, words[i]) == 0) {
            *index = i;
            return true;
        }
    return false;
}

/* SQLITE_TOOBIG: a number above the range. */
static int parse_value(const option_rule *rule, const char *text, int64_t *value)
{
    cf_number number;
    if (rule->words)
        return find_word(rule->words, text, value) ? SQLITE_OK : SQLITE_ERROR;
    if (!cf_number_read(text, strlen(text), &number))
        return SQLITE_ERROR;
    if (cf_number_real(&number) > (double)rule->most)
        return SQLITE_TOOBIG;
    bool sound = cf_number_whole(&number, value) && *value >= rule->least && *value <= rule->most;
    sound = sound && (rule != &rules[CUCKOO_OPTION_BUCKET_SIZE] || (*value & (*value - 1)) == 0);
    return sound ? SQLITE_OK : SQLITE_ERROR;
}

int cuckoo_collation_named(const char *name)
{
    int64_t which = -1;
    find_word(cuckoo_collation_words, name, &which);
    return (int)which;
}

static void set_option(cuckoo_options *options, int which, int64_t value)
{
    const option_rule *rule = &rules[which];
    void *at = (char *)options + rule->at;
    options->given |= 1u << which;
    if (which == CUCKOO_OPTION_HASH)
        value += CF_HASH_XXH3;
    if (which == CUCKOO_OPTION_AFFINITY && value == CF_AFFINITY_NONE)
        options->filter.key_types = CF_TYPES_MIXED; /* written out, it allows keys of all types */
    if (which == CUCKOO_OPTION_AFFINITY && value > CF_AFFINITY_REAL)
        value = value == CF_AFFINITY_REAL + 1 ? CF_AFFINITY_NUMERIC : CF_AFFINITY_TEXT;
    if (rule->size == sizeof(int64_t))
        *(int64_t *)at = value;
    else if (rule->size == sizeof(bool))
        *(bool *)at = value != 0;
    else
        *(unsigned *)at = (unsigned)value;
}

/* ---- unknown options ---- */

/* Appends a list of the options to the message. */
static int list_options(const cuckoo_options *options, char **why)
{
    sqlite3_str *all = sqlite3_str_new(NULL);
    for (const char *const *at = options->beside; at && *at; at++)
        sqlite3_str_appendf(all, "%s, ", *at);
    for (int i = CUCKOO_OPTION_COUNT; i-- > 0;)                       /* capacity first */
        if (options->beside == NULL || i != CUCKOO_OPTION_VALUE_BITS) /* filter tables have no values */
            sqlite3_str_appendf(all, "%s%s", rules[i].valid, i ? ", " : "");
    char *what = *why, *valid = sqlite3_str_finish(all);
    *why = what && valid ? sqlite3_mprintf("%s; valid options: %s", what, valid) : NULL;
    sqlite3_free(what);
    sqlite3_free(valid);
    return *why ? SQLITE_ERROR : SQLITE_NOMEM;
}

/* True if `option` ("name=...") has this name, apart from one letter that is missing, added or
** different, or from two neighbors that are swapped. */
static bool is_like(const char *name, const char *option)
{
    size_t n = strlen(name), m = strcspn(option, "=");
    for (; n && m && sqlite3_strnicmp(name, option, 1) == 0; name++, option++)
        n--, m--;
    for (; n && m && name[n - 1] == option[m - 1]; m--)
        n--;
    return (n <= 1 && m <= 1) || (n == 2 && m == 2 && name[0] == option[1] && name[1] == option[0]);
}

static int unknown_option(const char *name, const cuckoo_options *options, char **why)
{
    static const char *const elsewhere[] = {"fpr=", "content=", "rows=", "adds=", "keep=", NULL};
    const char *const *others = options->beside ? options->beside : elsewhere, *meant = NULL;
    int i = CUCKOO_OPTION_COUNT;
    while (*others && !is_like(name, *others))
        others++;
    while (!*others && i > 0 && !meant)
        meant = is_like(name, rules[--i].valid) ? rules[i].valid : NULL;
    if (*others && (!options->beside || is_named(name, *others)))
        return cuckoo_say(why, SQLITE_ERROR, "unknown option %s; %.*s is %s", name,
                          (int)strcspn(*others, "="), *others,
                          options->beside           ? "an argument of its own: put a comma before it"
                          : *others != elsewhere[0] ? "for filter tables only"
                                                    : "the argument before the options");
    meant = *others ? *others : meant;
    cuckoo_say(why, SQLITE_OK, meant ? "unknown option %s; did you mean %.*s" : "unknown option %s",
               name, meant ? (int)strcspn(meant, "=") : 0, meant);
    return list_options(options, why);
}

static int apply(const assignment *found, cuckoo_options *options, char **why)
{
    int which = 0;
    int64_t value = 0;
    while (which < CUCKOO_OPTION_COUNT && !is_named(found->name, rules[which].valid))
        which++;
    if (which == CUCKOO_OPTION_COUNT)
        return unknown_option(found->name, options, why);
    if (cuckoo_has(options, which))
        return cuckoo_say(why, SQLITE_ERROR, "option %s is given twice", found->name);
    int rc = parse_value(&rules[which], found->value, &value);
    if (rc == SQLITE_TOOBIG && which == CUCKOO_OPTION_CAPACITY)
        return cuckoo_say(why, rc, CAPACITY_TOO_BIG, (sqlite3_int64)CF_CAPACITY_MAX, found->value);
    if (rc != SQLITE_OK)
        return cuckoo_say(why, SQLITE_ERROR, "bad value in %s=%s; valid: %s", found->name, found->value,
                          rules[which].valid);
    set_option(options, which, value);
    return SQLITE_OK;
}

int cuckoo_options_check(const cuckoo_options *options, char **why)
{
    bool stashes = options->given & (1u << CUCKOO_OPTION_MAX_KICKS | 1u << CUCKOO_OPTION_STASH_SIZE);
    return !stashes || options->filter.stash
               ? SQLITE_OK
               : cuckoo_say(why, SQLITE_ERROR,
                            "max_kicks and stash_size need stash=on: add it, or leave them out");
}

int cuckoo_options_parse(const char *text, size_t length, cuckoo_options *options, char **why)
{
    int rc = SQLITE_OK;
    const char *end = text + length;
    *why = NULL;
    while (rc == SQLITE_OK && (text += strspn(text, SEPARATORS)) < end) {
        assignment found;
        if (take_assignment(&text, &found)) {
            rc = apply(&found, options, why);
        } else {
            cuckoo_say(why, SQLITE_OK, "options must be a list of name=value, got '" CUCKOO_PART "'",
                       text);
            rc = list_options(options, why);
        }
    }
    return rc;
}

void cuckoo_options_default(cuckoo_options *options)
{
    *options =
        (cuckoo_options){.filter = {.growth = true, .max_kicks = DEFAULT_KICKS}, .fpr = default_fpr};
}

bool cuckoo_duration_read(const char *text, size_t length, uint64_t *milliseconds)
{
    static const struct {
        const char *name;
        double milliseconds;
    } units[] = {{"second", 1e3}, {"minute", 6e4}, {"hour", 36e5}, {"day", 864e5}, {"week", 6048e5}};
    const double least = 1e3, most = 36525 * 864e5;
    cf_number number;
    size_t n = strspn(text, "0123456789.+- "), digits = n;
    double span = 0;
    while (digits > 0 && text[digits - 1] == ' ')
        digits--;
    while (length > n && text[length - 1] == ' ')
        length--;
    if (!cf_number_read(text, digits, &number))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t letters = strlen(units[i].name);
        bool plural = length == n + letters + 1 && (text[length - 1] == 's' || text[length - 1] == 'S');
        if ((length == n + letters || plural) &&
            sqlite3_strnicmp(text + n, units[i].name, (int)letters) == 0)
            span = cf_number_real(&number) * units[i].milliseconds;
    }
    if (!(span >= least && span <= most))
        return false;
    *milliseconds = (uint64_t)span;
    return true;
}

/* ---- as arguments of an SQL function ---- */

static bool read_options(sqlite3_context *context, sqlite3_value *value, cuckoo_options *options)
{
    char *why = NULL;
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return true;
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return cuckoo_fail(context, "options must be text, such as 'seed=1', got %s",
                           cuckoo_show(value).text);
    const char *text = (const char *)sqlite3_value_text(value);
    if (text == NULL)
        return cuckoo_fail_no_memory(context);
    int rc = cuckoo_options_parse(text, (size_t)sqlite3_value_bytes(value), options, &why);
    rc = rc ? rc : cuckoo_options_check(options, &why);
    return rc == SQLITE_OK || cuckoo_fail_with(context, rc, why);
}

/* Another meaning that a bad fpr may have. */
static const char *hint_for_fpr(sqlite3_context *context, sqlite3_value *value, int type)
{
    const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
    if (text && strchr(text, '='))
        return "; options come after it: NULL, 'name=value'";
    bool builds = strncmp(cuckoo_running_function(context)->function.name, "cf_build", 8) == 0;
    return builds && type != SQLITE_FLOAT ? "; one key of several columns is cf_key(a, b)" : "";
}

static bool read_fpr(sqlite3_context *context, sqlite3_value *value, double *fpr)
{
    int type = sqlite3_value_type(value);
    double given = sqlite3_value_double(value);
    if (type == SQLITE_NULL)
        return true;
    if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(given > 0 && given < 1))
        return cuckoo_fail(context, CUCKOO_VALID_FPR ", got %s%s", cuckoo_show(value).text,
                           hint_for_fpr(context, value, type));
    *fpr = given;
    return true;
}

bool cuckoo_options_read(sqlite3_context *context, int count, sqlite3_value **values,
                         cuckoo_options *options)
{
    assert(count >= 0 && count <= 2);
    cuckoo_options_default(options);
    options->fpr = 0;
    if ((count > 0 && values[0] && !read_fpr(context, values[0], &options->fpr)) ||
        (count > 1 && !read_options(context, values[1], options)))
        return false;
    if (options->fpr == 0 && options->filter.fingerprint_bits == 0)
        options->fpr = default_fpr;
    return true;
}

int cuckoo_capacity_take(sqlite3_value *value, uint64_t *capacity, char **why)
{
    int type = sqlite3_value_type(value);
    double keys = sqlite3_value_double(value);
    cuckoo_shown_value shown = cuckoo_show(value);
    bool whole = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    if (!whole || !(keys >= 0) || (keys <= 1e15 && keys != (double)(int64_t)keys))
        return cuckoo_say(why, SQLITE_ERROR,
                          "capacity must be a whole number of keys, 0 or more, got %s%s", shown.text,
                          type == SQLITE_TEXT ? ": give a number" : "");
    if (keys > (double)CF_CAPACITY_MAX)
        return cuckoo_say(why, SQLITE_TOOBIG, CAPACITY_TOO_BIG, (sqlite3_int64)CF_CAPACITY_MAX,
                          shown.text);
    *capacity = (uint64_t)keys;
    return SQLITE_OK;
}

bool cuckoo_capacity_read(sqlite3_context *context, sqlite3_value *value, uint64_t *capacity)
{
    char *why = NULL;
    int rc = cuckoo_capacity_take(value, capacity, &why);
    return rc == SQLITE_OK || cuckoo_fail_with(context, rc, why);
}
