#include "key.h"

#include "../src/bits.h"
#include "errors.h"

enum { TYPE_INTEGER = 1, TYPE_REAL = 2, TYPE_TEXT = 3, TYPE_BLOB = 4 };

/* A value taken apart: type, and a number or the bytes of a text or blob. */
typedef struct canonical {
    uint8_t type;
    uint64_t number;
    const uint8_t *content;
    size_t length;
} canonical;

static void set_number(canonical *form, uint8_t type, uint64_t number)
{
    form->type = type;
    form->number = number;
}

static bool is_number(const canonical *form)
{
    return form->type == TYPE_INTEGER || form->type == TYPE_REAL;
}

/* Every integer is below 2^63, and 2^63 is a real that no integer equals. */
static bool is_integer(double real)
{
    return real >= -9223372036854775808.0 && real < 9223372036854775808.0 &&
           real == (double)(int64_t)real;
}

static void set_real(canonical *form, double real)
{
    uint64_t bits;
    if (is_integer(real)) {
        set_number(form, TYPE_INTEGER, (uint64_t)(int64_t)real);
        return;
    }
    memcpy(&bits, &real, sizeof bits);
    set_number(form, TYPE_REAL, bits);
}

/* SQLite converts text to UTF-8 first and counts its bytes after. */
static cuckoo_key set_text(canonical *form, sqlite3_value *value)
{
    form->type = TYPE_TEXT;
    form->content = sqlite3_value_text(value);
    form->length = (size_t)sqlite3_value_bytes(value);
    return form->content ? CUCKOO_KEY_OK : CUCKOO_KEY_NOMEM;
}

static cuckoo_key set_blob(canonical *form, sqlite3_value *value)
{
    form->type = TYPE_BLOB;
    form->content = sqlite3_value_blob(value);
    form->length = (size_t)sqlite3_value_bytes(value);
    return form->content || form->length == 0 ? CUCKOO_KEY_OK : CUCKOO_KEY_NOMEM;
}

static cuckoo_key canonical_form(sqlite3_value *value, canonical *form)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        set_number(form, TYPE_INTEGER, (uint64_t)sqlite3_value_int64(value));
        return CUCKOO_KEY_OK;
    case SQLITE_FLOAT:
        set_real(form, sqlite3_value_double(value));
        return CUCKOO_KEY_OK;
    case SQLITE_TEXT:
        return set_text(form, value);
    case SQLITE_BLOB:
        return set_blob(form, value);
    default:
        return CUCKOO_KEY_NULL;
    }
}

cuckoo_key cuckoo_key_hash(sqlite3_value *value, int64_t seed, uint64_t *hash)
{
    canonical form;
    cuckoo_key kind = canonical_form(value, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    *hash = is_number(&form) ? cf_hash_words(form.type, form.number, seed)
                             : cf_hash_prefixed(form.type, form.content, form.length, seed);
    return kind;
}

static void append_word(sqlite3_str *key, uint64_t word)
{
    uint8_t bytes[8];
    cf_store64(bytes, word);
    sqlite3_str_append(key, (const char *)bytes, sizeof bytes);
}

static void append(sqlite3_str *key, const canonical *form)
{
    sqlite3_str_append(key, (const char *)&form->type, 1);
    append_word(key, is_number(form) ? form->number : form->length);
    if (!is_number(form) && form->length > 0)
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
        canonical form;
        kind = canonical_form(argv[i], &form);
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
