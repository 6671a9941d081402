/* SPDX-License-Identifier: MIT */
/*
** calls.h - calls on a filter and on the model beside it, compared.
*/
#ifndef CUCKOO_MODEL_CALLS_H
#define CUCKOO_MODEL_CALLS_H

#include "model.h"

/* ---- calls that are refused ---- */

/* What they must leave as it was. */
typedef struct model_then {
    cf_filter filter;
    uint8_t *bytes; /* NULL: too long to be kept each time */
} model_then;

enum { MODEL_KEPT = 4096 };

static inline model_then model_remember(const model *m)
{
    model_then then = {*m->filter, NULL};
    if (m->filter->length <= MODEL_KEPT || m->filter->items % 16 == 0) {
        then.bytes = model_need(malloc(m->filter->length));
        memcpy(then.bytes, m->filter->bytes, m->filter->length);
    }
    return then;
}

static inline bool model_same_bytes(const cf_filter *now, const model_then *then)
{
    return now->length == then->filter.length && memcmp(now->bytes, then->bytes, now->length) == 0;
}

/* The same answers; and the same counts and stage and bytes, unless it may have grown for a key that was
** refused all the same. */
static inline void model_check_unchanged(model *m, const model_then *then)
{
    const cf_filter *a = m->filter, *b = &then->filter;
    bool same =
        a->epoch == b->epoch && (a->items == b->items || (a->geometry.growth && a->geometry.epochs));
    if (!a->geometry.growth)
        same = same && a->length == b->length && a->level == b->level && a->split == b->split &&
               a->buckets == b->buckets && a->occupied == b->occupied && a->stashed == b->stashed &&
               (then->bytes == NULL || model_same_bytes(a, then));
    if (!same)
        model_fail("a call that was refused has changed the filter");
    model_check_some(m, 4);
}

static inline void model_let_go(model_then *then)
{
    free(then->bytes);
}

/* ---- adding ---- */

/* The copies of an item, in the model only. */
static inline void model_put(model *m, uint32_t id, uint64_t copies)
{
    model_item *one = &m->item[id];
    uint64_t *stored = &m->item[one->leader].stored;
    if (model_shape(m)->epochs) {
        *stored = one->copies = m->filter->epoch + 1;
        return;
    }
    one->copies += copies;
    *stored = model_least(*stored + copies, model_most(m));
    m->items += copies;
    if (one->copies >= model_most(m))
        one->stuck = true;
}

/* Entries may know no more than one of a key that were added to this filter now. */
static inline void model_note_length(model *m, const cf_filter *filter)
{
    cf_pair pair = cf_candidates(filter, 1);
    model_keep_shortest(m, cf_new_fingerprint(filter, &pair.side[0]).length);
}

static inline void model_note_stage(model *m)
{
    m->exact = m->exact && !model_has_grown(m->filter);
    model_note_length(m, m->filter);
}

static inline cf_status model_add(model *m, uint32_t id)
{
    const model_item *one = &m->item[id];
    uint64_t before = model_counted(m, id), most = model_most(m);
    model_then then = model_remember(m);
    model_note_stage(m);
    cf_status status = cf_add_value(m->filter, one->hash, one->value);
    if (status == CF_OK) {
        model_put(m, id, 1);
        if (model_counted(m, id) < model_least(before + 1, most))
            model_fail("an add does not count: %llu copies before", (unsigned long long)before);
    } else {
        if (before >= most && m->exact)
            model_fail("a saturated key is refused: %s", cf_status_text(status));
        model_check_unchanged(m, &then);
    }
    model_note_stage(m);
    model_check_item(m, id);
    if (m->filter->items != model_items(m))
        model_fail("%llu items after an add", (unsigned long long)m->filter->items);
    model_let_go(&then);
    return status;
}

/* ---- deleting ---- */

/* What a delete must answer; CF_REMOVED: that, or as the filter knows. */
static inline void model_check_deleted(const model *m, uint32_t id, cf_deleted answer, uint64_t before)
{
    uint64_t stored = model_stored(m, id), most = model_most(m), now = model_counted(m, id);
    bool ages = model_shape(m)->epochs != 0;
    cf_deleted expected = stored == 0 ? CF_ABSENT : stored < most && !ages ? CF_REMOVED : CF_SATURATED;
    if (ages && answer != CF_REMOVED && stored == 0)
        expected = answer; /* of the dead it says what it likes */
    if (m->exact && !m->unsure && answer != expected)
        model_fail("a delete of %llu copies answers %d", (unsigned long long)stored, (int)answer);
    if (answer == CF_ABSENT && model_copies(m, id) > 0)
        model_fail("LOST: a key that is present is deleted, but it is absent");
    if (answer == CF_SATURATED && before < most && !ages)
        model_fail("saturated, with %llu copies", (unsigned long long)before);
    if (now != before - (answer == CF_REMOVED))
        model_fail("a delete takes %llu copies to %llu", (unsigned long long)before,
                   (unsigned long long)now);
}

/* Deletes a copy that is present; or none, before growth, when no other key may lose by it. */
static inline cf_deleted model_delete(model *m, uint32_t id)
{
    model_item *one = &m->item[id];
    uint64_t before = model_counted(m, id);
    model_then then = model_remember(m);
    cf_deleted answer = cf_delete_value(m->filter, one->hash, one->value);
    model_check_deleted(m, id, answer, before);
    if (answer != CF_REMOVED)
        model_check_unchanged(m, &then);
    if (!model_shape(m)->epochs) {
        one->copies -= one->copies > 0;
        m->items -= answer == CF_REMOVED;
        m->item[one->leader].stored -= answer == CF_REMOVED && m->item[one->leader].stored > 0;
        one->stuck |= answer == CF_SATURATED;
    }
    model_check_item(m, id);
    if (m->filter->items != model_items(m))
        model_fail("%llu items after a delete", (unsigned long long)m->filter->items);
    model_let_go(&then);
    return answer;
}

/* May this be deleted? What is not there may when no other key can lose by it. */
static inline bool model_may_delete(const model *m, uint32_t id)
{
    uint64_t stored = model_stored(m, id);
    bool none = m->exact && !m->unsure && (stored == 0 || stored >= model_most(m));
    return model_copies(m, id) > 0 || none || model_shape(m)->epochs || model_counted(m, id) == 0;
}

/* ---- merging ---- */

static inline uint64_t model_sum_of(const model *m, uint64_t one, uint64_t other, uint64_t most)
{
    if (model_shape(m)->epochs)
        return one > other ? one : other;
    return model_least(one + other, most);
}

/* The sum of two models of the same items. */
static inline void model_sum_up(model *into, const model *from)
{
    for (uint32_t id = 0; id < into->n; id++) {
        model_item *one = &into->item[id];
        const model_item *other = &from->item[id];
        one->copies = model_sum_of(into, one->copies, other->copies, UINT64_MAX);
        one->stored = model_sum_of(into, one->stored, other->stored, model_most(into));
        one->stuck |= other->stuck || (one->copies >= model_most(into) && !model_shape(into)->epochs);
    }
    into->items += from->items;
    into->unsure |= from->unsure;
    into->exact &= from->exact;
    model_keep_shortest(into, from->shortest);
}

/* `from` has the same items, and is not changed. */
static inline cf_status model_merge(model *into, const model *from)
{
    const char *why = "unset";
    bool copied = into->filter->memory.resize != NULL;
    model_then then = model_remember(into), other = model_remember(from);
    cf_status status = cf_merge(into->filter, from->filter, &why);
    if (other.bytes && !model_same_bytes(from->filter, &other))
        model_fail("a merge changes what it reads");
    if (status == CF_OK)
        model_sum_up(into, from);
    else if (copied || status == CF_MISMATCH)
        model_check_unchanged(into, &then);
    else
        into->unsure = true, into->items = into->filter->items;
    model_note_stage(into);
    model_let_go(&then);
    model_let_go(&other);
    return status;
}

#endif
