/* SPDX-License-Identifier: MIT */
/*
** version.h - the version of the project, defined only here.
**
** C programs read the macro, SQL calls cf_version(), the Makefile and the packages read this line (make
** version). ext/COMPATIBILITY.md says what a new number means.
*/
#ifndef CUCKOO_VERSION_H
#define CUCKOO_VERSION_H

#define CUCKOO_VERSION "1.0.0"

#endif
