/* SPDX-License-Identifier: MIT */
#include "key_list.h"

#include "../src/bits.h"
#include "../src/format.h"

#include <string.h>

static const uint8_t list_magic[3] = {0xcf, 0x6b, 0x6c};

enum { LIST_VERSION = 1 };
enum {
    LIST_AT_VERSION = 3,
    LIST_AT_HASH = 4,
    AT_VALUED = 5,
    AT_AFFINITY = 6,
    AT_COLLATION = 7,
    LIST_AT_SEED = 8,
    AT_COUNT = 16,
    AT_ZERO = 24,
    AT_LAST = 56 /* a word: 4 bytes of zero, and the checksum */
};

static uint64_t last_word(const uint8_t *header)
{
    return (uint64_t)cf_checksum(header) << 32;
}

void cuckoo_key_list_encode(const cuckoo_key_list *list, uint8_t *header)
{
    memset(header, 0, CUCKOO_KEY_LIST_HEADER);
    memcpy(header, list_magic, sizeof list_magic);
    header[LIST_AT_VERSION] = LIST_VERSION;
    header[LIST_AT_HASH] = cf_hash_identity(&list->rule);
    header[AT_VALUED] = list->valued;
    header[AT_AFFINITY] = list->rule.affinity;
    header[AT_COLLATION] = list->rule.collation;
    cf_store64(header + LIST_AT_SEED, (uint64_t)list->rule.seed);
    cf_store64(header + AT_COUNT, list->n);
    cf_store64(header + AT_LAST, last_word(header));
}

static bool has_zeros(const uint8_t *header)
{
    uint64_t words = 0;
    for (unsigned at = AT_ZERO; at < AT_LAST; at += 8)
        words |= cf_load64(header + at);
    return words == 0;
}

static const char *check_header(const uint8_t *header)
{
    if (header[LIST_AT_VERSION] != LIST_VERSION || !cf_knows_hash(header[LIST_AT_HASH]))
        return "the list is of a later version of this extension";
    if (cf_load64(header + AT_LAST) != last_word(header) || !has_zeros(header) ||
        header[AT_VALUED] > 1 || header[AT_AFFINITY] > CF_AFFINITY_REAL ||
        header[AT_COLLATION] > CF_COLLATION_RTRIM)
        return "the header is damaged";
    return NULL;
}

const char *cuckoo_key_list_open(const uint8_t *bytes, size_t length, cuckoo_key_list *list)
{
    if (length < CUCKOO_KEY_LIST_HEADER || memcmp(bytes, list_magic, sizeof list_magic) != 0)
        return "it does not begin as a list does";
    const char *why = check_header(bytes);
    if (why)
        return why;
    *list = (cuckoo_key_list){.rule = {.seed = (int64_t)cf_load64(bytes + LIST_AT_SEED),
                                       .keyed = bytes[LIST_AT_HASH] == CF_IDENTITY_KEYED,
                                       .affinity = bytes[AT_AFFINITY],
                                       .collation = bytes[AT_COLLATION]},
                              .valued = bytes[AT_VALUED] != 0,
                              .n = cf_load64(bytes + AT_COUNT),
                              .keys = bytes + CUCKOO_KEY_LIST_HEADER};
    size_t rest = length - CUCKOO_KEY_LIST_HEADER, step = cuckoo_key_list_step(list);
    return rest % step == 0 && rest / step == list->n ? NULL : "its length does not fit its header";
}
