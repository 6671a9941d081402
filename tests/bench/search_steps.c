/* SPDX-License-Identifier: MIT */
#include "search_steps.h"

#include "../../src/table/bucket.h"
#include "../../src/entry/eviction.h"
#include "bench.h"

/* Looks for an empty slot as the library will, in the buckets of the key and then along paths.
** False: there is none within the budget; steps->examined counts on. */
static bool look(const cf_filter *filter, const cf_pair *pair, cf_search_budget budget,
                 bench_steps *steps)
{
    cf_search search;
    steps->written = 1;
    for (unsigned i = 0; i < pair->sides; i++) {
        steps->examined++;
        if (cf_bucket_free_slot(filter, pair->place[i].bucket) >= 0)
            return true;
    }
    if (budget.examined == 0)
        return false;
    bool found = cf_eviction_search(filter, pair, budget, &search);
    unsigned left = search.left.examined;
    steps->examined += left <= budget.examined ? budget.examined - left : budget.examined;
    for (cf_node at = search.leaf; found && at.parent != CF_NO_PARENT; at = search.node[at.parent])
        steps->written++;
    return found;
}

static unsigned clear_bits(const cf_filter *filter, const cf_pair *pair)
{
    unsigned clear = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        clear += !cf_overflow_get(filter, pair->place[i].bucket);
    return clear;
}

bench_steps search_add(cf_filter *filter, uint64_t hash)
{
    static const cf_search_budget ordinary = {CF_SEARCH_BUCKETS, CF_ANY_NUMBER};
    bench_steps steps = {.written = 0};
    cf_pair pair = cf_pair_of(filter, hash);
    cf_search_budget few = {CF_SEARCH_BUCKETS, filter->geometry.budget};
    bool may_spill = filter->spilled < filter->geometry.spill_bound;
    bool found = look(filter, &pair, may_spill ? few : ordinary, &steps);
    unsigned spilled = filter->spilled, bits = clear_bits(filter, &pair);
    steps.refused = cf_add(filter, hash) != CF_OK;
    if (filter->spilled > spilled)
        steps.written = bits;
    else if (!found && !steps.refused)
        steps.written = 0; /* absorbed */
    return steps;
}
