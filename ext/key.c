#include "key.h"

#include "../src/bits.h"
#include "canonical.h"
#include "errors.h"

/* ---- collation ---- */

static uint8_t fold(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* NOCASE compares up to the first NUL. Behind it only the length of the text counts. */
static cuckoo_key hash_folded(const cuckoo_canonical *form, int64_t seed, uint64_t *hash)
{
    uint8_t small[512], *folded = small;
    const uint8_t *nul = memchr(form->content, 0, form->length);
    size_t n = nul ? (size_t)(nul - form->content) : form->length, length = nul ? n + 9 : n;
    if (length > sizeof small && (folded = sqlite3_malloc64(length)) == NULL)
        return CUCKOO_KEY_NOMEM;
    folded[0] = 0; /* set in every case, also for an empty text */
    for (size_t i = 0; i < n; i++)
        folded[i] = fold(form->content[i]);
    if (nul) {
        folded[n] = 0;
        cf_store64(folded + n + 1, form->length);
    }
    *hash = cf_hash_prefixed(form->type, folded, length, seed);
    if (folded != small)
        sqlite3_free(folded);
    return CUCKOO_KEY_OK;
}

static size_t length_trimmed(const cuckoo_canonical *form)
{
    size_t n = form->length;
    while (n > 0 && form->content[n - 1] == ' ')
        n--;
    return n;
}

/* ---- the hash ---- */

cuckoo_key cuckoo_key_hash(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash)
{
    cuckoo_canonical form;
    int64_t seed = geometry->seed;
    cuckoo_key kind = cuckoo_canonical_form(value, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    if (geometry->affinity != CF_AFFINITY_NONE)
        cuckoo_canonical_apply((cf_affinity)geometry->affinity, value, &form);
    if (cuckoo_is_number(&form)) {
        *hash = cf_hash_words(form.type | (uint64_t)form.places << 8, form.number, seed);
        return CUCKOO_KEY_OK;
    }
    if (form.type == TYPE_TEXT && geometry->collation == CF_COLLATION_NOCASE)
        return hash_folded(&form, seed, hash);
    if (form.type == TYPE_TEXT && geometry->collation == CF_COLLATION_RTRIM)
        form.length = length_trimmed(&form);
    *hash = cf_hash_prefixed(form.type, form.content, form.length, seed);
    return CUCKOO_KEY_OK;
}

bool cuckoo_key_found(const cf_filter *filter, sqlite3_value *value, uint64_t hash)
{
    return cf_contains(filter, hash) ||
           (filter->geometry.affinity == CF_AFFINITY_TEXT && cuckoo_canonical_vague(value));
}

/* ---- cf_key ---- */

static void append_word(sqlite3_str *key, uint64_t word)
{
    uint8_t bytes[8];
    cf_store64(bytes, word);
    sqlite3_str_append(key, (const char *)bytes, sizeof bytes);
}

static void append(sqlite3_str *key, const cuckoo_canonical *form)
{
    sqlite3_str_append(key, (const char *)&form->type, 1);
    append_word(key, cuckoo_is_number(form) ? form->number : form->length);
    if (!cuckoo_is_number(form) && form->length > 0)
        sqlite3_str_append(key, (const char *)form->content, (int)form->length);
}

void cuckoo_key_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    if (argc == 0) {
        cuckoo_fail(context, CF_BAD_ARGUMENT, "needs at least one part");
        return;
    }
    sqlite3_str *key = sqlite3_str_new(sqlite3_context_db_handle(context));
    cuckoo_key kind = CUCKOO_KEY_OK;
    for (int i = 0; i < argc && kind == CUCKOO_KEY_OK; i++) {
        cuckoo_canonical form;
        kind = cuckoo_canonical_form(argv[i], &form);
        if (kind == CUCKOO_KEY_OK)
            append(key, &form);
    }
    if (kind != CUCKOO_KEY_OK) {
        sqlite3_free(sqlite3_str_finish(key));
        if (kind == CUCKOO_KEY_NOMEM)
            sqlite3_result_error_nomem(context);
        return;
    }
    int length;
    char *bytes = cuckoo_finish_text(context, key, &length);
    if (bytes)
        sqlite3_result_blob64(context, bytes, (sqlite3_uint64)length, sqlite3_free);
}
