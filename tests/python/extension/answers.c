/* SPDX-License-Identifier: MIT */
/*
** answers.c - the C library alone: is each key in a filter of any rule? For test_filter_rules.py.
*/
#include "cuckoo_filter.h"

#include <stdlib.h>

/* Numbers are 8 bytes at `content`, as cuckoo_key.h says; texts and blobs are themselves. */
typedef struct one {
    const void *content;
    uint64_t length;
    uint64_t type;
} one;

static cf_key key_of(const one *given)
{
    int64_t integer;
    double real;
    if (given->type == CF_KEY_TEXT)
        return cf_key_text(given->content, given->length);
    if (given->type == CF_KEY_BLOB)
        return cf_key_blob(given->content, given->length);
    memcpy(&integer, given->content, 8);
    memcpy(&real, given->content, 8);
    return given->type == CF_KEY_INTEGER ? cf_key_integer(integer) : cf_key_real(real);
}

/* 1 or 0; 2: an exact filter cannot know the key, because versions of SQLite differ over it. */
static int answer(const cf_filter *filter, const cf_exact *exact, const one *given)
{
    const cf_geometry *rule = exact ? &exact->rule : &filter->geometry;
    cf_key key = key_of(given);
    if (cf_key_is_vague(rule, &key))
        return exact && key.type == CF_KEY_TEXT ? 2 : 1;
    cf_key_apply(rule, &key);
    uint8_t *room = malloc(cf_key_room(rule, &key) + 1);
    uint64_t hash = cf_key_hash(rule, &key, room);
    free(room);
    return exact ? cf_exact_contains(exact, hash) : cf_contains(filter, hash);
}

__attribute__((visibility("default"))) const char *answers(const uint8_t *bytes, uint64_t length,
                                                           const one *keys, uint64_t n, uint8_t *into)
{
    const char *why = NULL;
    cf_filter filter;
    bool is_exact = cf_is_exact(bytes, length);
    cf_exact *exact = is_exact ? malloc(sizeof *exact) : NULL;
    cf_status status =
        exact ? cf_exact_open(exact, bytes, length, &why) : cf_open(&filter, bytes, length, &why);
    for (uint64_t i = 0; status == CF_OK && i < n; i++)
        into[i] = (uint8_t)answer(&filter, exact, &keys[i]);
    free(exact);
    return why;
}
