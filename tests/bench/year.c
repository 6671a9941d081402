/* SPDX-License-Identifier: MIT */
/*
** year.c - a year of a filter table that forgets after 24 hours, under clocks that are set by hand.
**
**      year stream [EVENTS [DAYS]]  EVENTS a day (20,000) for DAYS (365), in a table planned for as many keys
**      year ring [EVENTS [DAYS]]    the same, beside a ring of nine filter tables in the same database
**      year large [KEYS]            statements of a table with KEYS (10,000,000) in its window, and lookups
**                                   beside those of a ring of nine filters
**
** Of the stream three events in ten are keys of the last two days. There are bursts of ten times as many for up to
** three hours, rests of up to three days, and steps of the clocks. Two processes write, in turns of chance, one of
** them with a clock that is ahead by a tenth of the window. INSERT OR IGNORE says which events are new, and a list
** of the last times of all keys, which the processes share, says whether that is right. Every tenth event is an
** INSERT, which makes a key young. The ring: a table for each eighth of the window, and the one that is being
** filled; it turns by the true time. A lookup asks all of them, the newest first; the oldest is cleared. The
** extension is build/cuckoo.so; the database, YEAR_FILE.
*/
#define _GNU_SOURCE
#include "bench.h"
#include "database.h"

#include "../../src/cuckoo_filter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MINUTE = 60000, HOUR = 60 * MINUTE, DAY = 24 * HOUR, KEEP = DAY, RING = 9, PART = 4000 };

/* ---- what the processes share ---- */

/* What a table says of the events, beside what is true. */
typedef struct side {
    uint64_t missed, wrongly_seen, never, fresh, old,
        again;                                 /* fresh of those never added, again of the old */
    uint64_t looked, found_at[30], old_at[30]; /* by age, in tenths of the window */
    uint64_t false_found, false_asked;
    double most, latest, seconds, longest, interrupted, optimized;
    int64_t *added; /* by key: when it was recorded last, by the true time */
} side;

typedef struct year {
    int64_t events, days, true_time, quarter, burst_until, turned, ahead[2];
    uint64_t drawn, keys, room, written;
    uint64_t chance, quarter_events, left; /* of a quarter of an hour */
    unsigned newest;                       /* table of the ring */
    bool ring, over;
    double at_first;
    side sides[2];
} year;

static const int64_t first_time = INT64_C(212000000000000);
static year *all;
static unsigned own; /* the process: 0 or 1 */
static const char *file = "build/bench/year.db";

static uint64_t draw(void)
{
    return bench_random(all->drawn++);
}

static void *shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bench_fail("out of memory");
    return memory;
}

/* ---- the clocks ---- */

static sqlite3_vfs by_hand;

static int current_time(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
    (void)vfs;
    *now = all->true_time + all->ahead[own];
    return SQLITE_OK;
}

static void set_clock_by_hand(void)
{
    by_hand = *sqlite3_vfs_find(NULL);
    by_hand.zName = "by_hand";
    by_hand.xCurrentTimeInt64 = current_time;
    sqlite3_vfs_register(&by_hand, 1);
}

/* Wall time: asking for processor time takes as long as a lookup. */
static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* How often another program took the processor away. */
static long interruptions(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nivcsw;
}

/* ---- one process ---- */

/* Statements of the table that ages, then those of the ring by the number of its newest table. */
typedef struct writer {
    sqlite3 *db;
    sqlite3_stmt *ignore[1 + RING], *insert[1 + RING], *ask[2];
    long interrupted; /* interruptions() of lately */
} writer;

/* The condition that a key is in the ring, the newest table first. */
static char *in_ring(unsigned newest)
{
    char *sql = sqlite3_mprintf("0");
    for (unsigned i = 0; i < RING; i++)
        sql = sqlite3_mprintf("%z OR cf_table_contains('ring%u', ?1)", sql, (newest + RING - i) % RING);
    return sql;
}

static sqlite3_stmt *prepare(writer *by, char *sql)
{
    sqlite3_stmt *statement = bench_prepare(by->db, sql);
    sqlite3_free(sql);
    return statement;
}

static void create_tables(writer *by)
{
    bench_run_format(by->db,
                     "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=%lld, fpr=0.001, keep='24 "
                     "hours', seed=1)",
                     all->events);
    for (unsigned i = 0; all->ring && i < RING; i++)
        bench_run_format(
            by->db,
            "CREATE VIRTUAL TABLE ring%u USING cuckoo_filter(capacity=%lld, fpr=%g, adds=once, seed=1)",
            i, all->events / 8, 0.001 / RING);
}

static writer open_writer(void)
{
    writer made = {.db = bench_open(file, "build/cuckoo.so")};
    bench_run(made.db,
              "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
    if (own == 0)
        create_tables(&made);
    made.ignore[0] = bench_prepare(made.db, "INSERT OR IGNORE INTO seen(key) VALUES (?1)");
    made.insert[0] = bench_prepare(made.db, "INSERT INTO seen(key) VALUES (?1)");
    made.ask[0] = bench_prepare(made.db, "SELECT cf_table_contains('seen', ?1)");
    for (unsigned i = 0; all->ring && i < RING; i++) {
        made.ignore[1 + i] =
            prepare(&made, sqlite3_mprintf("INSERT OR IGNORE INTO ring%u(key) SELECT ?1 WHERE NOT (%z)",
                                           i, in_ring(i)));
        made.insert[1 + i] =
            prepare(&made, sqlite3_mprintf("INSERT OR IGNORE INTO ring%u(key) VALUES (?1)", i));
    }
    if (all->ring)
        made.ask[1] = prepare(&made, sqlite3_mprintf("SELECT %z", in_ring(0)));
    return made;
}

static int64_t run(writer *by, side *of, sqlite3_stmt *statement, int64_t key)
{
    double start = now_ns();
    sqlite3_bind_int64(statement, 1, key);
    int rc = sqlite3_step(statement);
    bench_check(by->db, rc);
    int64_t answer = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : sqlite3_changes(by->db);
    sqlite3_reset(statement);
    double took = now_ns() - start;
    if (took > of->longest)
        *(interruptions() == by->interrupted ? &of->longest : &of->interrupted) = took;
    return answer;
}

static double number(writer *by, char *sql)
{
    sqlite3_stmt *statement = prepare(by, sql);
    bench_check(by->db, sqlite3_step(statement));
    double value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static double bytes_of(writer *by, const char *table)
{
    return number(by, sqlite3_mprintf("SELECT json_extract(cf_table_info(%Q), '$.bytes')", table));
}

static void note_bytes(writer *by)
{
    double bytes[2] = {bytes_of(by, "seen"), 0};
    for (char name[] = "ring0"; all->ring && name[4] < '0' + RING; name[4]++)
        bytes[1] += bytes_of(by, name);
    for (unsigned i = 0; i < 2; i++) {
        all->sides[i].latest = bytes[i];
        all->sides[i].most = bytes[i] > all->sides[i].most ? bytes[i] : all->sides[i].most;
    }
}

/* ---- the stream ---- */

static uint64_t next_key(void)
{
    uint64_t recent = all->keys < 2 * (uint64_t)all->events ? all->keys : 2 * (uint64_t)all->events;
    if (recent > 0 && draw() % 10 < 3)
        return all->keys - 1 - draw() % recent;
    for (unsigned i = 0; i <= all->ring; i++)
        all->sides[i].added[all->keys % all->room] = -1;
    return all->keys++;
}

static void event(side *of, writer *by, uint64_t key, bool plain)
{
    unsigned table = of == all->sides ? 0 : 1 + all->newest;
    int64_t *added = &of->added[key % all->room], age = all->true_time - *added;
    bool new = run(by, of, plain ? by->insert[table] : by->ignore[table], (int64_t)key);
    if (!plain && *added < 0) {
        of->never++;
        of->fresh += new;
    } else if (!plain && age <= KEEP) {
        of->missed += new;
    } else if (!plain) {
        of->old++;
        of->again += new;
        of->wrongly_seen += !new &&age > 3 * (int64_t)KEEP;
    }
    if (new || plain)
        *added = all->true_time;
}

static void turn_ring(writer *by)
{
    for (; all->true_time - all->turned >= KEEP / 8; all->turned += KEEP / 8) {
        all->newest = (all->newest + 1) % RING;
        bench_run_format(by->db, "INSERT INTO ring%u(ring%u) VALUES ('clear')", all->newest,
                         all->newest);
    }
}

/* The same events for both, each in a transaction of its own. */
static void write_part(writer *by, uint64_t n)
{
    uint64_t keys[PART], of_quarter = all->quarter_events, done = of_quarter - all->left;
    bool plain[PART];
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = next_key();
        plain[i] = draw() % 10 == 0;
    }
    for (side *of = all->sides; of <= all->sides + all->ring; of++) {
        double start = bench_seconds();
        bench_run(by->db, "BEGIN IMMEDIATE");
        for (uint64_t i = 0; i < n; i++) {
            if (i % 64 == 0)
                by->interrupted = interruptions();
            all->true_time = all->quarter + 15 * MINUTE * (int64_t)(done + i) / (int64_t)of_quarter;
            if (of != all->sides && all->true_time - all->turned >= KEEP / 8)
                turn_ring(by);
            event(of, by, keys[i], plain[i]);
        }
        bench_run(by->db, "COMMIT");
        of->seconds += bench_seconds() - start;
    }
    all->left -= n;
    all->written += n;
}

/* Looks some keys up: by age, and some that were never there. */
static void look(side *of, writer *by)
{
    for (unsigned i = 0; i < 200 && all->keys > 0; i++) {
        uint64_t recent = all->keys < all->room ? all->keys : all->room,
                 key = all->keys - 1 - draw() % recent;
        int64_t last = of->added[key % all->room];
        if (last < 0)
            continue;
        bool found = run(by, of, by->ask[of != all->sides], (int64_t)key);
        uint64_t age = (uint64_t)(all->true_time - last) * 10 / KEEP;
        of->missed += !found && all->true_time - last <= KEEP;
        of->looked++;
        if (age < 30) {
            of->old_at[age]++;
            of->found_at[age] += found;
        }
        of->false_found += (uint64_t)run(by, of, by->ask[of != all->sides], -1 - (int64_t)(draw() >> 1));
        of->false_asked++;
    }
}

static void optimize(writer *by)
{
    double start = bench_seconds();
    bench_run(by->db, "INSERT INTO seen(seen) VALUES ('optimize')");
    start = bench_seconds() - start;
    all->sides[0].optimized = start > all->sides[0].optimized ? start : all->sides[0].optimized;
    all->sides[0].seconds += start;
    note_bytes(by);
}

static void begin_quarter(void)
{
    uint64_t chance = draw() % 1000;
    if (chance < 3)
        all->burst_until = all->true_time + (int64_t)(draw() % 12 + 1) * 15 * MINUTE;
    else if (chance < 5)
        all->true_time += (int64_t)(draw() % (3 * (uint64_t)DAY));
    else if (chance < 15) /* the clock goes back for a while, or ahead */
        all->ahead[own] = (int64_t)(draw() % (KEEP / 10));
    all->chance = chance;
    all->quarter = all->true_time;
    all->left = all->quarter_events =
        (uint64_t)all->events / 96 * (all->true_time < all->burst_until ? 10 : 1);
}

static void end_quarter(writer *by)
{
    all->true_time = all->quarter + 15 * MINUTE;
    for (unsigned i = 0; all->chance % 4 == 0 && i <= all->ring; i++)
        look(&all->sides[i], by);
    if (all->chance % 50 == 7)
        note_bytes(by);
    if (all->sides[0].latest > 1.3 * all->at_first && all->chance % 50 == 8 &&
        all->true_time > all->burst_until + 2 * (int64_t)DAY)
        optimize(by);
    all->over = all->true_time - first_time >= all->days * DAY;
}

/* A part of a quarter of an hour, by this process. */
static void write_some(writer *by)
{
    if (all->left == 0)
        begin_quarter();
    write_part(by, all->left < PART ? all->left : PART);
    if (all->left == 0)
        end_quarter(by);
}

/* Until the other process passes the turn on: false when the year is over. */
static bool wait_for_turn(int from)
{
    bool over;
    if (read(from, &over, sizeof over) != sizeof over)
        bench_fail("the other process has ended");
    return !over;
}

/* Which of the two writes next is drawn; so a year is the same whenever it is run. */
static void take_turns(int from, int to)
{
    writer by = {0};
    bool mine = own == 0;
    while (mine || wait_for_turn(from)) {
        if (by.db == NULL) {
            by = open_writer();
            note_bytes(&by);
            all->at_first = own == 0 ? all->sides[0].latest : all->at_first;
        }
        write_some(&by);
        mine = !all->over && draw() % 2 == own;
        if (!mine && write(to, &all->over, sizeof all->over) != sizeof all->over)
            bench_fail("the other process has ended");
        if (all->over)
            break;
    }
    sqlite3_close(by.db);
}

static uint64_t planned(uint64_t keys, double rate)
{
    const char *why;
    cf_geometry shape;
    cf_options options = {.growth = true};
    cf_plan(keys, rate, &options, &shape, &why);
    return cf_geometry_bytes(&shape);
}

static double share(uint64_t of, uint64_t whole)
{
    return 100.0 * (double)of / (double)(whole ? whole : 1);
}

static void print_side(const char *name, const side *of)
{
    double plan = (double)planned((uint64_t)all->events, 0.001);
    printf("%s: %llu missed, %llu seen wrongly; of keys never added %.4f %% said to be new, of those "
           "out of the window %.2f %%\n",
           name, (unsigned long long)of->missed, (unsigned long long)of->wrongly_seen,
           share(of->fresh, of->never), share(of->again, of->old));
    printf("    %llu looked up; found of those added so many windows ago:",
           (unsigned long long)of->looked);
    for (unsigned age = 8; age < 16; age++)
        printf(" %.1f: %.4f", age / 10.0, share(of->found_at[age], of->old_at[age]) / 100);
    printf("\n    rate %.5f of %llu; bytes %.0f, at most %.0f (%.2f, %.2f times a filter of one window, "
           "%.0f)\n",
           share(of->false_found, of->false_asked) / 100, (unsigned long long)of->false_asked,
           of->latest, of->most, of->latest / plan, of->most / plan, plan);
    printf("    %.2f us an event, commits included; longest statement %.2f ms (interrupted %.2f), "
           "optimize %.2f ms\n",
           1e6 * of->seconds / (double)all->written, of->longest / 1e6, of->interrupted / 1e6,
           1e3 * of->optimized);
}

static void run_stream(int64_t events, int64_t days, bool ring)
{
    int there[2], back[2];
    double start = now_ns();
    remove(file);
    *all = (year){.events = events,
                  .days = days,
                  .true_time = first_time,
                  .turned = first_time,
                  .ring = ring,
                  .ahead = {0, KEEP / 10}};
    for (all->room = 1024; all->room < 4 * (uint64_t)events;)
        all->room *= 2;
    for (unsigned i = 0; i < 2; i++)
        all->sides[i].added = shared(all->room * sizeof(int64_t));
    if (pipe(there) != 0 || pipe(back) != 0)
        bench_fail("no pipe");
    pid_t child = fork();
    own = child == 0;
    close(own ? there[1] : there[0]);
    close(own ? back[0] : back[1]);
    take_turns(own ? there[0] : back[0], own ? back[1] : there[1]);
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    printf("%lld days of %lld events, %llu written by two processes, %llu keys, %.0f s; at first %.0f "
           "bytes\n",
           (long long)days, (long long)events, (unsigned long long)all->written,
           (unsigned long long)all->keys, (now_ns() - start) / 1e9, all->at_first);
    print_side("ageing", &all->sides[0]);
    if (ring)
        print_side("ring", &all->sides[1]);
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
    enum { ASKED = 2000000 };
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
    side of = {0};
    double commits = 0, start = now_ns();
    remove(file);
    *all = (year){.events = keys};
    writer by = open_writer();
    for (int64_t key = 0; key < 3 * keys / 2; key++) {
        if (key % IN_ONE == 0)
            bench_run(by.db, "BEGIN");
        if (key % 64 == 0)
            by.interrupted = interruptions();
        all->true_time = first_time + (int64_t)((double)key * KEEP / (double)keys);
        run(&by, &of, by.ignore[0], key);
        if (key % IN_ONE != IN_ONE - 1)
            continue;
        double begun = now_ns();
        bench_run(by.db, "COMMIT");
        commits = now_ns() - begun > commits ? now_ns() - begun : commits;
    }
    printf("%lld keys in the window, %lld added: %.2f us each, longest statement %.2f ms (interrupted "
           "%.2f), longest "
           "commit of %d %.1f ms, %.2f bits a key\n",
           (long long)keys, (long long)(3 * keys / 2), (now_ns() - start) / 1.5e3 / (double)keys,
           of.longest / 1e6, of.interrupted / 1e6, IN_ONE, commits / 1e6,
           8 * bytes_of(&by, "seen") / (double)keys);
    compare_lookups((uint64_t)keys);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "stream";
    bool large = strcmp(what, "large") == 0;
    int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : large ? 10000000 : 20000;
    if (getenv("YEAR_FILE"))
        file = getenv("YEAR_FILE");
    all = shared(sizeof *all);
    set_clock_by_hand();
    if (large)
        run_large(n);
    else
        run_stream(n, argc > 3 ? strtoll(argv[3], NULL, 10) : 365, strcmp(what, "ring") == 0);
    return 0;
}
