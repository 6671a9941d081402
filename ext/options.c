#include "options.h"

#include "errors.h"

#include <stdlib.h>
#include <string.h>

#define VALID_OPTIONS                                                                                   \
    "valid options: bucket_size=1|2|4|8, fingerprint_bits=4..32, layout=auto|plain|semisort, "          \
    "counter_bits=0..16, value_bits=0..32, seed=integer, growth=on|off, overflow=on|off, "              \
    "overflow_budget=0..255, spill_bound=1..4096, capacity=keys"

enum { MAX_NAME = 20, MAX_VALUE = 24 };

/* One name=value of the text, copied out. */
typedef struct assignment {
    char name[MAX_NAME + 1];
    char value[MAX_VALUE + 1];
} assignment;

/* What a value may be: a word of the list (its index is the result), or an integer of the range. */
typedef struct option_rule {
    const char *name;
    const char *const *words; /* NULL: an integer */
    int64_t least, most;
} option_rule;

enum {
    BUCKET_SIZE,
    FINGERPRINT_BITS,
    LAYOUT,
    COUNTER_BITS,
    VALUE_BITS,
    SEED,
    GROWTH,
    OVERFLOW,
    OVERFLOW_BUDGET,
    SPILL_BOUND,
    CAPACITY,
    OPTION_COUNT
};

static const char *const layouts[] = {"auto", "plain", "semisort", NULL};
static const char *const switches[] = {"off", "on", NULL};

static const option_rule rules[OPTION_COUNT] = {
    [BUCKET_SIZE] = {"bucket_size", NULL, 1, CF_BUCKET_MAX},
    [FINGERPRINT_BITS] = {"fingerprint_bits", NULL, CF_FINGERPRINT_MIN, CF_FINGERPRINT_MAX},
    [LAYOUT] = {"layout", layouts, 0, 0},
    [COUNTER_BITS] = {"counter_bits", NULL, 0, CF_COUNTER_MAX},
    [VALUE_BITS] = {"value_bits", NULL, 0, CF_VALUE_MAX},
    [SEED] = {"seed", NULL, INT64_MIN, INT64_MAX},
    [GROWTH] = {"growth", switches, 0, 0},
    [OVERFLOW] = {"overflow", switches, 0, 0},
    [OVERFLOW_BUDGET] = {"overflow_budget", NULL, 0, CF_BUDGET_MAX},
    [SPILL_BOUND] = {"spill_bound", NULL, 1, CF_SPILL_MAX},
    [CAPACITY] = {"capacity", NULL, 0, INT64_MAX}, /* cf_plan says what is too big */
};

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

/* Copies a run of bytes up to a separator or `stop` into a bounded text; false when it is empty or
** too long. */
static bool take_word(const char **text, const char *end, char stop, char *word, size_t most)
{
    size_t n = 0;
    const char *p = *text;
    for (; p < end && !is_separator(*p) && *p != stop; p++) {
        if (n == most || *p == 0)
            return false;
        word[n++] = *p;
    }
    word[n] = 0;
    *text = p;
    return n > 0;
}

static bool take_assignment(const char **text, const char *end, assignment *found)
{
    if (!take_word(text, end, '=', found->name, MAX_NAME) || *text == end || **text != '=')
        return false;
    ++*text;
    return take_word(text, end, '=', found->value, MAX_VALUE) && (*text == end || is_separator(**text));
}

static int rule_named(const char *name)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (strcmp(name, rules[i].name) == 0)
            return i;
    return -1;
}

/* A whole decimal integer of 64 bits, and nothing else. */
static bool parse_integer(const char *text, int64_t *value)
{
    bool negative = *text == '-';
    const char *p = text + (*text == '-' || *text == '+');
    uint64_t most = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX, sum = 0;
    if (*p == 0)
        return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9')
            return false;
        uint64_t digit = (uint64_t)(*p - '0');
        if (sum > (most - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

static bool parse_value(const option_rule *rule, const char *text, int64_t *value)
{
    if (rule->words == NULL)
        return parse_integer(text, value) && *value >= rule->least && *value <= rule->most;
    for (int i = 0; rule->words[i]; i++)
        if (strcmp(text, rule->words[i]) == 0) {
            *value = i;
            return true;
        }
    return false;
}

static void set_option(cuckoo_options *options, int which, int64_t value)
{
    switch (which) {
    case BUCKET_SIZE:
        options->filter.bucket_size = (unsigned)value;
        break;
    case FINGERPRINT_BITS:
        options->filter.fingerprint_bits = (unsigned)value;
        break;
    case LAYOUT:
        options->filter.layout = (cf_layout)value;
        break;
    case OVERFLOW:
        options->filter.overflow = value != 0;
        break;
    case OVERFLOW_BUDGET:
        options->filter.overflow_budget = (unsigned)value;
        break;
    case SPILL_BOUND:
        options->filter.spill_bound = (unsigned)value;
        break;
    case COUNTER_BITS:
        options->filter.counter_bits = (unsigned)value;
        break;
    case VALUE_BITS:
        options->filter.value_bits = (unsigned)value;
        break;
    case SEED:
        options->filter.seed = value;
        options->has_seed = true;
        break;
    case GROWTH:
        options->filter.growth = value != 0;
        break;
    case CAPACITY:
        options->capacity = (uint64_t)value;
        break;
    default:
        break;
    }
}

/* What is wrong with an option, in memory of sqlite3_malloc (NULL: there is none); no error: false. */
static bool complain(char **why, char *message)
{
    *why = message;
    return false;
}

/* Applies one assignment; `given` has a bit for each option seen before. */
static bool apply(const assignment *found, unsigned *given, cuckoo_options *options, char **why)
{
    int which = rule_named(found->name);
    int64_t value = 0;
    if (which < 0)
        return complain(why, sqlite3_mprintf("unknown option %s; " VALID_OPTIONS, found->name));
    if (*given & 1u << which)
        return complain(why, sqlite3_mprintf("option %s is given twice", found->name));
    if (!parse_value(&rules[which], found->value, &value))
        return complain(
            why, sqlite3_mprintf("bad value in %s=%s; " VALID_OPTIONS, found->name, found->value));
    *given |= 1u << which;
    set_option(options, which, value);
    return true;
}

/* Options that mean nothing without another one are mistakes. */
static bool check_together(unsigned given, const cuckoo_options *options, char **why)
{
    bool spills = given & (1u << OVERFLOW_BUDGET | 1u << SPILL_BOUND);
    if (spills && !options->filter.overflow)
        return complain(why, sqlite3_mprintf("overflow_budget and spill_bound need overflow=on: add it, "
                                             "or leave them out"));
    return true;
}

bool cuckoo_options_parse(const char *text, size_t length, cuckoo_options *options, char **why)
{
    const char *end = text + length;
    unsigned given = 0;
    for (;;) {
        assignment found;
        while (text < end && is_separator(*text))
            text++;
        if (text == end)
            return check_together(given, options, why);
        if (!take_assignment(&text, end, &found))
            return complain(why,
                            sqlite3_mprintf("options must be a list of name=value; " VALID_OPTIONS));
        if (!apply(&found, &given, options, why))
            return false;
    }
}

static bool read_text(sqlite3_context *context, const char *text, int length, cuckoo_options *options)
{
    char *why = NULL;
    if (cuckoo_options_parse(text, (size_t)length, options, &why))
        return true;
    if (why)
        cuckoo_fail(context, CF_BAD_ARGUMENT, "%s", why);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(why);
    return false;
}

static bool read_options(sqlite3_context *context, sqlite3_value *value, cuckoo_options *options)
{
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return true;
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        cuckoo_fail(context, CF_BAD_ARGUMENT, "options must be text; " VALID_OPTIONS);
        return false;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    if (text == NULL) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    return read_text(context, text, sqlite3_value_bytes(value), options);
}

static bool read_fpr(sqlite3_context *context, sqlite3_value *value, double *fpr)
{
    int type = sqlite3_value_type(value);
    double given = sqlite3_value_double(value);
    if (type == SQLITE_NULL)
        return true;
    if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(given > 0 && given < 1)) {
        cuckoo_fail(context, CF_BAD_ARGUMENT,
                    "fpr must be a number above 0 and below 1, such as 0.01; or NULL");
        return false;
    }
    *fpr = given;
    return true;
}

void cuckoo_options_default(cuckoo_options *options)
{
    memset(options, 0, sizeof *options);
    options->filter.growth = true;
    options->filter.overflow_budget = CUCKOO_DEFAULT_BUDGET;
    options->fpr = CUCKOO_DEFAULT_FPR;
}

bool cuckoo_options_equal(const cuckoo_options *a, const cuckoo_options *b)
{
    return a->capacity == b->capacity && a->fpr == b->fpr &&
           a->filter.bucket_size == b->filter.bucket_size &&
           a->filter.fingerprint_bits == b->filter.fingerprint_bits &&
           a->filter.counter_bits == b->filter.counter_bits &&
           a->filter.value_bits == b->filter.value_bits && a->filter.growth == b->filter.growth &&
           a->filter.layout == b->filter.layout && a->filter.overflow == b->filter.overflow &&
           a->filter.overflow_budget == b->filter.overflow_budget &&
           a->filter.spill_bound == b->filter.spill_bound && a->filter.seed == b->filter.seed;
}

bool cuckoo_options_read(sqlite3_context *context, int count, sqlite3_value **values,
                         cuckoo_options *options)
{
    cuckoo_options_default(options);
    options->fpr = 0;
    if (count > 0 && !read_fpr(context, values[0], &options->fpr))
        return false;
    if (count > 1 && !read_options(context, values[1], options))
        return false;
    if (options->fpr == 0 && options->filter.fingerprint_bits == 0)
        options->fpr = CUCKOO_DEFAULT_FPR;
    return true;
}

bool cuckoo_capacity_read(sqlite3_context *context, sqlite3_value *value, uint64_t *capacity)
{
    int type = sqlite3_value_type(value);
    double keys = sqlite3_value_double(value);
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(keys >= 0) ||
        (keys <= 1e15 && keys != (double)(int64_t)keys)) {
        cuckoo_fail(context, CF_BAD_ARGUMENT, "capacity must be a whole number of keys, 0 or more");
        return false;
    }
    if (keys > (double)CF_CAPACITY_MAX) {
        cuckoo_fail(context, CF_TOO_BIG, "capacity is above the most there can be, %lld keys",
                    (sqlite3_int64)CF_CAPACITY_MAX);
        return false;
    }
    *capacity = (uint64_t)keys;
    return true;
}
