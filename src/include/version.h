/* SPDX-License-Identifier: MIT */
/*
** version.h - the version of the project. It stands here and nowhere else.
**
** C programs read the macro, SQL asks cf_version(), the Makefile and the packages take it from this
** line (make version). ext/COMPATIBILITY.md says what a new number means.
*/
#ifndef CUCKOO_VERSION_H
#define CUCKOO_VERSION_H

#define CUCKOO_VERSION "1.0.0"

#endif
