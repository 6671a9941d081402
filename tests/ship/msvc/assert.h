/* SPDX-License-Identifier: MIT */
#pragma once
#define assert(condition) ((void)(condition))
