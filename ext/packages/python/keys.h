/* SPDX-License-Identifier: MIT */
/*
** keys.h - the part of module.c that turns an object of Python into a key.
*/
enum { FAILED = -1, NO_KEY, KEY, VAGUE_KEY }; /* NO_KEY: None or NaN, NULL in SQL */

static int integer_of(PyObject *key, cf_key *form)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(key, &overflow);
    if (overflow)
        PyErr_Format(PyExc_OverflowError,
                     "sqlite_cuckoo.Filter: key %.80R is no integer of 64 bits; give str(key) or bytes",
                     key);
    *form = cf_key_integer(value);
    return overflow ? FAILED : KEY;
}

/* Python's sqlite3 makes the same values of these types. `held` is what the bytes of the key are in. */
static int other_form(PyObject *key, cf_key *form, PyObject **held)
{
    char *content;
    Py_ssize_t length;
    if (key == &_Py_NoneStruct)
        return NO_KEY;
    if (PyType_IsSubtype(key->ob_type, &PyFloat_Type)) {
        double real = PyFloat_AsDouble(key);
        *form = cf_key_real(real);
        return real == real ? KEY : NO_KEY;
    }
    if (PyType_GetFlags(key->ob_type) & Py_TPFLAGS_BYTES_SUBCLASS)
        Py_IncRef(*held = key);
    else if (PyType_IsSubtype(key->ob_type, &PyByteArray_Type) ||
             PyType_IsSubtype(key->ob_type, &PyMemoryView_Type))
        *held = PyBytes_FromObject(key);
    else if (PyIndex_Check(key))
        return (*held = PyNumber_Index(key)) ? integer_of(*held, form) : FAILED;
    else
        PyErr_Format(PyExc_TypeError,
                     "sqlite_cuckoo.Filter: key must be a str, int, float, bytes or None, got %.80R; "
                     "give what the column holds, such as str(key), int(key) or key.isoformat()",
                     key);
    if (*held == NULL || PyBytes_AsStringAndSize(*held, &content, &length) != 0)
        return FAILED;
    *form = cf_key_blob(content, (size_t)length);
    return KEY;
}

static int form_of(PyObject *key, cf_key *form, PyObject **held)
{
    unsigned long flags = PyType_GetFlags(key->ob_type);
    if (flags & Py_TPFLAGS_UNICODE_SUBCLASS) {
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(key, &length);
        *form = cf_key_text(text, (size_t)length);
        return text ? KEY : FAILED;
    }
    return flags & Py_TPFLAGS_LONG_SUBCLASS ? integer_of(key, form) : other_form(key, form, held);
}

/* The words of cuckoo_key_unfit (ext/keys/key.c). */
static void fail_unfit(const cf_geometry *rule, PyObject *key, unsigned type)
{
    static const char *const words[] = {"keys of unknown types", "numbers", "texts",
                                        "numbers and texts",     "blobs",   "numbers and blobs",
                                        "texts and blobs",       "all"};
    unsigned noted = rule->key_types & CF_TYPE_ANY;
    PyErr_Format(PyExc_TypeError,
                 "sqlite_cuckoo.Filter: key is %.80R, and only %s were added, so it would never be "
                 "found; give %s%s; %s",
                 key, words[noted],
                 noted & CF_TYPE_NUMBER ? "a number, such as int(key)"
                 : noted & CF_TYPE_TEXT ? "a text, such as str(key)"
                                        : "bytes",
                 (type | noted) & CF_TYPE_BLOB ? ""
                 : type == CF_TYPE_NUMBER      ? ", or for joins make the filter with affinity=text"
                                               : ", or for joins make the filter with affinity=numeric",
                 rule->affinity == CF_AFFINITY_NONE
                     ? "affinity=none, written out, takes keys of all types"
                     : "where they are mixed, leave others out");
}

/* Reads the key that the next call of the library is about. `asks`: it is looked for or deleted. */
static int read_key(const cf_geometry *rule, PyObject *key, bool asks, bool exact)
{
    cf_key form;
    PyObject *held = NULL;
    uint8_t *room = NULL;
    int kind = form_of(key, &form, &held);
    size_t needed = kind == KEY ? cf_key_room(rule, &form) : 0;
    if (needed && (room = malloc(needed)) == NULL) {
        PyErr_NoMemory();
        kind = FAILED;
    }
    if (kind == KEY) {
        sureness sure = put(rule, &form, room, asks);
        kind = sure == SURE ? KEY : sure == UNFIT || (sure == UNSURE && exact) ? FAILED : VAGUE_KEY;
        if (sure == UNFIT)
            fail_unfit(rule, key, key_type);
        else if (kind == FAILED)
            PyErr_Format(
                PyExc_ValueError,
                "sqlite_cuckoo.Filter: key %.80R is a number under the affinity of the filter, and "
                "versions of SQLite differ over which one; give it as a number",
                key);
    }
    free(room);
    drop(held);
    return kind;
}
