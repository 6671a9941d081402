/* SPDX-License-Identifier: MIT */
/*
** draw.c - random numbers, texts, and templates of statements.
**
** A template is SQL with words in braces, each replaced by something drawn:
**
**      {u} {k}      the content and its key's column, as they are called now
**      {key}        a key, as an expression       {1} {2} {3}   the keys drawn for this statement
**      {id} {x} {n} an id, a parent or NULL, a small number
**      {row} {rows} values for (id, key, x, n); one to eight of them
**      {c}          a conflict clause, or nothing
**      {some}       a condition on rows           {r}           new or old, within a trigger
**      {now}        the time that the clock shows
*/
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64: the numbers of a seed are the same on every machine. */
uint64_t mix(uint64_t seed, uint64_t number)
{
    uint64_t z = seed + (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t draw64(world *w)
{
    w->dice += UINT64_C(0x9e3779b97f4a7c15);
    return mix(w->dice, 0);
}

int draw(world *w, int n)
{
    return (int)(draw64(w) % (uint64_t)n);
}

bool chance(world *w, int percent)
{
    return draw(w, 100) < percent;
}

int draw_weighted(world *w, const int *weights, int n)
{
    int sum = 0, i = 0;
    for (int j = 0; j < n; j++)
        sum += weights[j];
    for (int at = draw(w, sum); at >= weights[i]; i++)
        at -= weights[i];
    return i;
}

/* ---- texts ---- */

static void *memory(void *old, size_t bytes)
{
    void *made = realloc(old, bytes);
    if (made == NULL)
        abort();
    return made;
}

char *say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *made = memory(NULL, (size_t)n + 1);
    va_start(arguments, format);
    vsnprintf(made, (size_t)n + 1, format, arguments);
    va_end(arguments);
    return made;
}

typedef struct text {
    char *bytes;
    size_t n;
} text;

static void append(text *t, const char *bytes, size_t n)
{
    t->bytes = memory(t->bytes, t->n + n + 1);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = 0;
}

static void append_owned(text *t, char *bytes)
{
    append(t, bytes, strlen(bytes));
    free(bytes);
}

/* ---- words ---- */

static const char *const conflicts[] = {"",           "",           "",          "OR ABORT",
                                        "OR FAIL",    "OR IGNORE",  "OR IGNORE", "OR REPLACE",
                                        "OR REPLACE", "OR ROLLBACK"};

/* The expression of key number i; the values of a shape are those of one expression on `i`. */
static char *key_text(const world *w, int i)
{
    text made = {NULL, 0};
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    append(&made, "(", 1);
    for (const char *from = w->shape.key_value; *from; from++)
        append(&made, *from == '#' ? number : from, *from == '#' ? strlen(number) : 1);
    append(&made, ")", 1);
    return made.bytes;
}

static char *row_text(world *w)
{
    char *id = fill(w, chance(w, 40) && !w->shape.needs_id ? "NULL" : "{id}");
    char *rest = fill(w, chance(w, 6) ? "NULL, {x}, {n}" : "{key}, {x}, {n}");
    char *made = say("(%s, %s)", id, rest);
    free(id);
    free(rest);
    return made;
}

static char *rows_text(world *w)
{
    static const int lengths[] = {1, 1, 1, 2, 3, 8};
    text made = {NULL, 0};
    for (int left = PICK(w, lengths); left > 0; left--) {
        append_owned(&made, row_text(w));
        append(&made, ", ", left > 1 ? 2 : 0);
    }
    return made.bytes;
}

static char *some_text(world *w)
{
    static const int shares[] = {1, 2, 3, 5, 20};
    int m = PICK(w, shares);
    switch (draw(w, 4)) {
    case 0:
        return fill(w, "{k} = {key}");
    case 1:
        return fill(w, "{k} IN ({key}, {key}, {key})");
    case 2:
        return say("n %% %d = %d", m, draw(w, m));
    default:
        return say("id %% %d = %d", m, draw(w, m));
    }
}

static char *word(world *w, const char *name)
{
    if (strcmp(name, "u") == 0)
        return say("%s%s", w->prefix, w->names.u);
    if (strcmp(name, "k") == 0)
        return say("%s", w->names.k);
    if (strcmp(name, "key") == 0)
        return key_text(w, draw(w, UNIVERSE));
    if (name[0] >= '1' && name[0] <= '3')
        return key_text(w, w->drawn_keys[name[0] - '1']);
    if (strcmp(name, "id") == 0)
        return say("%d", 1 + draw(w, 60));
    if (strcmp(name, "x") == 0)
        return chance(w, 30) ? say("NULL") : say("%d", draw(w, 10));
    if (strcmp(name, "n") == 0)
        return say("%d", draw(w, 50));
    if (strcmp(name, "row") == 0)
        return row_text(w);
    if (strcmp(name, "rows") == 0)
        return rows_text(w);
    if (strcmp(name, "some") == 0)
        return some_text(w);
    if (strcmp(name, "c") == 0)
        return say("%s", PICK(w, conflicts));
    if (strcmp(name, "r") == 0)
        return say("%s", w->row);
    if (strcmp(name, "now") == 0)
        return say("%lld", w->by_epochs ? 0LL : (long long)world_now(w));
    abort(); /* no such word */
}

char *fill(world *w, const char *pattern)
{
    text made = {NULL, 0};
    append(&made, "", 0);
    for (const char *open; (open = strchr(pattern, '{')) != NULL;) {
        char name[16];
        const char *close = strchr(open, '}');
        snprintf(name, sizeof name, "%.*s", (int)(close - open - 1), open + 1);
        append(&made, pattern, (size_t)(open - pattern));
        append_owned(&made, word(w, name));
        pattern = close + 1;
    }
    append(&made, pattern, strlen(pattern));
    return made.bytes;
}
