/* SPDX-License-Identifier: MIT */
/*
** run.c - one run of a seed; and, when it fails, which few of its steps are enough.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPLAYS = 400, WAL_TIMES = 6, WAL_PAGES = 600 };

static void after_run(world *w)
{
    if (!w->failure[0] && !w->over)
        ask_everywhere(w);
    if (!w->failure[0] && w->real_wal.sum > WAL_TIMES * w->twin_wal.sum + WAL_PAGES)
        fail(w, "wal: %lld pages, without the filter %lld", (long long)w->real_wal.sum,
             (long long)w->twin_wal.sum);
    world_end(w);
    if (!w->failure[0] && sqlite3_memory_used() != 0)
        fail(w, "leak: %lld bytes", (long long)sqlite3_memory_used());
}

static void print_step(const step *s)
{
    static const char *const acts[] = {"",
                                       "",
                                       "",
                                       "",
                                       "left half stepped: ",
                                       "goes on",
                                       "finalized",
                                       "the clock",
                                       "backup",
                                       "backup into place",
                                       "asks the copy",
                                       "closes, and opens anew",
                                       "is killed"};
    static const char *const faults[] = {
        "", "memory fails", "the disk fails", "the power goes", "interrupted", "few pages are left"};
    bool sql = acts[s->act][0] == 0;
    printf("  /* %d */ %s%s%s%s", s->pair, sql ? "" : "-- ", acts[s->act], s->real ? s->real : "",
           sql ? ";" : "");
    if (s->act == TICK)
        printf(" %+d s", s->value);
    if (s->fault.sort)
        printf("   -- %s, call %ld, kind %d%s%s", faults[s->fault.sort], s->fault.n, s->fault.what,
               s->fault.onwards ? ", and all later ones" : "",
               s->fault.sort == FAIL_POWER ? ", left" : "");
    if (s->fault.sort == FAIL_POWER)
        printf(" %d", s->fault.left);
    printf("\n");
    fflush(stdout);
}

static void run_step(world *w, const step *s)
{
    if (w->verbose)
        print_step(s);
    w->counts->kinds[s->kind]++;
    step_run(w, s);
    if (!w->failure[0] && !w->over)
        ask_all(w, s);
    w->over |= w->parted;
}

/* ---- each call fails ---- */

/* In a process of its own, since a process is a snapshot of all: the files are in memory, too. Gives whether the fault
** struck, or -1: something is wrong. */
static int try_fault(world *w, step *s)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        uint64_t before = w->counts->faults;
        run_step(w, s);
        if (!w->failure[0] && !w->over)
            ask_everywhere(w);
        _exit(w->failure[0] ? 2 : w->counts->faults > before);
    }
    waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) > 1 ? -1 : WEXITSTATUS(status);
}

/* The step fails at each call that it makes, or each nth. The one at which something goes wrong stays with the step. */
static void fail_at_each(world *w, step *s, int every)
{
    static const long most = 20000;
    fault kind = s->fault;
    int struck = 1;
    for (long n = s->fault.sort == FAIL_INTERRUPT ? 1 : draw(w, every); struck == 1 && n < most;
         n += every) {
        s->fault.n = n;
        struck = try_fault(w, s);
        w->counts->each++;
    }
    if (struck != -1)
        s->fault = (fault){.sort = NO_FAULT};
    else
        printf("  a fault at call %ld of kind %d: %s\n", s->fault.n, kind.sort, s->real);
}

/* ---- all steps ---- */

/* Those that were drawn, and did not run yet. */
static void run_drawn(world *w, int *done, int each)
{
    for (; *done < w->steps.n && !w->failure[0] && !w->over; (*done)++) {
        step *s = &w->steps.at[*done];
        s->number = (uint64_t)*done;
        w->dice = mix(w->seed, s->number + 900000000);
        fault_draw(w, s);
        if (each > 0 && s->fault.sort != NO_FAULT)
            fail_at_each(w, s, each);
        run_step(w, s);
    }
}

/* Everybody ends what he does, and the filters are dropped: then nothing of them is left. */
static void take_leave(world *w)
{
    for (w->pair = 0; w->pair < w->shape.pairs; w->pair++) {
        if (w->pairs[w->pair].left_real)
            emit(w, END, NULL, NULL);
        if (!sqlite3_get_autocommit(w->pairs[w->pair].twin))
            emit(w, BOTH, say("ROLLBACK"), NULL);
    }
    w->pair = 0;
    world_names(w, "main");
    for (int i = 0; i < w->shape.filters; i++)
        if (w->names.filter[i][0])
            emit(w, BOTH, say("DROP TABLE %s", w->names.filter[i]), NULL);
    memset(w->names.filter, 0, sizeof w->names.filter);
    for (int i = 0; i < 3; i++)
        draw_rows(w);
}

static void forget_step(step *s)
{
    free(s->real);
    free(s->twin);
}

/* Draws and runs so many steps. Those that are left in w->steps were run. */
static void live(world *w, int steps, int each)
{
    int done = 0;
    for (int i = 0; i < steps && !w->failure[0] && !w->over; i++) {
        w->number = (uint64_t)i;
        draw_step(w);
        run_drawn(w, &done, each);
    }
    w->dice = mix(w->seed, 77);
    if (!w->failure[0] && !w->over && chance(w, 30)) {
        take_leave(w);
        run_drawn(w, &done, each);
    }
    for (int i = done; i < w->steps.n; i++)
        forget_step(&w->steps.at[i]);
    w->steps.n = done;
}

/* ---- shrinking ---- */

/* Runs these steps of a seed only; what went wrong, or nothing. */
static void replay(uint64_t seed, const step_list *steps, const bool *left_out, sim_counts *counts,
                   char *failure)
{
    static world w;
    world_begin(&w, seed, counts);
    for (int i = 0; i < steps->n && !w.failure[0] && !w.over; i++)
        if (!left_out[i])
            run_step(&w, &steps->at[i]);
    after_run(&w);
    strcpy(failure, w.failure);
}

static bool same_kind(const char *a, const char *b)
{
    size_t n = strcspn(a, ":");
    return strncmp(a, b, n + 5) == 0; /* with the code of an error */
}

/* Leaves out as many steps as the failure does not need. */
static int shrink(uint64_t seed, const step_list *steps, bool *left_out, char *failure)
{
    sim_counts ignored = {0};
    char now[sizeof((world *)NULL)->failure];
    int replays = 0;
    for (int size = steps->n / 2 + 1; size > 0; size /= 2)
        for (int from = 0; from < steps->n && replays < REPLAYS; from += size) {
            bool before[4000];
            int changed = 0;
            memcpy(before, left_out, (size_t)steps->n);
            for (int i = from; i < steps->n && i < from + size; i++) {
                changed += !left_out[i];
                left_out[i] = true;
            }
            if (changed == 0)
                continue;
            replay(seed, steps, left_out, &ignored, now);
            replays++;
            if (same_kind(now, failure))
                strcpy(failure, now);
            else
                memcpy(left_out, before, (size_t)steps->n);
        }
    return replays;
}

static void report(world *w, const step_list *steps, char *failure)
{
    bool left_out[4000] = {false};
    printf("SEED=%llu\n  %s\n  in step %llu of this call of the program\n", (unsigned long long)w->seed,
           failure, (unsigned long long)w->counts->steps);
    fflush(stdout); /* shrinking may take long */
    int replays = shrink(w->seed, steps, left_out, failure);
    printf("  after %d replays: %s\n", replays, failure);
    shape_describe(w);
    world_prints = true;
    static world again;
    world_begin(&again, w->seed, w->counts);
    world_end(&again);
    world_prints = false;
    for (int i = 0; i < steps->n; i++)
        if (!left_out[i])
            print_step(&steps->at[i]);
    fflush(stdout);
}

void run_seed(uint64_t seed, int steps, int each, bool verbose, sim_counts *counts)
{
    static world w;
    char failure[sizeof w.failure];
    world_begin(&w, seed, counts);
    w.verbose = verbose;
    if (!w.failure[0])
        live(&w, steps, each);
    for (int i = 0; i < w.shape.filters; i++)
        counts->filters[w.shape.filter[i].kind]++;
    step_list list = w.steps;
    w.steps = (step_list){NULL, 0, 0};
    after_run(&w);
    strcpy(failure, w.failure);
    counts->runs++;
    if (failure[0]) {
        counts->failed++;
        report(&w, &list, failure);
    }
    for (int i = 0; i < list.n; i++)
        forget_step(&list.at[i]);
    free(list.at);
}
