/* SPDX-License-Identifier: MIT */
/*
** exact.h - the part of exports.c for exact filters.
*/
_Static_assert(sizeof(cf_exact) <= EXACT, "EXACT is too small");
_Static_assert(offsetof(cf_filter, geometry) + offsetof(cf_exact, rule) + offsetof(list, rule) == 0,
               "`js_put` takes any of them for its rule");

FOR_JS("is_exact") bool is_exact(const uint8_t *bytes, size_t length)
{
    return cf_is_exact(bytes, length);
}

FOR_JS("open_exact") cf_status open_exact(cf_exact *exact, const uint8_t *bytes, size_t length)
{
    return cf_exact_open(exact, bytes, length, &said);
}

/* made: the address and the length of the bytes, which open_exact takes. */
FOR_JS("build_exact")
cf_status build_exact(list *others, list *members, double *made, const double *options,
                      const int64_t *seed)
{
    cf_exact_build built = {.options = options_of(options, seed),
                            .fpr = options[1],
                            .hashes = {others->hashes, members->hashes},
                            .count = {others->used, members->used},
                            .memory = js_memory};
    built.options.growth = false;
    built.options.key_types |= others->types | members->types;
    cf_status status = plain(cf_exact_make(&built, &said));
    made[0] = (double)(size_t)built.bytes;
    made[1] = (double)built.length;
    return status;
}

FOR_JS("contains_exact") bool contains_exact(const cf_exact *exact)
{
    return cf_exact_contains(exact, hash);
}

FOR_JS("contains_many_exact") const bool *contains_many_exact(list *keys, const cf_exact *exact)
{
    bool *all = (bool *)keys->hashes;
    for (size_t i = 0; i < keys->used; i++)
        all[i] = cf_exact_contains(exact, keys->hashes[i]);
    return all;
}

FOR_JS("check_exact") cf_status check_exact(const cf_exact *exact)
{
    return cf_exact_check(exact, NULL, &said);
}

/* As EXACT_INFO in filter.mjs; the seed behind them. */
FOR_JS("info_exact") void info_exact(const cf_exact *exact, double *numbers, int64_t *seed)
{
    const cf_geometry *rule = &exact->rule;
    const double all[] = {(double)exact->keys, (double)exact->members, exact->levels,
                          exact->listed,       (double)exact->length,  cf_exact_fpr(exact),
                          rule->keyed,         rule->affinity,         rule->collation,
                          types(rule),         CF_EXACT_VERSION};
    memcpy(numbers, all, sizeof all);
    *seed = rule->seed;
}
