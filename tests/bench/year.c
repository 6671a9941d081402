/* SPDX-License-Identifier: MIT */
/*
** year.c - a year of a filter table that forgets after 24 hours, under a clock that is set by hand.
**
**      year stream [EVENTS]         EVENTS a day (20,000) for 365 days, in a table planned for as many keys
**      year large [KEYS]            statements of a table with KEYS (10,000,000) in its window, and lookups
**                                   beside those of a ring of nine filters
**
** Of the stream three events in ten are keys of the last two days. There are bursts of ten times as many for up to
** three hours, rests of up to three days, and steps of the clock. Two connections write, one of them with a clock
** that is ahead by a tenth of the window. INSERT OR IGNORE says which events are new, and a list of all times says
** whether that is right. Every tenth event is an INSERT, which makes a key young. The extension is build/cuckoo.so.
*/
#include "bench.h"
#include "database.h"

#include "../../src/cuckoo_filter.h"

#include <stdlib.h>
#include <string.h>

enum { MINUTE = 60000, HOUR = 60 * MINUTE, DAY = 24 * HOUR, KEEP = DAY, DAYS = 365 };

/* ---- the clock ---- */

static sqlite3_vfs by_hand;
static const char *file = "build/bench/year.db"; /* or YEAR_FILE */
static int64_t true_time = INT64_C(212000000000000), ahead;

static int current_time(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
    (void)vfs;
    *now = true_time + ahead;
    return SQLITE_OK;
}

static void set_clock_by_hand(void)
{
    by_hand = *sqlite3_vfs_find(NULL);
    by_hand.zName = "by_hand";
    by_hand.xCurrentTimeInt64 = current_time;
    sqlite3_vfs_register(&by_hand, 1);
}

static double now_ns(void)
{
    return bench_seconds() * 1e9;
}

static uint64_t draw(void)
{
    static uint64_t drawn;
    return bench_random(drawn++);
}

/* ---- one connection ---- */

typedef struct writer {
    sqlite3 *db;
    sqlite3_stmt *ignore, *insert, *ask;
    int64_t ahead;
    double longest; /* of its statements, ns */
} writer;

static writer open_writer(int64_t clock_ahead, const char *create)
{
    writer made = {.db = bench_open(file, "build/cuckoo.so"), .ahead = clock_ahead};
    bench_run(made.db, "PRAGMA synchronous = OFF");
    if (create)
        bench_run(made.db, create);
    made.ignore = bench_prepare(made.db, "INSERT OR IGNORE INTO seen(key) VALUES (?1)");
    made.insert = bench_prepare(made.db, "INSERT INTO seen(key) VALUES (?1)");
    made.ask = bench_prepare(made.db, "SELECT cf_table_contains('seen', ?1)");
    return made;
}

static int64_t run(writer *by, sqlite3_stmt *statement, int64_t key)
{
    ahead = by->ahead;
    double start = now_ns();
    sqlite3_bind_int64(statement, 1, key);
    int rc = sqlite3_step(statement);
    bench_check(by->db, rc);
    int64_t answer = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : sqlite3_changes(by->db);
    sqlite3_reset(statement);
    double took = now_ns() - start;
    by->longest = took > by->longest ? took : by->longest;
    return answer;
}

static double number(writer *by, const char *sql)
{
    sqlite3_stmt *statement = bench_prepare(by->db, sql);
    ahead = by->ahead;
    bench_check(by->db, sqlite3_step(statement));
    double value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static double bytes_of(writer *by)
{
    return number(by, "SELECT json_extract(cf_table_info('seen'), '$.bytes')");
}

/* ---- the stream ---- */

typedef struct stream {
    int64_t *added; /* by key: when it was recorded last, by the true time */
    int64_t keys, room, events;
    uint64_t missed, wrongly_seen, fresh, looked;
    uint64_t found_at[30], old_at[30]; /* by age, in tenths of the window */
    double most, latest;               /* bytes */
    uint64_t false_found, false_asked;
} stream;

static int64_t next_key(stream *of)
{
    int64_t recent = of->keys < 2 * of->events ? of->keys : 2 * of->events;
    if (recent > 0 && draw() % 10 < 3)
        return of->keys - 1 - (int64_t)(draw() % (uint64_t)recent);
    if (of->keys == of->room) {
        of->room = 2 * of->room + 1024;
        of->added = realloc(of->added, (size_t)of->room * sizeof *of->added);
    }
    of->added[of->keys] = -1;
    return of->keys++;
}

static void event(stream *of, writer *by)
{
    int64_t key = next_key(of), last = of->added[key];
    bool young = last >= 0 && true_time - last <= KEEP, plain = draw() % 10 == 0;
    bool new = run(by, plain ? by->insert : by->ignore, key);
    of->fresh += new && !plain;
    of->missed += new && !plain &&young;
    of->wrongly_seen += !new && (last < 0 || true_time - last > 3 * (int64_t)KEEP);
    if (new)
        of->added[key] = true_time;
}

/* Looks some keys up: by age, and some that were never there. */
static void look(stream *of, writer *by)
{
    for (unsigned i = 0; i < 200 && of->keys > 0; i++) {
        int64_t recent = of->keys < 4 * of->events ? of->keys : 4 * of->events;
        int64_t key = of->keys - 1 - (int64_t)(draw() % (uint64_t)recent), last = of->added[key];
        if (last < 0)
            continue;
        bool found = run(by, by->ask, key);
        uint64_t age = (uint64_t)(true_time - last) * 10 / KEEP;
        of->missed += !found && true_time - last <= KEEP;
        of->looked++;
        if (age < 30) {
            of->old_at[age]++;
            of->found_at[age] += found;
        }
        of->false_found += (uint64_t)run(by, by->ask, -1 - (int64_t)(draw() >> 1));
        of->false_asked++;
    }
}

static void print_stream(const stream *of, uint64_t plan, uint64_t ring, double seconds)
{
    printf("%lld keys of %d days, %llu said to be new, %llu looked up: %llu missed, %llu seen wrongly\n",
           (long long)of->keys, DAYS, (unsigned long long)of->fresh, (unsigned long long)of->looked,
           (unsigned long long)of->missed, (unsigned long long)of->wrongly_seen);
    printf("found of those that were added so many windows ago:");
    for (unsigned age = 8; age < 16; age++)
        printf(" %.1f: %.4f", age / 10.0, (double)of->found_at[age] / (double)(of->old_at[age] + 1));
    printf("\nrate %.5f of %llu; bytes at the end %.0f, at most %.0f; a filter of one window %llu "
           "(%.2f, %.2f), "
           "a ring of nine %llu; %.0f s\n",
           (double)of->false_found / (double)of->false_asked, (unsigned long long)of->false_asked,
           of->latest, of->most, (unsigned long long)plan, of->latest / (double)plan,
           of->most / (double)plan, (unsigned long long)ring, seconds);
}

static uint64_t planned(uint64_t keys, double rate)
{
    const char *why;
    cf_geometry shape;
    cf_options options = {.growth = true};
    cf_plan(keys, rate, &options, &shape, &why);
    return cf_geometry_bytes(&shape);
}

static void run_stream(int64_t events)
{
    char create[200];
    stream of = {.events = events};
    int64_t start = true_time, burst_until = 0;
    double began = now_ns();
    remove(file);
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=%lld, fpr=0.001, keep='24 hours', "
             "seed=1)",
             (long long)events);
    writer by[2] = {open_writer(0, create), open_writer(KEEP / 10, NULL)};
    double at_first = bytes_of(&by[0]);
    while (true_time - start < (int64_t)DAYS * DAY) {
        uint64_t chance = draw() % 1000; /* of a quarter of an hour */
        writer *writes = &by[draw() % 2];
        if (chance < 3)
            burst_until = true_time + (int64_t)(draw() % 12 + 1) * 15 * MINUTE;
        else if (chance < 5)
            true_time += (int64_t)(draw() % (3 * (uint64_t)DAY));
        else if (chance < 15) /* the clock goes back for a while, or ahead */
            writes->ahead = (int64_t)(draw() % (KEEP / 10));
        uint64_t now = (uint64_t)events / 96 * (true_time < burst_until ? 10 : 1);
        bench_run(writes->db, "BEGIN IMMEDIATE");
        for (uint64_t i = 0; i < now; i++) {
            event(&of, writes);
            true_time += 15 * MINUTE / (int64_t)now;
        }
        bench_run(writes->db, "COMMIT");
        if (chance % 4 == 0)
            look(&of, &by[draw() % 2]);
        if (chance % 50 == 7) {
            of.latest = bytes_of(&by[0]);
            of.most = of.latest > of.most ? of.latest : of.most;
        }
        if (of.latest > 1.3 * at_first && true_time > burst_until + 2 * (int64_t)DAY &&
            chance % 50 == 8) {
            bench_run(writes->db, "INSERT INTO seen(seen) VALUES ('optimize')");
            of.latest = bytes_of(&by[0]);
        }
    }
    print_stream(&of, planned((uint64_t)events, 0.001), 9 * planned((uint64_t)events / 8, 0.001 / 9),
                 (now_ns() - began) / 1e9);
    printf("at first %.0f bytes (%.2f); longest statement %.2f ms\n", at_first,
           at_first / (double)planned((uint64_t)events, 0.001),
           (by[0].longest > by[1].longest ? by[0].longest : by[1].longest) / 1e6);
}

/* ---- large ---- */

static cf_filter filled(uint64_t keys, double rate, unsigned epochs, uint64_t from)
{
    const char *why;
    cf_geometry shape;
    cf_filter filter;
    cf_options options = {.growth = true, .epochs = epochs};
    cf_plan(keys, rate, &options, &shape, &why);
    uint8_t *bytes = bench_allocate_zeroed(cf_geometry_bytes(&shape));
    cf_create_in_zeros(&filter, &shape, bytes);
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t key = from + i;
        if (epochs && i % (keys / epochs) == 0 && i > 0)
            cf_advance(&filter);
        cf_add(&filter, cf_hash(&shape, &key, sizeof key));
    }
    return filter;
}

static void compare_lookups(uint64_t keys)
{
    enum { RING = 9, ASKED = 2000000 };
    cf_filter one = filled(keys, 0.001, 12, 0), ring[RING];
    uint64_t found = 0, bytes = 0;
    for (unsigned i = 0; i < RING; i++) {
        ring[i] = filled(keys / 8, 0.001 / RING, 0, i * keys);
        bytes += ring[i].length;
    }
    double start = now_ns();
    for (uint64_t i = 0; i < ASKED; i++)
        found += cf_contains(&one, cf_hash(&one.geometry, &(uint64_t){(i * 77 + 1) << 40}, 8));
    double took = (now_ns() - start) / ASKED;
    start = now_ns();
    for (uint64_t i = 0; i < ASKED; i++) {
        uint64_t hash = cf_hash(&one.geometry, &(uint64_t){(i * 77 + 1) << 40}, 8);
        bool any = false;
        for (unsigned j = 0; j < RING && !any; j++)
            any = cf_contains(&ring[j], hash);
        found += any;
    }
    printf("lookups: one that ages %.0f ns, %.1f bits a key; a ring of nine %.0f ns, %.1f bits (%llu "
           "found)\n",
           took, 8.0 * (double)one.length / (double)keys, (now_ns() - start) / ASKED,
           8.0 * (double)bytes / (double)keys, (unsigned long long)found);
}

static void run_large(int64_t keys)
{
    enum { IN_ONE = 1000 };
    char create[200];
    double commits = 0, start = now_ns();
    remove(file);
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=%lld, fpr=0.001, keep='24 hours', "
             "seed=1)",
             (long long)keys);
    writer by = open_writer(0, create);
    bench_run(by.db, "PRAGMA cache_size = -200000");
    for (int64_t key = 0; key < 3 * keys / 2; key++) {
        if (key % IN_ONE == 0)
            bench_run(by.db, "BEGIN");
        true_time = INT64_C(212000000000000) + (int64_t)((double)key * KEEP / (double)keys);
        run(&by, by.ignore, key);
        if (key % IN_ONE != IN_ONE - 1)
            continue;
        double begun = now_ns();
        bench_run(by.db, "COMMIT");
        commits = now_ns() - begun > commits ? now_ns() - begun : commits;
    }
    printf("%lld keys in the window, %lld added: %.2f us each, longest statement %.2f ms, longest "
           "commit of %d %.1f "
           "ms, %.2f bits a key\n",
           (long long)keys, (long long)(3 * keys / 2), (now_ns() - start) / 1.5e3 / (double)keys,
           by.longest / 1e6, IN_ONE, commits / 1e6, 8 * bytes_of(&by) / (double)keys);
    compare_lookups((uint64_t)keys);
}

int main(int argc, char **argv)
{
    bool large = argc > 1 && strcmp(argv[1], "large") == 0;
    int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : large ? 10000000 : 20000;
    if (getenv("YEAR_FILE"))
        file = getenv("YEAR_FILE");
    set_clock_by_hand();
    (large ? run_large : run_stream)(n);
    return 0;
}
