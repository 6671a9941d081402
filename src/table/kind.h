/* SPDX-License-Identifier: MIT */
/*
** kind.h - code for each kind of bucket.
**
** The form of a bucket (cf_form, set by open.c) is tested once for each operation; in the copy of the
** code that then runs it is a constant, its *kind*.
*/
#ifndef CF_KIND_H
#define CF_KIND_H

#include "../base/bits.h"
#include "../include/cuckoo_inspect.h"

/* `any`: lanes are loaded one at a time, and there may be a pager. `semi`: semi-sorted. `two`: the lanes
** are two halves, otherwise one word. `grown`: tags have terminators. `bare`: there are no payloads.
** `whole`: `bare`, and buckets are whole bytes, in one word, before growth. `one`: the two tags of a key
** are equal, because the whole fingerprint is pair bits. */
typedef struct cf_kind {
    bool any, semi, two, grown, bare, whole, one;
} cf_kind;

#define CF_KIND(semi, two, grown) ((cf_kind){false, semi, two, grown, false, false, false})
#define CF_KIND_WHOLE(semi, one)  ((cf_kind){false, semi, false, false, true, true, one})
#define CF_KIND_ANY(f)            ((cf_kind){true, (f)->semi, false, (f)->grown, false, false, false})

/* The kind whose lookups are inlined into the program that calls cf_contains (set_form). */
enum { CF_KIND_OF_WHOLE = 1 };

/* CF_BY_FORM: f(kind, ...) for the form of a filter; CF_BY_NEW_FORM: the same before growth.
**
** CF_COPIES(type, f, (parameters), arguments) is for calls with one key, where every instruction counts:
** it makes a function f(kind, arguments) for each kind, so that no kind saves registers for another.
** One parameter is `filter`. CF_COPIES_OF(f) lists these functions by the number of their kind. */
#define CF_COPY(type, name, parameters, call)                                                           \
    static CF_NEVER_INLINE type name parameters                                                         \
    {                                                                                                   \
        return call;                                                                                    \
    }
#ifdef CUCKOO_SMALL
#define CF_BY_FORM(form, f, ...)     f(CF_KIND_ANY(form), __VA_ARGS__)
#define CF_BY_NEW_FORM(form, f, ...) f(CF_KIND_ANY(form), __VA_ARGS__)
#define CF_COPIES(type, f, parameters, ...)                                                             \
    CF_COPY(type, f##_any, parameters, f(CF_KIND_ANY(&filter->view.form), __VA_ARGS__))
#define CF_COPIES_OF(f)                                                                                 \
    {                                                                                                   \
        f##_any                                                                                         \
    }
#else
#define CF_BY_NEW_FORM(form, f, ...)                                                                    \
    ((form)->any ? f(CF_KIND_ANY(form), __VA_ARGS__) : CF_BY_LANES(form, false, f, __VA_ARGS__))
#define CF_BY_FORM(form, f, ...)                                                                        \
    (!(form)->any && (form)->grown ? CF_BY_LANES(form, true, f, __VA_ARGS__)                            \
                                   : CF_BY_NEW_FORM(form, f, __VA_ARGS__))
#define CF_BY_LANES(form, grown, f, ...)                                                                \
    ((form)->semi  ? (form)->two ? f(CF_KIND(true, true, grown), __VA_ARGS__)                           \
                                 : f(CF_KIND(true, false, grown), __VA_ARGS__)                          \
      : (form)->two ? f(CF_KIND(false, true, grown), __VA_ARGS__)                                       \
                   : f(CF_KIND(false, false, grown), __VA_ARGS__))
#define CF_COPIES(type, f, parameters, ...)                                                             \
    CF_COPY(type, f##_any, parameters, f(CF_KIND_ANY(&filter->view.form), __VA_ARGS__))                 \
    CF_COPY(type, f##_1, parameters, f(CF_KIND_WHOLE(false, true), __VA_ARGS__))                        \
    CF_COPY(type, f##_2, parameters, f(CF_KIND_WHOLE(true, true), __VA_ARGS__))                         \
    CF_COPY(type, f##_3, parameters, f(CF_KIND_WHOLE(false, false), __VA_ARGS__))                       \
    CF_COPY(type, f##_4, parameters, f(CF_KIND_WHOLE(true, false), __VA_ARGS__))                        \
    CF_COPY(type, f##_5, parameters, f(CF_KIND(false, false, false), __VA_ARGS__))                      \
    CF_COPY(type, f##_6, parameters, f(CF_KIND(false, true, false), __VA_ARGS__))                       \
    CF_COPY(type, f##_7, parameters, f(CF_KIND(true, false, false), __VA_ARGS__))                       \
    CF_COPY(type, f##_8, parameters, f(CF_KIND(true, true, false), __VA_ARGS__))                        \
    CF_COPY(type, f##_9, parameters, f(CF_KIND(false, false, true), __VA_ARGS__))                       \
    CF_COPY(type, f##_10, parameters, f(CF_KIND(false, true, true), __VA_ARGS__))                       \
    CF_COPY(type, f##_11, parameters, f(CF_KIND(true, false, true), __VA_ARGS__))                       \
    CF_COPY(type, f##_12, parameters, f(CF_KIND(true, true, true), __VA_ARGS__))
#define CF_COPIES_OF(f)                                                                                 \
    {                                                                                                   \
        f##_any, f##_1, f##_2, f##_3, f##_4, f##_5, f##_6, f##_7, f##_8, f##_9, f##_10, f##_11, f##_12  \
    }
#endif

#endif
