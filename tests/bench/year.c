/* SPDX-License-Identifier: MIT */
/*
** year.c - a year of a filter table that forgets after 24 hours, under clocks that are set by hand.
**
**      year [EVENTS [DAYS]]     EVENTS (20,000) a day for DAYS (365), in a table planned for as many
**
** Of the stream three events in ten are keys of the last two days. There are bursts of ten times as many
** for up to three hours, rests of up to three days, and steps of the clocks. Two processes write, in
** turns of chance; the clock of one is ahead by a tenth of the window. INSERT OR IGNORE says which
** events are new; a list of the last times of all keys, which the processes share, whether that is
** right. Every tenth event is an INSERT, which makes a key young. The extension is build/cuckoo.so; the
** database, YEAR_FILE.
*/
#define _GNU_SOURCE
#include "bench.h"
#include "database.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MINUTE = 60000, HOUR = 60 * MINUTE, DAY = 24 * HOUR, KEEP = DAY, PART = 4000 };

/* ---- what the processes share ---- */

typedef struct year {
    int64_t events, days, true_time, quarter, burst_until, ahead[2];
    uint64_t drawn, keys, room, written;
    uint64_t chance, quarter_events, left; /* of a quarter of an hour */
    double plan;                           /* bytes of a filter of one window */
    int64_t *added;                        /* by key: when it was recorded last, by the true time */

    /* What the table says of the events, beside what is true. */
    uint64_t missed, never, fresh, old, again; /* fresh of those never added, again of the old */
    uint64_t found_at[31], old_at[31];         /* by age, in tenths of the window */
    uint64_t false_found, false_asked;
    double least, most, latest, seconds, longest; /* bytes, then times */
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
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

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

/* Wall time, ms: asking for processor time takes as long as a lookup. */
static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + (double)now.tv_nsec / 1e6;
}

/* How often this process has lost the processor, or has waited. */
static long interruptions(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nivcsw + used.ru_nvcsw;
}

typedef struct writer {
    sqlite3 *db;
    sqlite3_stmt *ignore, *insert, *ask;
    long interrupted; /* interruptions() of lately */
} writer;

static writer open_writer(void)
{
    writer made = {.db = bench_open(file, "build/cuckoo.so")};
    bench_run(made.db,
              "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
    if (own == 0)
        bench_run(made.db,
                  "CREATE VIRTUAL TABLE seen USING"
                  " cuckoo_filter(capacity=%lld, fpr=0.001, keep='24 hours', seed=1)",
                  all->events);
    made.ignore = bench_prepare(made.db, "INSERT OR IGNORE INTO seen(key) VALUES (?1)");
    made.insert = bench_prepare(made.db, "INSERT INTO seen(key) VALUES (?1)");
    made.ask = bench_prepare(made.db, "SELECT cf_table_contains('seen', ?1)");
    return made;
}

static int64_t run(const writer *by, sqlite3_stmt *statement, int64_t key)
{
    double start = now_ms();
    sqlite3_bind_int64(statement, 1, key);
    int rc = sqlite3_step(statement);
    bench_check(by->db, rc);
    int64_t answer = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : sqlite3_changes(by->db);
    sqlite3_reset(statement);
    double took = now_ms() - start;
    if (took > all->longest && interruptions() == by->interrupted)
        all->longest = took;
    return answer;
}

static double value_of(writer *by, sqlite3_stmt *statement)
{
    bench_check(by->db, sqlite3_step(statement));
    double value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void note_bytes(writer *by)
{
    all->latest =
        value_of(by, bench_prepare(by->db, "SELECT json_extract(cf_table_info('seen'), '$.bytes')"));
    all->most = all->latest > all->most ? all->latest : all->most;
    all->least = all->least == 0 || all->latest < all->least ? all->latest : all->least;
    all->plan = value_of(
        by, bench_prepare(by->db, "SELECT json_extract(cf_plan(%lld, 0.001), '$.bytes')", all->events));
}

/* ---- the stream ---- */

static uint64_t next_key(void)
{
    uint64_t recent = 2 * (uint64_t)all->events;
    recent = all->keys < recent ? all->keys : recent;
    if (recent > 0 && draw() % 10 < 3)
        return all->keys - 1 - draw() % recent;
    all->added[all->keys % all->room] = -1;
    return all->keys++;
}

static void event(const writer *by, uint64_t key, bool plain)
{
    int64_t *added = &all->added[key % all->room], age = all->true_time - *added;
    bool new = run(by, plain ? by->insert : by->ignore, (int64_t)key);
    if (!plain && *added < 0) {
        all->never++;
        all->fresh += new;
    } else if (!plain && age <= KEEP) {
        all->missed += new;
    } else if (!plain) {
        all->old++;
        all->again += new;
    }
    if (new || plain)
        *added = all->true_time;
}

static void write_part(writer *by, uint64_t n)
{
    uint64_t of_quarter = all->quarter_events, done = of_quarter - all->left;
    double start = bench_seconds();
    bench_run(by->db, "BEGIN IMMEDIATE");
    for (uint64_t i = 0; i < n; i++) {
        if (i % 64 == 0)
            by->interrupted = interruptions();
        all->true_time = all->quarter + 15 * MINUTE * (int64_t)(done + i) / (int64_t)of_quarter;
        uint64_t key = next_key();
        event(by, key, draw() % 10 == 0);
    }
    bench_run(by->db, "COMMIT");
    all->seconds += bench_seconds() - start;
    all->left -= n;
    all->written += n;
}

/* Looks some keys up: by age, and some that were never there. */
static void look(const writer *by)
{
    uint64_t recent = all->keys < all->room ? all->keys : all->room;
    for (unsigned i = 0; i < 200; i++) {
        uint64_t key = all->keys - 1 - draw() % recent;
        int64_t last = all->added[key % all->room];
        if (last < 0)
            continue;
        bool found = run(by, by->ask, (int64_t)key);
        uint64_t age = (uint64_t)(all->true_time - last) * 10 / KEEP;
        all->missed += !found && all->true_time - last <= KEEP;
        all->old_at[age < 30 ? age : 30]++;
        all->found_at[age < 30 ? age : 30] += found;
        all->false_found += (uint64_t)run(by, by->ask, -1 - (int64_t)(draw() >> 1));
        all->false_asked++;
    }
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
    if (all->chance % 4 == 0)
        look(by);
    if (all->chance % 50 == 7)
        note_bytes(by);
    if (all->latest > 1.3 * all->least && all->chance % 50 == 8 &&
        all->true_time > all->burst_until + 2 * (int64_t)DAY) {
        bench_run(by->db, "INSERT INTO seen(seen) VALUES ('optimize')");
        note_bytes(by);
    }
}

/* Which of the two writes next is drawn; so a year is the same whenever it is run. */
static void take_turns(int from, int to)
{
    writer by = {0};
    bool mine = own == 0, over = false;
    while (!over) {
        if (!mine && (read(from, &over, sizeof over) != sizeof over || over))
            break; /* or it has failed */
        if (by.db == NULL) {
            by = open_writer();
            note_bytes(&by);
        }
        if (all->left == 0)
            begin_quarter();
        write_part(&by, all->left < PART ? all->left : PART);
        if (all->left == 0)
            end_quarter(&by);
        over = all->true_time - first_time >= all->days * DAY;
        mine = !over && draw() % 2 == own;
        if (!mine && write(to, &over, sizeof over) != sizeof over)
            bench_fail("the other process has ended");
    }
}

static double percent(uint64_t of, uint64_t whole)
{
    return 100.0 * (double)of / (double)(whole ? whole : 1);
}

static void print_year(double minutes)
{
    double million = (double)all->written / 1e6;
    puts("table\tevents a day\tdays\tmillion events\tmissed\tnew, %\tgone, %\t1.0\t1.1\t1.2\t1.3\t"
         "wrong, %\tbytes\ttimes\tmost\tus\tlongest, ms\tminutes");
    printf("a table that ages\t%lld\t%lld\t%.1f\t%llu", (long long)all->events, (long long)all->days,
           million, (unsigned long long)all->missed);
    printf("\t%.4f\t%.2f", percent(all->fresh, all->never), percent(all->again, all->old));
    for (unsigned age = 10; age < 14; age++)
        printf("\t%.2f", percent(all->found_at[age], all->old_at[age]));
    printf("\t%.4f\t%.0f\t%.2f\t%.2f", percent(all->false_found, all->false_asked), all->least,
           all->least / all->plan, all->most / all->plan);
    printf("\t%.2f\t%.2f\t%.1f\n", all->seconds / million, all->longest, minutes);
}

static void begin_year(int64_t events, int64_t days)
{
    *all = (year){.events = events, .days = days, .ahead = {0, KEEP / 10}, .room = 1024};
    all->true_time = first_time;
    while (all->room < 4 * (uint64_t)events)
        all->room *= 2;
    all->added = shared(all->room * sizeof(int64_t));
}

/* One pipe for each direction: when a process ends, the other one sees it. */
static void run_year(void)
{
    int to[2][2];
    if (pipe(to[0]) != 0 || pipe(to[1]) != 0)
        bench_fail("no pipe");
    pid_t child = fork();
    own = child == 0;
    close(to[own][1]);
    close(to[!own][0]);
    take_turns(to[own][0], to[!own][1]);
    if (child == 0)
        exit(0);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        bench_fail("the other process has failed");
}

int main(int argc, char **argv)
{
    int64_t events = argc > 1 ? atoll(argv[1]) : 20000, days = argc > 2 ? atoll(argv[2]) : 365;
    if (getenv("YEAR_FILE"))
        file = getenv("YEAR_FILE");
    double start = now_ms();
    char log[1024];
    snprintf(log, sizeof log, "%s-wal", file);
    remove(log);
    remove(file);
    all = shared(sizeof *all);
    set_clock_by_hand();
    begin_year(events, days);
    run_year();
    print_year((now_ms() - start) / 6e4);
    return all->missed > 0;
}
