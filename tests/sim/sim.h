/* SPDX-License-Identifier: MIT */
/*
** sim.h - the world of the simulator: what a seed draws, and what every room of it knows.
**
** A seed makes a **shape** (how the database and its filters are), and then a list of **steps**. Each
** step is run twice: on the **real** database, and on its **twin**, which has the same connections
** and the same tables, but no filter and no extension: in place of a filter it has an ordinary table
** of that name, with the keys that the filter should have. So the twin is the model, and SQLite itself
** knows what a transaction, a savepoint, a cascade or a conflict clause does to it.
**
** The simulator knows what a user is promised, and nothing of the insides of a filter.
**
**      draw.c     random numbers, texts, and templates of statements
**      shape.c    what a seed draws          world.c   files, connections, clocks
**      rows.c     statements that change rows
**      schema.c   transactions, tables, triggers, commands of filters
**      step.c     runs a step on both, compares, and settles what a fault has left open
**      disk.c     files in memory         fault.c    disk, power, memory and interruption
**      crash.c    what a fault has left         left.c     statements left half stepped, and copies
**      ask.c      what must be true after a step; ask_kinds.c: of fronts, and tables that take keys
**      laws.c     questions whose answer depends on nothing else
**      known.c    faults that are known: not drawn unless asked for
**      run.c      one run, and its shrinking      sim.c   the program
*/
#ifndef SIM_H
#define SIM_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    PAIRS = 4,       /* connections */
    FILTERS = 4,     /* of one run */
    UNIVERSE = 40,   /* keys that statements draw one by one */
    BULK = 1500,     /* numbers of keys that are written in bulk end here */
    ASKED_KEYS = 60, /* bits of an answer about keys */
    PATH = 40,
    SKEW = 12,      /* seconds by which the clocks of connections differ */
    TOLERANCE = 66, /* seconds that an old key may stay, for the skew of all */
    BACK = 30       /* seconds by which a clock often goes back */
};

/* ---- what a seed draws ---- */

typedef enum filter_kind {
    FOLLOWS,
    FRONT,
    DIRECT,
    ONCE,
    AGES,
    EPOCHS,
    STORED,
    FILTER_KINDS
} filter_kind;

typedef struct filter_shape {
    filter_kind kind;
    char name[16];      /* or that with _2 behind it */
    const char *column; /* it follows: "k", "x" or "id" */
    char options[160];  /* but content= */
    bool exact;         /* copies are counted, and fingerprints do not meet by chance */
    bool bounded;       /* growth=off: it may say that it is full */
    int keep;           /* seconds, or epochs */
} filter_shape;

enum { COUNTED = 64 }; /* words that --counts looks for */

typedef enum step_kind {
    ROWS,
    TRANSACTION,
    FILTER_ROWS, /* of tables that do not follow */
    COMMAND,
    TRIGGER,
    SCHEMA,
    OPEN, /* statements that stay half stepped */
    TIME,
    COPY,
    QUESTION,
    CRASH,
    STEP_KINDS
} step_kind;

typedef enum fault_kind_of_run {
    NO_FAULTS,
    MEMORY_FAULTS,
    DISK_FAULTS,
    POWER_FAULTS,
    INTERRUPTS,
    PAGE_LIMITS
} fault_kind_of_run;

typedef struct shape {
    int page_size, pairs, filters;
    const char *journal, *encoding, *cache;
    bool asks[PAIRS]; /* has the extension */
    const char *key_type, *collation, *key_value, *id_type, *ending, *on_delete, *on_update;
    bool unique, recursive, needs_id, bulk, few, skewed; /* few: rows at first */
    filter_shape filter[FILTERS];
    int weights[STEP_KINDS];
    fault_kind_of_run faults;
} shape;

/* ---- steps ---- */

typedef enum fault_sort {
    NO_FAULT,
    FAIL_MEMORY,
    FAIL_DISK,
    FAIL_POWER,
    FAIL_INTERRUPT,
    FAIL_PAGES
} fault_sort;

typedef struct fault {
    fault_sort sort;
    int what, left; /* a fault_op and a code; what is left when the power has gone */
    long n;         /* the request that fails */
    bool onwards;
} fault;

typedef enum step_act {
    BOTH,       /* both texts must have the same end */
    REFUSE,     /* the filter may refuse the real one for a reason of its own: then there is no twin's */
    ADD_IF_NEW, /* INSERT OR IGNORE of a key that may be there; the twin's only if it was new */
    QUERY,      /* of the real one alone, twice, first with a fault; the twin's text: the answer */
    LEAVE,      /* a statement is prepared, stepped a little and left so */
    GO_ON,      /* it is stepped a little further */
    END,        /* it is finalized */
    TICK,       /* the clock is set; `number` seconds */
    SAVE,       /* a copy of the database is made, by the backup API */
    RESTORE,    /* and put back in its place */
    VISIT,      /* a new connection opens the copy, and asks all of it */
    REOPEN,     /* all connections are closed and opened again */
    KILL        /* the process dies, and is started again */
} step_act;

typedef struct step {
    uint64_t number; /* of the step that drew it; seeds what it asks */
    step_act act;
    step_kind kind;
    int pair, value;
    fault fault;
    char *real, *twin;
} step;

typedef struct step_list {
    step *at;
    int n, room;
} step_list;

/* ---- the world ---- */

typedef struct pair {
    sqlite3 *real, *twin;
    sqlite3_stmt *left_real, *left_twin; /* half stepped */
    bool asks, far;                      /* has a copy attached */
    bool uneven;                         /* the real one may hold locks that the twin does not */
    bool counted; /* its last statement has counted: whether a COMMIT has happened can be seen */
    bool
        made; /* its transaction has changed the schema as the twin's has not, or a statement is left from then */
} pair;

/* What the twin of a connection has now. Empty: it has none. */
typedef struct sim_names {
    char u[16], k[16], filter[FILTERS][20];
} sim_names;

typedef struct wal_pages {
    int64_t sum; /* written so far */
    int last;    /* how many it had at the last COMMIT */
} wal_pages;

typedef struct sim_counts {
    uint64_t runs, steps, questions, refused, faults, crashes, resynced, failed, each;
    uint64_t kinds[STEP_KINDS], words[COUNTED], faults_of[FAIL_PAGES + 1], filters[FILTER_KINDS];
} sim_counts;

typedef struct world {
    uint64_t seed, dice;
    shape shape;
    sim_names names;
    char prefix[8];        /* of tables in statements about rows: "" or "far." */
    pair pairs[PAIRS + 1]; /* the last one: to a copy */
    bool has_copy, over;   /* over: nothing more can be said */
    bool dropped;          /* the content table was dropped: the triggers of filters may be gone */
    bool watched;          /* others have put triggers on it */
    bool stale;            /* keys may have stayed */
    bool doubted;          /* a filter may have lacked rows, and have said so by then */
    bool kept;      /* a statement that failed beside a TEMP trigger has kept rows, and told of none */
    bool undefined; /* a BEFORE trigger may have changed its own row: SQLite promises nothing */
    bool parted;    /* so they differ: the content of the real one counts, and the run ends */
    bool risky;     /* the last step: it failed, or took back, or ended something */
    bool struck;    /* something has failed by a fault */
    bool unsynced;  /* so did a COMMIT to the WAL: it is done if the process dies now */
    bool verbose;
    uint64_t number; /* of the step that is drawn */
    int pair;        /* whose turn it is */
    int64_t clock;   /* seconds */
    int drawn_keys[3];
    bool by_epochs;  /* ages of this filter are no times */
    const char *row; /* "new" or "old", in a trigger */
    step_kind kind;  /* that is drawn */
    step_list steps;
    char failure[1000]; /* "kind: what"; empty: nothing is wrong */
    sim_counts *counts;
    wal_pages real_wal, twin_wal;
} world;

/* ---- draw.c ---- */

uint64_t draw64(world *w);
int draw(world *w, int n); /* 0 .. n - 1 */
bool chance(world *w, int percent);
uint64_t mix(uint64_t seed, uint64_t number);
#define PICK(w, list) ((list)[draw(w, (int)(sizeof(list) / sizeof((list)[0])))])
int draw_weighted(world *w, const int *weights, int n);
char *say(const char *format, ...);        /* memory of malloc; SQLite's can be made to fail */
char *fill(world *w, const char *pattern); /* a template, filled in; see draw.c */

/* ---- known.c ---- */

bool known(const char *name); /* is this fault asked for? */
bool known_choose(const char *name);
void known_list(void);

/* ---- shape.c ---- */

void shape_draw(world *w);
void shape_describe(const world *w);
char *shape_filter(const world *w, int number, bool twin); /* CREATE .. */
char *shape_content(const world *w, const char *table);
char *shape_triggers(const char *table, int i); /* 0 .. 2 */

/* ---- world.c ---- */

extern bool world_prints;
void world_begin(world *w, uint64_t seed, sim_counts *counts);
void world_end(world *w);
bool world_connect(world *w);
void world_disconnect(world *w);
int world_visit(sqlite3 **db, const char *path, bool asks);
void world_names(world *w, const char *schema);
void world_set_clock(const world *w);
void world_set_prng(uint64_t number);
int64_t world_now(const world *w);
int64_t world_shown(void);
void fail(world *w, const char *format, ...);
const filter_shape *filter_of(const world *w, int number);
bool follows(const filter_shape *f);

/* ---- rows.c, schema.c: they add to w->steps ---- */

void emit(world *w, step_act act, char *real, char *twin); /* takes both; twin NULL: as the real one */
void emit_filled(world *w, step_act act, const char *real, const char *twin);
void draw_rows(world *w);
char *rows_statement(world *w);
void draw_filter_rows(world *w);
char *draw_aged_command(world *w, const char *name);
void draw_step(world *w);
void draw_law(world *w); /* laws.c */

/* ---- disk.c ---- */

#define REAL      "real.db"
#define TWIN      "twin.db"
#define REAL_COPY "real_copy.db"
#define TWIN_COPY "twin_copy.db"

typedef enum disk_op {
    DISK_READ,
    DISK_WRITE,
    DISK_SYNC,
    DISK_TRUNCATE,
    DISK_OPEN,
    DISK_DELETE,
    DISK_SHM, /* mapping the index of the WAL */
} disk_op;

/* What is left of the changes that were not synced. */
typedef enum power_left {
    POWER_LEFT_NONE,
    POWER_LEFT_SOME, /* each change or not, at random */
    POWER_LEFT_TORN, /* each sector of each change or not, at random */
    POWER_LEFT_ALL,  /* as when only the process dies */
    POWER_LEFT_KINDS
} power_left;

bool disk_install(void);
void disk_clear(void);
void disk_arm(disk_op op, long n, int code, bool onwards);
long disk_disarm(void); /* how many calls have failed */
void disk_power_on(uint64_t seed);
void disk_power_goes_at(long n);
void disk_power_off(void);
bool disk_power_is_off(void);
void disk_power_back(power_left left);

/* ---- fault.c ---- */

void fault_draw(world *w, step *s);
void fault_arm(world *w, const step *s);
bool fault_disarm(world *w, const step *s); /* whether something was refused */
bool fault_install(void);
extern bool fault_always;

/* ---- step.c ---- */

typedef struct outcome {
    int code;
    int n;             /* rows */
    uint64_t rows;     /* in any order */
    uint64_t keys;     /* a bit for each first column below 64 */
    sqlite3_int64 one; /* the first value */
    int changes;
    char message[400];
} outcome;

uint64_t hash_row(sqlite3_stmt *statement);
outcome run_sql(sqlite3 *db, const char *sql);
int keep_sql(sqlite3 *db, const char *sql, sqlite3_stmt **statement); /* to be reset, not finalized */
outcome ask_sql(sqlite3 *db, const char *sql);                        /* by a statement that is kept */
outcome ask_with(sqlite3 *db, const char *sql, sqlite3_int64 number); /* it is ?1 */
void forget_kept(const sqlite3 *db);                                  /* before it is closed */
void step_run(world *w, const step *s);
bool law_holds(const char *law, const outcome *r);
bool is_locked(int code);
bool is_early(void); /* SQLite has some faults that it has no more */
void take_locks(pair *p);
bool anybody_is_uneven(world *w);
bool is_too_deep(const char *message);

bool begins(const char *text, const char *with);
bool is_end(const char *text); /* of a transaction, perhaps */

/* ---- crash.c ---- */

typedef struct before_fault {
    bool ends; /* the step ends a transaction, if it succeeds */
    uint64_t inside, committed;
} before_fault;

/* False: this step cannot be faulted, since others keep us from looking. */
bool look_before(world *w, const step *s, before_fault *b);
void settle(world *w, const step *s, const outcome *real, const before_fault *b);
void crash(world *w, const step *s, int code, const before_fault *b);
void kill_process(world *w);
void restart(world *w, bool dies);

/* ---- left.c ---- */

void leave(world *w, const step *s);
void go_on(world *w, const step *s, int steps);
void end_left(pair *p);
void copy_both(world *w, const step *s, bool back);
void visit(world *w);

/* ---- ask.c ---- */

uint64_t content_of(const world *w, sqlite3 *db, int *code);
void ask_all(world *w, const step *s);
void ask_everywhere(world *w);
void ask_same_time(const pair *p);
void ask_pair(world *w, int number, bool thorough);

typedef struct question {
    world *w;
    pair *pair;
    int number;
    const char *schema, *name, *column; /* of the filter, and the column that it follows */
    const filter_shape *filter;
} question;

/* Asks the real one; false: it has not answered, and may do so. Takes sql. */
bool asked(const question *q, char *sql, outcome *r);
/* Which of the first keys a question answers with; number: ?1. Takes sql. */
bool keys_of(sqlite3 *db, char *sql, sqlite3_int64 number, uint64_t *keys);
/* The first keys: those that must be found are found, and no others than those that may. */
void ask_keys(const question *q, uint64_t must, uint64_t may);

/* ---- ask_kinds.c ---- */

void ask_front(const question *q);
void ask_members(const question *q);
void ask_stored_filter(const question *q);
void ask_ages(const question *q);
void ask_key(world *w, const step *s, bool was_new);

/* ---- run.c ---- */

/* each: after some steps, these fail at each call (or each nth) that they make; 0: do not */
void run_seed(uint64_t seed, int steps, int each, bool verbose, sim_counts *counts);
void count_words(sim_counts *counts, const char *sql);
void print_counts(const sim_counts *counts);

#endif
