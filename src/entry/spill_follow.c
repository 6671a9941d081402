/* SPDX-License-Identifier: MIT */
#include "spill_follow.h"

#include "entry.h"
#include "spill.h"

/* ---- is there room? ---- */

static bool overflows(const cf_filter *filter, uint64_t bucket)
{
    return filter->spilled > 0 && cf_overflow_get(filter, bucket);
}

/* Counts one more entry of the bucket that is going to be split, in a filter of the stage now. */
static void count_children(const cf_filter *filter, uint64_t tag, unsigned *low, unsigned *high)
{
    cf_children to =
        cf_children_of(filter, filter->view.form.grown ? tag : cf_with_terminator(filter, tag));
    *low += to.low;
    *high += to.high;
}

static unsigned beyond(unsigned entries, unsigned slots)
{
    return entries > slots ? entries - slots : 0;
}

/* Entries by which the list becomes longer when a bucket that overflows is split. */
static unsigned lengthens_by(const cf_filter *filter, uint64_t bucket)
{
    unsigned low = 0, high = 0, b = filter->geometry.bucket_size;
    uint64_t tag[CF_BUCKET_MAX];
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        tag[slot] = cf_slot_get(filter, bucket, slot);
    for (unsigned slot = 0; slot < b; slot++)
        count_children(filter, tag[slot], &low, &high);
    unsigned first = cf_spill_first(filter, bucket), at = first;
    for (; cf_spill_lies_in(filter, at, bucket); at++)
        count_children(filter, cf_spill_get(filter, at).tag, &low, &high);
    cf_work(filter, at - first);
    return beyond(beyond(low, b) + beyond(high, b), at - first);
}

/* Is there room for the next split without following? */
static bool has_room(const cf_filter *filter, uint64_t bucket, cf_steps *steps)
{
    steps->next = overflows(filter, bucket) ? lengthens_by(filter, bucket) : 0;
    /* RULE: a split needs room in the list for what it doubles */
    return filter->spilled + steps->more + steps->next <= filter->geometry.spill_bound;
}

bool cf_spill_can_split(cf_filter *filter, uint64_t bucket, cf_steps *steps)
{
    if (has_room(filter, bucket, steps))
        return true;
    cf_spill_follow(filter, steps);
    return has_room(filter, bucket, steps);
}

void cf_spill_note_split(cf_filter *filter, uint64_t bucket, cf_steps *steps)
{
    if (!overflows(filter, bucket))
        return;
    if (!steps->any)
        steps->from = filter->split;
    steps->any = true;
    steps->more += steps->next;
    cf_overflow_set(filter, bucket, false);
}

/* ---- following ---- */

/* What has been split: buckets of a level, from one split pointer to before another. */
typedef struct split_row {
    uint64_t from, to, buckets; /* buckets: so many there were before */
    bool placed;                /* an entry of the list has found a slot: it names its buckets no more */
    unsigned free;              /* no entry that is gone comes before this one */
} split_row;

static bool in_row(const cf_filter *filter, const split_row *row, uint64_t base, uint64_t extension)
{
    uint64_t at = base << filter->level | (extension & filter->view.level_mask);
    return row->from <= at && at < row->to;
}

static bool side_in_row(const cf_filter *filter, const split_row *row, const cf_side *side)
{
    return in_row(filter, row, side->base, side->bits >> filter->geometry.pair_bits);
}

/* Does this entry have a bucket that was split in its pair? */
static bool is_touched(const cf_filter *filter, const split_row *row, const cf_entry *entry)
{
    cf_side other = cf_alternate(filter, entry->side);
    return side_in_row(filter, row, &entry->side) || side_in_row(filter, row, &other);
}

/* An entry that is gone: it comes last when the list is sorted, and names no bucket. */
static const cf_spilled gone = {CF_SPILL_NOWHERE, 0, 0};

/* Gives an entry an empty slot of its bucket; false: there is none. */
static bool give_slot(cf_filter *filter, split_row *row, const cf_spilled *line)
{
    int slot = cf_bucket_free_slot(filter, line->bucket);
    if (slot < 0)
        return false;
    cf_slot_set(filter, line->bucket, (unsigned)slot, line->tag, line->payload);
    cf_count_occupied(filter);
    cf_spill_mark(filter, line, false);
    row->placed = true;
    return true;
}

/* Puts a further entry into the list: where one of the first `end` is gone, or else behind the others.
** A list that lies may have room for neither. */
static void put_copy(cf_filter *filter, split_row *row, unsigned end, const cf_spilled *line)
{
    while (row->free < end && cf_spill_get(filter, row->free).bucket != CF_SPILL_NOWHERE)
        row->free++;
    bool behind = row->free == end;
    /* RULE: the copy of a void entry has room in the list */
    if (!behind || filter->spilled < filter->geometry.spill_bound)
        cf_spill_put(filter, behind ? filter->spilled++ : row->free, line);
}

/* Entry `index` lies in a bucket that was split. A void one goes to both children. When neither has a
** slot for it, no later entry of this bucket finds one: so the list never needs more room than
** lengthens_by says. */
static void split_line(cf_filter *filter, split_row *row, unsigned index)
{
    cf_spilled line = cf_spill_get(filter, index);
    cf_home home = cf_home_of(filter, line.bucket);
    cf_children to = cf_children_of(filter, line.tag); /* a spilled entry splits as one in a slot */
    uint64_t up = cf_bucket_number(filter, home.base, home.extension | (uint64_t)1 << filter->level);
    cf_spilled stays = {line.bucket, to.tag, line.payload}, goes = {up, to.tag, line.payload};
    /* RULE: a spilled entry stays in the list when its bucket is full */
    bool low = to.low && !give_slot(filter, row, &stays);
    /* RULE: a spilled entry follows to the new bucket */
    bool high = to.high && !give_slot(filter, row, &goes);
    cf_spill_put(filter, index, low ? &stays : high ? &goes : &gone);
    if (low && high)
        put_copy(filter, row, index, &goes);
}

static void split_lines(cf_filter *filter, split_row *row)
{
    unsigned n = filter->spilled;
    for (unsigned i = 0; i < n; i++) {
        uint64_t bucket = cf_spill_get(filter, i).bucket;
        cf_home home = cf_home_of(filter, bucket);
        if (bucket < row->buckets && in_row(filter, row, home.base, home.extension))
            split_line(filter, row, i);
    }
}

/* Puts an entry into an empty slot of a bucket that was split. False: there is none. */
static bool place_in_row(cf_filter *filter, split_row *row, const cf_entry *entry)
{
    cf_pair pair = cf_pair_from(filter, entry->side);
    for (unsigned i = 0; i < pair.sides; i++) {
        cf_spilled line = {pair.place[i].bucket, cf_entry_tag(filter, entry, pair.place[i]),
                           cf_entry_payload(filter, entry)};
        /* RULE: room is looked for in buckets that were split; equivalent without: others have none */
        if (side_in_row(filter, row, &pair.side[i]) && give_slot(filter, row, &line))
            return true;
    }
    return false;
}

/* Room that splitting has made is taken by any entry that has it in its pair. */
static void take_room(cf_filter *filter, split_row *row)
{
    cf_entry entry;
    for (unsigned i = 0; i < filter->spilled; i++)
        if (cf_spilled_at(filter, i, &entry) && is_touched(filter, row, &entry) &&
            place_in_row(filter, row, &entry))
            cf_spill_put(filter, i, &gone);
}

static void drop_gone(cf_filter *filter)
{
    cf_spill_sort(filter);
    while (filter->spilled > 0 && cf_spill_get(filter, filter->spilled - 1).bucket == CF_SPILL_NOWHERE)
        cf_spill_take_out(filter, filter->spilled - 1);
}

static void mark_lines(cf_filter *filter, const split_row *row)
{
    cf_entry entry;
    for (unsigned i = 0; i < filter->spilled; i++)
        if (cf_spilled_at(filter, i, &entry) && (row->placed || is_touched(filter, row, &entry))) {
            cf_spilled line = cf_spill_get(filter, i);
            cf_spill_mark(filter, &line, true);
        }
}

void cf_spill_follow(cf_filter *filter, cf_steps *steps)
{
    enum { COST = 100 }; /* nanoseconds */
    split_row row = {.from = steps->from, .to = filter->split};
    if (!steps->any)
        return;
    row.buckets = cf_buckets_at(&filter->geometry, filter->level, steps->from);
    cf_tick(&steps->ticker, COST * filter->spilled);
    cf_work(filter, filter->spilled);
    split_lines(filter, &row);
    take_room(filter, &row);
    drop_gone(filter);
    mark_lines(filter, &row);
    *steps = (cf_steps){.ticker = steps->ticker};
}
