/* SPDX-License-Identifier: MIT */
#include "hashes.h"

#include "block.h"
#include "errors.h"
#include "watch.h"

#include "../src/sort.h"

#include <assert.h>

enum { FEWEST_HASHES = 256 };

bool cuckoo_hashes_grow(sqlite3_context *context, cuckoo_hashes *hashes)
{
    assert(hashes->room < CUCKOO_HASHES_MOST);
    size_t room = hashes->room ? 2 * hashes->room : FEWEST_HASHES;
    if (room > CUCKOO_HASHES_MOST)
        room = CUCKOO_HASHES_MOST;
    uint64_t *larger = sqlite3_realloc64(hashes->at, room * sizeof *larger);
    if (larger == NULL)
        return cuckoo_fail_no_memory(context);
    hashes->at = larger;
    hashes->room = room;
    return true;
}

bool cuckoo_hashes_sort(sqlite3_context *context, uint64_t *at, size_t n)
{
    cuckoo_watch watch;
    cuckoo_watch_begin(&watch, sqlite3_context_db_handle(context));
    cf_ticker ticker = cf_ticker_of(&watch.hook);
    bool done = cf_sort_with(at, n, cuckoo_block_plain, &ticker);
    cuckoo_watch_end(&watch);
    return done || cuckoo_fail_interrupted(context);
}

void cuckoo_hashes_free(cuckoo_hashes *hashes)
{
    sqlite3_free(hashes->at);
    *hashes = (cuckoo_hashes){NULL, 0, 0};
}
