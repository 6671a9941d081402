/* SPDX-License-Identifier: MIT */
/*
** nearest.h - "did you mean": the name that is nearest to a misspelt one.
**
** A name is near when few letters are wrong, missing, too many or exchanged with their neighbour: one
** for each three letters of the word that was given. A name that begins with the word, which then has
** three letters at least, is near as well. Letters count in any case.
*/
#ifndef CUCKOO_NEAREST_H
#define CUCKOO_NEAREST_H

#include "api.h"

enum { CUCKOO_NEAREST_MAX = 40 /* bytes of a name or word; longer ones are never near */ };

/* Starts with the word, and zeros. */
typedef struct cuckoo_nearest {
    const char *word;
    unsigned distance;                  /* of the name that was found */
    char found[CUCKOO_NEAREST_MAX + 1]; /* "": none yet */
    char hint[CUCKOO_NEAREST_MAX + 20];
} cuckoo_nearest;

/* Another name that may be meant. The first of equally near ones stays. */
void cuckoo_nearest_offer(cuckoo_nearest *nearest, const char *name);

/* Offers all names of a list, which ends with NULL. NULL itself is an empty list. */
void cuckoo_nearest_offer_all(cuckoo_nearest *nearest, const char *const *names);

/* "; did you mean NAME", or "" when no name was near. It lives as long as *nearest. */
const char *cuckoo_nearest_hint(cuckoo_nearest *nearest);

#endif
