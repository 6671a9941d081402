/* SPDX-License-Identifier: MIT */
#pragma once
#include <stddef.h>
void *memchr(const void *bytes, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
char *strchr(const char *text, int character);
int strcmp(const char *a, const char *b);
size_t strcspn(const char *text, const char *characters);
size_t strlen(const char *text);
int strncmp(const char *a, const char *b, size_t n);
size_t strspn(const char *text, const char *characters);
char *strstr(const char *text, const char *part);
