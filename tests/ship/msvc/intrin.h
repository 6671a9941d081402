/* SPDX-License-Identifier: MIT */
/*
** What Microsoft's headers declare, as far as it is used here, so that clang can look at the branches for MSVC without
** them: its documentation says these prototypes. The other files of this folder are the same for the C library.
*/
#pragma once
#if defined(_M_X64) || defined(_M_ARM64)
unsigned char _BitScanForward64(unsigned long *index, unsigned __int64 mask);
unsigned char _BitScanReverse64(unsigned long *index, unsigned __int64 mask);
unsigned __int64 __umulh(unsigned __int64 a, unsigned __int64 b);
#endif
#if defined(_M_X64)
unsigned __int64 _umul128(unsigned __int64 a, unsigned __int64 b, unsigned __int64 *high);
#endif
#if defined(_M_IX86)
unsigned __int64 __emulu(unsigned a, unsigned b);
#endif
#if defined(_M_X64) || defined(_M_IX86)
#define _MM_HINT_T0 1
void _mm_prefetch(const char *at, int hint);
#endif
long _InterlockedExchange(long volatile *target, long value);
unsigned __int64 _byteswap_uint64(unsigned __int64 value);
unsigned long _byteswap_ulong(unsigned long value);
unsigned __int64 _rotl64(unsigned __int64 value, int shift);
unsigned _rotl(unsigned value, int shift);
