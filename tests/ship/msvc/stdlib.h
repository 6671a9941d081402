/* SPDX-License-Identifier: MIT */
#pragma once
#include <stddef.h>
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));
int abs(int x);
double strtod(const char *text, char **end);
