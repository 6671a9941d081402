/* SPDX-License-Identifier: MIT */
/*
** exact.c - exact filters: their bytes, and lookups.
**
**      +------------------+----------------------+---------------------+----------------------+
**      | header, 64 bytes | lengths of levels    | levels: filters     | list                 |
**      |                  | 8 bytes each         | (format.h)          | 8 bytes a hash       |
**      +------------------+----------------------+---------------------+----------------------+
**
** All integers are unsigned and little-endian, unless marked.
**
**   offset  bytes  field
**        0      3  magic: cf 65 78
**        3      1  format version: 1
**        4      1  hash identity and types of the keys, as in format.h
**        5      1  affinity of keys: 0 none, 1 text, 2 numeric, 3 real
**        6      1  collation of keys: 0 binary, 1 nocase, 2 rtrim
**        7      1  flags: 0
**        8      8  seed of the hash (signed)
**       16      8  keys of the universe
**       24      8  members: 0 .. keys
**       32      1  levels: 0 .. 32
**       33      1  hashes in the list: 0 .. 32
**       34     14  reserved: zero
**       48      8  XXH3 (unseeded, 64 bits) of all bytes from 64 on
**       56      4  reserved: zero
**       60      4  checksum: the low 32 bits of XXH3 (unseeded) of bytes 0 .. 59
**
** Levels do not grow, have no payload and no stash, and agree with the header in hash, seed and key
** rule. Level 0 has the hashes of the members; level i has mix(hash + i * 0x9e3779b97f4a7c15), with the
** mix of splitmix64. It must not be linear: with hash XOR constant, keys that collide in one level would
** collide in all. The list has unmixed hashes in ascending order.
*/
#include "exact.h"

#include "../base/bits.h"

uint64_t cf_exact_sum(const uint8_t *bytes, uint64_t length)
{
    static const cf_geometry unseeded = {0};
    return cf_hash(&unseeded, bytes + CF_HEADER_BYTES, cf_in_memory(length - CF_HEADER_BYTES));
}

/* ---- opening ---- */

static cf_status check_exact_header(const uint8_t *bytes, size_t length, const char **why)
{
    if (bytes == NULL || length < CF_HEADER_BYTES || !cf_is_exact(bytes, length))
        return cf_refuse(CF_DAMAGED, why, "not an exact filter");
    if (bytes[3] != cf_exact_magic[3])
        return cf_refuse(CF_NEWER, why, CF_LATER("unknown format version"));
    if (cf_load64(bytes + AT_END) != (uint64_t)cf_checksum(bytes) << 32)
        return cf_refuse(CF_DAMAGED, why, "the header does not match its checksum");
    /* RULE: an exact filter of another hash, key rule or flag is rejected */
    if (!cf_knows_hash(bytes[AT_RULE] & CF_HASH_MASK) || bytes[AT_RULE + 1] > CF_AFFINITY_REAL ||
        bytes[AT_RULE + 2] > CF_COLLATION_RTRIM || bytes[AT_RULE + 3] != 0)
        return cf_refuse(CF_NEWER, why, CF_LATER("unknown hash, key rule or flag"));
    /* RULE: the levels of an exact filter match their checksum */
    return cf_load64(bytes + CF_EXACT_CONTENT) == cf_exact_sum(bytes, length)
               ? CF_OK
               : cf_refuse(CF_DAMAGED, why, "the levels do not match their checksum");
}

/* Opens the levels, which end where the list begins. */
static cf_status open_levels(cf_exact *exact, const char **why)
{
    const uint8_t *at = exact->bytes + CF_HEADER_BYTES, *next = at + 8 * exact->levels;
    for (unsigned i = 0; i < exact->levels; i++, at += 8) {
        const cf_geometry *shape = &exact->level[i].geometry;
        uint64_t length = cf_load64(at);
        /* RULE: a level ends before the list */
        if (length > (uint64_t)(exact->list - next))
            return cf_refuse(CF_DAMAGED, why, "a level is longer than the filter");
        cf_status status = cf_open(&exact->level[i], next, (size_t)length, why);
        if (status != CF_OK)
            return status;
        /* RULE: a level has the key rule of the filter, and only fingerprints */
        if (!cf_same_rule(&exact->rule, shape) || shape->growth || shape->stash_size != 0 ||
            shape->counter_bits + shape->value_bits + shape->epochs != 0)
            return cf_refuse(CF_DAMAGED, why, "a level disagrees with the header");
        next += length;
    }
    /* RULE: the list follows the last level */
    return next == exact->list ? CF_OK
                               : cf_refuse(CF_DAMAGED, why, "bytes between the levels and the list");
}

static bool is_consistent(const cf_exact *exact)
{
    /* RULE: every pair of neighbours in the list is compared */
    for (unsigned i = 8; i < 8 * exact->listed; i += 8)
        /* RULE: the list is sorted */
        if (cf_load64(exact->list + i) <= cf_load64(exact->list + i - 8))
            return false;
    /* RULE: the header has the right number of members */
    return exact->members <= exact->keys &&
           exact->members == (exact->levels ? exact->level[0].items : exact->listed);
}

cf_status cf_exact_open(cf_exact *exact, const uint8_t *bytes, size_t length, const char **why)
{
    cf_status status = check_exact_header(bytes, length, why);
    if (status != CF_OK)
        return status;
    exact->rule = (cf_geometry){.seed = (int64_t)cf_load64(bytes + 8),
                                .keyed = (bytes[AT_RULE] & CF_HASH_MASK) == CF_IDENTITY_KEYED,
                                .key_types = bytes[AT_RULE] >> CF_TYPES_SHIFT,
                                .affinity = bytes[AT_RULE + 1],
                                .collation = bytes[AT_RULE + 2]};
    exact->keys = cf_load64(bytes + AT_KEYS);
    exact->members = cf_load64(bytes + AT_MEMBERS);
    exact->levels = bytes[AT_LEVELS];
    exact->listed = bytes[AT_LEVELS + 1];
    exact->length = length;
    exact->bytes = bytes;
    /* RULE: an exact filter is long enough for the counts in its header */
    if (cf_load64(bytes + AT_LEVELS) >> 16 != 0 || cf_load64(bytes + AT_LEVELS + 8) != 0 ||
        exact->levels > CF_EXACT_LEVELS || exact->listed > CF_EXACT_LIST ||
        length < CF_HEADER_BYTES + 8 * (exact->levels + exact->listed))
        return cf_refuse(CF_DAMAGED, why, "the header is corrupt");
    exact->list = bytes + length - 8 * exact->listed;
    status = open_levels(exact, why);
    return status != CF_OK || is_consistent(exact)
               ? status
               : cf_refuse(CF_DAMAGED, why,
                           "the numbers of keys do not match, or the list is not sorted");
}

/* ---- lookups ---- */

uint64_t cf_exact_hash(uint64_t hash, unsigned level)
{
    uint64_t z = hash + level * UINT64_C(0x9e3779b97f4a7c15);
    if (level == 0)
        return hash;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

unsigned cf_exact_depth(const cf_exact *exact, uint64_t hash)
{
    unsigned i = 0, j = 0;
    /* RULE: a key goes on to the next level while it is found */
    while (i < exact->levels && cf_contains(&exact->level[i], cf_exact_hash(hash, i)))
        i++;
    while (i == exact->levels && j < exact->listed && cf_load64(exact->list + 8 * j) != hash)
        j++;
    /* RULE: the list is the last level */
    return i + (i == exact->levels && j < exact->listed);
}

bool cf_exact_contains(const cf_exact *exact, uint64_t hash)
{
    /* RULE: members have odd depths */
    return cf_exact_depth(exact, hash) % 2 != 0;
}

double cf_exact_fpr(const cf_exact *exact)
{
    double odd = 0; /* the share of keys that are found in an odd number of the levels from i on */
    for (unsigned i = exact->levels; i > 0; i--)
        odd = (1 - odd) * cf_expected_fpr(&exact->level[i - 1].geometry, exact->level[i - 1].occupied);
    return odd;
}

cf_status cf_exact_check(const cf_exact *exact, const cf_watch *watch, const char **why)
{
    cf_status status = CF_OK;
    for (unsigned i = 0; i < exact->levels && status == CF_OK; i++) {
        cf_filter level = exact->level[i];
        level.watch = watch;
        status = cf_check(&level, why);
    }
    return status;
}
