/* SPDX-License-Identifier: MIT */
#include "memory.h"

void cf_set_ways(cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    cf_view *view = &filter->view;
    view->table = filter->bytes + CF_HEADER_BYTES;
    view->kind = filter->pages ? 0 : view->form.kind;
    view->quick = g->stash_size == 0 && g->epochs == 0;
    view->whole = view->kind == CF_KIND_OF_WHOLE && view->quick ? view->form.bucket_bits / 8 : 0;
    view->quick_add =
        g->epochs == 0 && filter->stashed == 0 && filter->writable != NULL && !view->sealed;
    /* RULE: keys with one value and possibly two copies are deleted this way; equivalent removed: all
    ** deletes take the other way */
    view->quick_delete = view->quick && view->quick_add && g->max_copies > 1 && g->value_bits == 0;
}

/* Complements the checksum, or restores it: only a filter with a sealed header can be opened. */
static void set_sealed(cf_filter *filter, bool sealed)
{
    filter->view.sealed = false; /* otherwise cf_change would call cf_unseal */
    cf_change(filter, 0, CF_HEADER_BYTES);
    for (unsigned i = CF_HEADER_BYTES - 4; i < CF_HEADER_BYTES; i++)
        filter->writable[i] ^= UINT8_MAX;
    filter->view.sealed = sealed;
    cf_set_ways(filter);
}

CF_NEVER_INLINE void cf_unseal(cf_filter *filter)
{
    set_sealed(filter, false);
}

void cf_reseal(cf_filter *filter)
{
    set_sealed(filter, true);
}
