/* SPDX-License-Identifier: MIT */
#include "dirty.h"

#include "block.h"

#include <assert.h>
#include <stdlib.h>

bool cuckoo_dirty_enlarge(cuckoo_dirty *dirty, uint64_t had, uint64_t pages)
{
    return cuckoo_block_enlarge((void **)&dirty->is, had, pages, sizeof *dirty->is);
}

bool cuckoo_dirty_mark(cuckoo_dirty *dirty, uint64_t page)
{
    if (dirty->is[page])
        return true;
    if (dirty->count == dirty->room) {
        uint64_t room = 2 * dirty->room + 16;
        if (!cuckoo_block_enlarge((void **)&dirty->pages, dirty->room, room, sizeof *dirty->pages))
            return false;
        dirty->room = room;
    }
    dirty->is[page] = 1;
    dirty->pages[dirty->count++] = page;
    return true;
}

/* Goes through the pages or through the list, whichever is shorter. */
uint64_t cuckoo_dirty_next(const cuckoo_dirty *dirty, uint64_t page, uint64_t end)
{
    assert(page <= end);
    if (end - page < dirty->count) {
        while (page < end && !dirty->is[page])
            page++;
        return page;
    }
    for (uint64_t i = 0; i < dirty->count; i++)
        if (dirty->pages[i] >= page && dirty->pages[i] < end)
            end = dirty->pages[i];
    return end;
}

void cuckoo_dirty_clear(cuckoo_dirty *dirty)
{
    for (uint64_t i = 0; i < dirty->count; i++)
        dirty->is[dirty->pages[i]] = 0;
    dirty->count = 0;
}

void cuckoo_dirty_free(cuckoo_dirty *dirty)
{
    free(dirty->is);
    free(dirty->pages);
}
