/* SPDX-License-Identifier: MIT */
/*
** kind.h - code for each kind of bucket.
**
** How a bucket is written down (cf_form, set by open.c) is looked at once for each operation, and is
** then a constant, its *kind*, in a copy of the code.
*/
#ifndef CF_KIND_H
#define CF_KIND_H

#include "../base/bits.h"
#include "../include/cuckoo_inspect.h"

/* `any`: lanes are loaded one at a time, and there may be a pager. `semi`: semi-sorted. `two`: lanes are
** two halves; else one word. `grown`: tags have terminators. `bare`: there are no payloads. `whole`: and
** buckets are whole bytes, in one word, before growth. `one`: and the two tags of a key are equal,
** because all of the fingerprint is pair bits. */
typedef struct cf_kind {
    bool any, semi, two, grown, bare, whole, one;
} cf_kind;

#define CF_KIND(semi, two, grown) ((cf_kind){false, semi, two, grown, false, false, false})
#define CF_KIND_WHOLE(semi, one)  ((cf_kind){false, semi, false, false, true, true, one})
#define CF_KIND_ANY(form)         ((cf_kind){true, (form)->semi, false, (form)->grown, false, false, false})

/* The number of the kind whose lookups are in the program that calls cf_contains (set_form). */
enum { CF_KIND_OF_WHOLE = 1 };

/* CF_BY_FORM: f(kind, ...) for the form of a filter; CF_BY_NEW_FORM: of a filter that has not grown.
**
** CF_COPIES(type, f, (parameters), arguments) is for calls with one key, of which every instruction
** counts: it makes a function of f(kind, arguments) for each kind, so that none saves registers for
** another. A `filter` is among the parameters. CF_COPIES_OF(f) are these, by the number of the kind. */
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
