/* SPDX-License-Identifier: MIT */
/*
** vfs_faults.c - persistent filters on a disk that fails, and on one that loses its power.
**
** A list of steps (table_workload.h) is run with each call to the disk failing in turn
** (fault_disk.h). What must hold:
**
**      after a fault     the statement has failed or succeeded as a whole, and so says; the same connection finds every key,
**                        and goes through the rest of the steps; so does a new connection afterwards
**                        the table with rows=on shows the rows of its table, or the statement fails
**      after power loss  a new connection finds every key of each transaction whose COMMIT returned; the one under way is
**                        there as a whole or not at all; also when the power goes again during recovery
**
** In a rollback journal and in WAL, with small database pages, so that filters have many, and a
** small cache, so that pages reach the disk before COMMIT. To run, by default for each 37th fault
** or so, with `all` for each:
**
**      cc -std=c11 -DSQLITE_CORE tests/faults/vfs_faults.c $(find src ext -name '*.c')
**          -lcmocka -lsqlite3 -lm -o vfs_faults && ./vfs_faults all
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aimed.h"
#include "fault_disk.h"
#include "slice.h"
#include "table_verify.h"

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

static long stride = 37;
static char path[POWER_PATH];
static long runs; /* of the steps */
static bool is_wal;

typedef struct fault_case {
    const char *name, *journal;
    fault_op op;
    int code;
    bool onwards;
} fault_case;

static const fault_case cases[] = {
    {"read", "delete", FAULT_READ, SQLITE_IOERR_READ, false},
    {"write", "delete", FAULT_WRITE, SQLITE_IOERR_WRITE, false},
    {"disk full", "delete", FAULT_WRITE, SQLITE_FULL, false},
    {"disk stays full", "delete", FAULT_WRITE, SQLITE_FULL, true},
    {"read, from then on", "delete", FAULT_READ, SQLITE_IOERR_READ, true},
    {"write, from then on", "delete", FAULT_WRITE, SQLITE_IOERR_WRITE, true},
    {"sync", "delete", FAULT_SYNC, SQLITE_IOERR_FSYNC, false},
    {"truncate", "delete", FAULT_TRUNCATE, SQLITE_IOERR_TRUNCATE, false},
    {"open", "delete", FAULT_OPEN, SQLITE_CANTOPEN, false},
    {"delete", "delete", FAULT_DELETE, SQLITE_IOERR_DELETE, false},
    {"truncating journal: truncate", "truncate", FAULT_TRUNCATE, SQLITE_IOERR_TRUNCATE, false},
    {"WAL: read", "wal", FAULT_READ, SQLITE_IOERR_READ, false},
    {"WAL: write", "wal", FAULT_WRITE, SQLITE_IOERR_WRITE, false},
    {"WAL: disk full", "wal", FAULT_WRITE, SQLITE_FULL, false},
    {"WAL: disk stays full", "wal", FAULT_WRITE, SQLITE_FULL, true},
    {"WAL: read, from then on", "wal", FAULT_READ, SQLITE_IOERR_READ, true},
    {"WAL: write, from then on", "wal", FAULT_WRITE, SQLITE_IOERR_WRITE, true},
    {"WAL: sync", "wal", FAULT_SYNC, SQLITE_IOERR_FSYNC, false},
    {"WAL: truncate", "wal", FAULT_TRUNCATE, SQLITE_IOERR_TRUNCATE, false},
    {"WAL: open", "wal", FAULT_OPEN, SQLITE_CANTOPEN, false},
    {"WAL: shared memory", "wal", FAULT_SHM, SQLITE_IOERR_SHMMAP, false},
};

typedef struct power_case {
    const char *name, *journal;
    power_left left;
} power_case;

static const power_case power_cases[] = {
    {"power: nothing is left", "delete", POWER_LEFT_NONE},
    {"power: some is left", "delete", POWER_LEFT_SOME},
    {"power: torn", "delete", POWER_LEFT_TORN},
    {"power: killed", "delete", POWER_LEFT_ALL},
    {"power, WAL: nothing is left", "wal", POWER_LEFT_NONE},
    {"power, WAL: some is left", "wal", POWER_LEFT_SOME},
    {"power, WAL: torn", "wal", POWER_LEFT_TORN},
    {"power, WAL: killed", "wal", POWER_LEFT_ALL},
};

/* A case, and the steps that it is tried with. */
typedef struct job {
    char name[60];
    const fault_case *fault;
    const power_case *power;
    const step_list *list;
} job;

/* ---- connections ---- */

static void remove_files(void)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    for (int i = 0; i < 4; i++) {
        char name[POWER_PATH + 10];
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        remove(name);
    }
}

static sqlite3 *connect_by(const char *vfs)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    assert_int_equal(sqlite3_open_v2(path, &db, flags, vfs), SQLITE_OK);
    assert_int_equal(sqlite3_cuckoo_init(db, &message, NULL), SQLITE_OK);
    return db;
}

static int64_t aims[CROWD]; /* found once: that takes longer than a run */

static int find_aims(void **state)
{
    (void)state;
    for (int i = 0; i < CROWD; i++)
        aims[i] = aimed_from(i ? aims[i - 1] + 1 : 1);
    return 0;
}

static void make_aims(sqlite3 *db)
{
    assert_int_equal(workload_sql(db, "BEGIN; CREATE TABLE aims(i INTEGER PRIMARY KEY, k UNIQUE)"),
                     SQLITE_OK);
    for (int i = 0; i < CROWD; i++) {
        char sql[100];
        long long k = aims[i];
        snprintf(sql, sizeof sql, "INSERT INTO aims VALUES (%d, %lld), (%d, %lld)", i, k, i + CROWD, -k);
        assert_int_equal(workload_sql(db, sql), SQLITE_OK);
    }
    assert_int_equal(workload_sql(db, "COMMIT"), SQLITE_OK);
}

static int connect_faultily(sqlite3 **result);

/* A database with no more than `first` and `aims`. */
static void begin(workload *w, const step_list *list, const char *journal)
{
    char sql[200];
    remove_files();
    slice_random();
    memset(w, 0, sizeof *w);
    w->list = list;
    w->connect = connect_faultily;
    stream_begin(&w->now.fading);
    w->committed = w->saved = w->after = w->now;
    is_wal = strcmp(journal, "wal") == 0;
    sqlite3 *db = connect_by(NULL);
    snprintf(sql, sizeof sql,
             "PRAGMA page_size = 512; PRAGMA journal_mode = %s; PRAGMA synchronous = OFF; "
             "CREATE TABLE first(x); INSERT INTO first VALUES (0)",
             journal);
    assert_int_equal(workload_sql(db, sql), SQLITE_OK);
    make_aims(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    runs++;
}

/* Through the disk that can fail. SQLite 3.40 has a bug that none of its users could do anything
** about: in WAL mode, when pages went to the WAL before COMMIT and a ROLLBACK TO took them back,
** frames get no checksum, and recovery from a crash does not find the transaction. So where the
** power goes, the cache is large enough. */
static int connect_faultily(sqlite3 **result)
{
    static const char pragmas[] =
        "PRAGMA synchronous = FULL; PRAGMA cache_size = 5; PRAGMA temp_store = FILE; "
        "PRAGMA wal_autocheckpoint = 30; SELECT * FROM first";
    char *message = NULL;
    sqlite3 *db;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "faults");
    if (rc == SQLITE_OK)
        rc = sqlite3_cuckoo_init(db, &message, NULL);
    if (rc == SQLITE_OK)
        rc = workload_sql(db, pragmas);
    if (rc == SQLITE_OK && is_wal && power.is_on)
        rc = workload_sql(db, "PRAGMA cache_size = -2000");
    if (rc != SQLITE_OK) {
        sqlite3_close(db);
        db = NULL;
    }
    *result = db;
    return rc;
}

static void disconnect(workload *w)
{
    assert_int_equal(sqlite3_close(w->other), SQLITE_OK);
    assert_int_equal(sqlite3_close(w->db), SQLITE_OK);
    w->db = w->other = NULL;
}

/* The connection of the steps is closed; a plain one must find what the model knows. */
static void verify_plainly(workload *w, const model *m, const char *when, long n)
{
    w->db = connect_by(NULL);
    if (!workload_verify_as(w, m))
        fail_msg("call %ld: %s: %s", n, when, w->failure);
    assert_int_equal(sqlite3_close(w->db), SQLITE_OK);
}

/* ---- each call fails ---- */

/* Runs the steps, of which one fails; whether one did. Afterwards the disk works. */
static bool run_steps(workload *w, long n)
{
    bool failed = false;
    for (int i = 0; i < w->list->n; i++) {
        int rc = workload_step(w, i);
        if (rc == SQLITE_OK)
            continue;
        if (fault_disk_disarm() == 0)
            fail_msg("call %ld: step %d: %s", n, i, sqlite3_errmsg(w->db));
        if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
            fail_msg("call %ld: step %d: the disk failed, not the database: %s", n, i,
                     sqlite3_errmsg(w->db));
        failed = true;
        if (!workload_verify(w))
            fail_msg("call %ld: after step %d failed with %d, same connection: %s", n, i, rc,
                     w->failure);
        i -= w->list->steps[i].kind <= MAKE_FRONT; /* the others need it */
    }
    return failed;
}

static bool run_with_fault(const fault_case *c, const step_list *list, long n)
{
    workload w;
    long struck = 0;
    begin(&w, list, c->journal);
    fault_disk_arm(c->op, n, c->code, c->onwards);
    while (connect_faultily(&w.db) != SQLITE_OK)
        if ((struck += fault_disk_disarm()) == 0)
            fail_msg("call %ld: cannot connect", n);
    run_steps(&w, n);
    struck += fault_disk_disarm();
    if (!workload_verify(&w))
        fail_msg("call %ld: at the end: %s", n, w.failure);
    if (!sqlite3_get_autocommit(w.db)) {
        workload_sql(w.db, "ROLLBACK");
        w.now = w.committed;
    }
    disconnect(&w);
    verify_plainly(&w, &w.now, "new connection", n);
    return struck > 0;
}

static void test_faults(void **state)
{
    const job *j = *state;
    const fault_case *c = j->fault;
    bool is_often = c->op == FAULT_READ || c->op == FAULT_WRITE;
    long by = is_often ? stride : 1 + stride / 30, n = slice_first(by, (unsigned)runs);
    while (run_with_fault(c, j->list, n))
        n += by;
    printf("# %s: %ld calls\n", j->name, n);
}

/* ---- the power goes ---- */

/* The power goes once more while the next connection recovers what is left. */
static void lose_power_again(const power_case *c, const step_list *list, long n)
{
    sqlite3 *db;
    const char *optimize = list == lists ? "INSERT INTO seen(seen) VALUES ('optimize')"
                                         : "INSERT INTO fading(fading) VALUES ('optimize')";
    fault_disk_power(n % 11, (uint64_t)n);
    if (connect_faultily(&db) == SQLITE_OK)
        workload_sql(db, optimize);
    sqlite3_close(db);
    fault_disk_restart(c->left);
}

static bool run_until_power_goes(const power_case *c, const step_list *list, long n)
{
    workload w;
    int rc, i = 0;
    begin(&w, list, c->journal);
    fault_disk_power(n, (uint64_t)n);
    rc = connect_faultily(&w.db);
    while (rc == SQLITE_OK && i < list->n)
        rc = workload_step(&w, i++);
    assert_true(rc == SQLITE_OK || power.is_off);
    model before = w.committed, after = w.ends ? w.after : w.committed;
    disconnect(&w);
    bool gone = fault_disk_restart(c->left);
    if (gone && n % 2)
        lose_power_again(c, list, n);
    w.db = connect_by(NULL);
    if (!workload_verify_as(&w, &before)) {
        char failure[sizeof w.failure];
        memcpy(failure, w.failure, sizeof failure);
        if (!workload_verify_as(&w, &after))
            fail_msg("change %ld, step %d: %s; or %s", n, i - 1, failure, w.failure);
    }
    assert_int_equal(sqlite3_close(w.db), SQLITE_OK);
    return gone;
}

static void test_power(void **state)
{
    const job *j = *state;
    long n = slice_first(stride, (unsigned)runs);
    while (run_until_power_goes(j->power, j->list, n))
        n += stride;
    printf("# %s: %ld changes\n", j->name, n);
}

/* ---- all of it ---- */

enum {
    CASES = sizeof cases / sizeof cases[0],
    POWER_CASES = sizeof power_cases / sizeof power_cases[0],
    JOBS = 2 * (CASES + POWER_CASES)
};

static struct CMUnitTest test_of(job *j, int i)
{
    int which = i % (CASES + POWER_CASES);
    bool is_power = which >= CASES;
    *j = (job){.fault = &cases[is_power ? 0 : which],
               .power = &power_cases[is_power ? which - CASES : 0],
               .list = &lists[i / (CASES + POWER_CASES)]};
    snprintf(j->name, sizeof j->name, "%s: %s", j->list->name,
             is_power ? j->power->name : j->fault->name);
    return (struct CMUnitTest){j->name, is_power ? test_power : test_faults, NULL, NULL, j};
}

int main(int argc, char **argv)
{
    static job jobs[JOBS];
    struct CMUnitTest tests[JOBS];
    for (int i = 0; i < JOBS; i++)
        tests[i] = test_of(&jobs[i], i);
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    stride = argc > 1 && strcmp(argv[1], "all") == 0 ? 1 : argc > 1 ? atol(argv[1]) : stride;
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/cuckoo_faults_%d.db", folder ? folder : "/tmp", (int)getpid());
    sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL,
                   0); /* statement journals are files from their first byte on */
    sqlite3_initialize();
    sqlite3_vfs_find(NULL)->xCurrentTimeInt64 = stream_read_clock;
    if (fault_disk_install() != SQLITE_OK) {
        fputs("the VFS could not be installed\n", stderr);
        return 1;
    }
    int failed = cmocka_run_group_tests_name("a disk that fails", tests, find_aims, NULL);
    remove_files();
    printf("# %ld runs\n", runs);
    sqlite3_shutdown();
    if (sqlite3_memory_used() != 0) {
        fputs("memory is lost after sqlite3_shutdown\n", stderr);
        return 1;
    }
    return failed;
}
