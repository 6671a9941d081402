/* SPDX-License-Identifier: MIT */
/*
** flag.h - a flag that threads share.
*/
#ifndef CUCKOO_FLAG_H
#define CUCKOO_FLAG_H

#include "../../src/base/bits.h"

/* static cuckoo_flag flag = CUCKOO_FLAG_CLEAR. cuckoo_flag_set returns true if the flag was set already.
** A thread that sets the flag sees everything that another one wrote before clearing it. */
#if CF_IS_MSVC
typedef volatile long cuckoo_flag;
#define CUCKOO_FLAG_CLEAR       0
#define cuckoo_flag_set(flag)   (_InterlockedExchange(flag, 1) != 0)
#define cuckoo_flag_clear(flag) ((void)_InterlockedExchange(flag, 0))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
typedef atomic_flag cuckoo_flag;
#define CUCKOO_FLAG_CLEAR       ATOMIC_FLAG_INIT
#define cuckoo_flag_set(flag)   atomic_flag_test_and_set_explicit(flag, memory_order_acquire)
#define cuckoo_flag_clear(flag) atomic_flag_clear_explicit(flag, memory_order_release)
#else /* no atomics: only one thread at a time may load the extension or close connections */
typedef volatile int cuckoo_flag;
#define CUCKOO_FLAG_CLEAR       0
#define cuckoo_flag_set(flag)   (*(flag) != 0 || (*(flag) = 1) == 0)
#define cuckoo_flag_clear(flag) ((void)(*(flag) = 0))
#endif

#endif
