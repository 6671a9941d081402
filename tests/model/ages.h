/* SPDX-License-Identifier: MIT */
/*
** ages.h - steps of filters that age: epochs that begin as in a blob, or as in a filter table, which
** keeps time itself and takes the dead out later.
*/
#ifndef CUCKOO_MODEL_AGES_H
#define CUCKOO_MODEL_AGES_H

#include "steps.h"

/* No entry is older than so many epochs. */
static void check_clean(const cf_filter *filter, unsigned epochs)
{
    cf_entry entry;
    uint32_t live = probe_epochs(filter, epochs);
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, bucket, slot, &entry) && !(live >> entry.payload & 1))
                model_fail("an entry is left of an epoch that has gone");
}

static void advance(subject *s)
{
    cf_filter *filter = s->m.filter;
    unsigned epochs = filter->geometry.epochs;
    for (uint64_t n = one_in(8) ? random_between(epochs, 20) : random_between(1, 2); n > 0 && epochs;
         n--) {
        if (one_in(2)) {
            if (one_in(2))
                probe_sweep(filter, epochs);
            else
                probe_sweep_next(filter);
            probe_begin_epoch(filter);
        } else {
            cf_advance(filter);
            check_clean(filter, epochs);
        }
        REQUIRE(filter->items == filter->occupied);
    }
}

/* What was added so long ago, or before, is gone for good. */
static void forget_old(model *m, unsigned epochs)
{
    for (uint32_t id = 0; id < m->n; id++) {
        model_item *one = &m->item[id];
        one->copies = one->copies + epochs > m->filter->epoch + 1 ? one->copies : 0;
        one->stored = one->stored + epochs > m->filter->epoch + 1 ? one->stored : 0;
    }
}

/* Is found as long as its epoch is among those that its owner says are live. A merge that failed without memory for a
** copy may have left keys of which the model does not know. */
static void check_live(const subject *s, unsigned epochs)
{
    const cf_filter *filter = s->m.filter;
    for (uint32_t i = 0; i < SAMPLE; i++) {
        const model_item *one = &s->m.item[any_item(s)];
        uint64_t stored = s->m.item[one->leader].stored;
        bool young = one->copies != 0 && one->copies + epochs > filter->epoch + 1;
        bool known = stored != 0 && stored + epochs > filter->epoch + 1;
        bool found = cf_contains(filter, one->hash);
        if (young && !found)
            model_fail("FALSE NEGATIVE: of an epoch that is live");
        if (s->m.exact && !s->m.unsure && found != known)
            model_fail("found by an entry of an epoch that is not live");
    }
}

/* An owner says for a while that fewer epochs are live; keys are added in them, and what is older is
** taken out some buckets at a time. An earlier epoch makes no entry older. */
static void owner(subject *s)
{
    cf_filter *filter = s->m.filter;
    unsigned epochs = filter->geometry.epochs, fewer = epochs ? (unsigned)random_between(1, epochs) : 0;
    if (epochs == 0)
        return;
    probe_live(filter, fewer);
    check_live(s, fewer);
    for (uint64_t epoch = 0; epoch < 40; epoch++)
        REQUIRE(cf_epoch_is_live(filter, epoch) ==
                (epoch <= filter->epoch && epoch + fewer > filter->epoch));
    forget_old(&s->m, fewer);
    for (uint64_t n = random_below(20); n > 0 && !failed; n--) {
        uint32_t id = any_item(s);
        model_item *one = &s->m.item[id], *leader = &s->m.item[one->leader];
        uint64_t age = random_below(model_least(filter->epoch, fewer - 1) + 1);
        uint64_t epoch = filter->epoch - age + 1;
        model_note_stage(&s->m);
        if (probe_add_epoch(filter, one->hash, filter->epoch - age) == CF_OK) {
            one->copies = epoch > one->copies ? epoch : one->copies;
            leader->stored = epoch > leader->stored ? epoch : leader->stored;
        }
        model_note_stage(&s->m);
    }
    check_live(s, fewer);
    probe_sweep(filter, fewer);
    check_clean(filter, fewer);
    probe_live(filter, epochs);
    check_live(s, epochs);
}

#endif
