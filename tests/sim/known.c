/* SPDX-License-Identifier: MIT */
/*
** known.c - faults that are known: what makes them is not drawn unless --known NAME asks for it.
**
** Who mends one deletes its line here, and the question known("NAME") in the room that draws it.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *what;
} list[] = {
    {"front_written", "A6: without our triggers INSERT .. SELECT from a front sees its own rows"},
    {"interrupted_insert",
     "N1: INSERT into a table that takes keys, interrupted when it has ended, fails and keeps the key "
     "(as with an ordinary table)"},
    {"attached_lookup", "N4: a lookup in an attached database fails while somebody has locked main"},
    {"gone_trigger", "N7: a newer trigger keeps a row without ours, and has gone when somebody looks"},
};
enum { KNOWN = sizeof list / sizeof list[0] };

static bool chosen[KNOWN];

bool known_choose(const char *name)
{
    bool found = false;
    for (int i = 0; i < KNOWN; i++)
        if (strcmp(name, list[i].name) == 0 || strcmp(name, "all") == 0)
            chosen[i] = found = true;
    return found;
}

bool known(const char *name)
{
    for (int i = 0; i < KNOWN; i++)
        if (strcmp(name, list[i].name) == 0)
            return chosen[i];
    abort(); /* its line was deleted, and this question was not */
}

void known_list(void)
{
    for (int i = 0; i < KNOWN; i++)
        printf("%-22s %s\n", list[i].name, list[i].what);
}
