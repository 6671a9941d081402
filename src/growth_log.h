/*
** growth_log.h - growth that can be taken back: each bucket as it was before it was split is written down.
**
** Splitting loses nothing of the entries but, in semi-sorted buckets, their slots; and void entries are in two buckets
** afterwards. So a step is not undone by putting entries together again: the record is written back.
*/
#ifndef CF_GROWTH_LOG_H
#define CF_GROWTH_LOG_H

#include "bucket.h"

/* Steps that can be taken back: the filter before them, and each bucket as it was before it was split. */
typedef struct cf_growth_log {
    cf_filter then;
    uint8_t *bytes; /* the spill list of then; the records, packed, each in whole bytes */
    uint64_t used, room;
    uint8_t first[512]; /* `bytes` as long as it is enough */
} cf_growth_log;

/* From here on. */
void cf_growth_log_begin(cf_growth_log *log, const cf_filter *filter);

/* cf_grow, written down. */
cf_status cf_grow_logged(cf_filter *filter, cf_growth_log *log);

/* Takes growth back, when nothing but growth has happened since: the bytes are those of then. */
void cf_grow_back(cf_filter *filter, cf_growth_log *log);

/* Gives the memory of the log back. */
void cf_growth_log_end(const cf_filter *filter, cf_growth_log *log);

/* For growth.c. Room for the next record, whatever its width, and for the list when it is the first: CF_OK or
** CF_NO_MEMORY. Then, once, the spill list, and each record before its bucket is split. */
cf_status cf_log_reserve(const cf_filter *filter, cf_growth_log *log);
void cf_log_list(const cf_filter *filter, cf_growth_log *log);
void cf_log_record(const cf_filter *filter, const cf_record *record, cf_growth_log *log);

#endif
