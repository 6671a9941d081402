/* SPDX-License-Identifier: MIT */
/*
** module.c - the module sqlite_cuckoo._filter: the base class of sqlite_cuckoo.Filter (filter.py), with
** the methods that must be fast. It calls the C library through ../filter/exports.c, as JavaScript does.
** Every call holds the GIL, and no Python code runs between hashing a key and looking it up.
*/
typedef int cuckoo_module; /* elsewhere it is empty, for those who compile all files of ext */
#ifdef CUCKOO_PYTHON
#include "abi.h"

#define FOR_JS(name)  static __attribute__((unused))
#define FROM_JS(name) static
#include "exports.c"

/* What lies in the memory of an object. */
typedef struct object {
    PyObject base;
    cf_geometry *rule; /* that of the filter, or of the exact filter */
    cf_filter *filter; /* NULL: an exact one */
    cf_exact *exact;
    uint8_t *bytes; /* of the exact one */
} object;

static PyTypeObject *filter_type;

static uint8_t *js_resize(uint8_t *bytes, size_t size)
{
    if (size != 0)
        return realloc(bytes, size);
    free(bytes);
    return NULL;
}

static object *object_of(PyObject *self)
{
    return (object *)(void *)self;
}

static PyObject *none(void)
{
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static void drop(PyObject *held)
{
    if (held)
        Py_DecRef(held);
}

#include "keys.h"

/* ---- lookups ---- */

static int filter_has(PyObject *self, PyObject *key)
{
    object *my = object_of(self);
    int kind = read_key(my->rule, key, true, my->exact != NULL);
    return kind != KEY ? (kind == VAGUE_KEY) - (kind == FAILED)
           : my->exact ? contains_exact(my->exact)
                       : contains(my->filter);
}

static Py_ssize_t filter_length(PyObject *self)
{
    object *my = object_of(self);
    return (Py_ssize_t)(my->exact ? my->exact->members : my->filter->items);
}

enum { SOME = 256 };

/* Looks up the hashes of `n` keys, and appends the answers. Of a kind other than KEY it is known. */
static int append_answers(object *my, PyObject *answers, const uint64_t *hashes,
                          const signed char *kinds, size_t n)
{
    bool found[SOME];
    if (my->exact == NULL)
        cf_contains_many(my->filter, hashes, n, found);
    for (size_t i = 0; i < n; i++) {
        bool has = kinds[i] != KEY ? kinds[i] == VAGUE_KEY
                   : my->exact     ? cf_exact_contains(my->exact, hashes[i])
                                   : found[i];
        PyObject *answer = PyBool_FromLong(has);
        int failed = PyList_Append(answers, answer);
        drop(answer);
        if (failed)
            return FAILED;
    }
    return 0;
}

static PyObject *filter_contains_many(PyObject *self, PyObject *keys)
{
    object *my = object_of(self);
    uint64_t hashes[SOME];
    signed char kinds[SOME];
    size_t n = 0;
    int kind = KEY;
    PyObject *each = PyObject_GetIter(keys), *answers = each ? PyList_New(0) : NULL, *key = NULL;
    while (answers && kind != FAILED && (key = PyIter_Next(each)) != NULL) {
        kind = read_key(my->rule, key, true, my->exact != NULL);
        kinds[n] = (signed char)kind;
        hashes[n++] = kind == KEY ? hash : 0;
        drop(key); /* its __del__ may use another filter, and so the hash */
        if (n == SOME && kind != FAILED) {
            kind = append_answers(my, answers, hashes, kinds, n) ? FAILED : KEY;
            n = 0;
        }
    }
    drop(each);
    if (answers && kind != FAILED && !PyErr_Occurred() && !append_answers(my, answers, hashes, kinds, n))
        return answers;
    drop(answers);
    return NULL;
}

/* Reads a key to look up in a filter that is not exact. */
static int key_of_plain(PyObject *self, PyObject *key, const char *call)
{
    object *my = object_of(self);
    if (my->exact == NULL)
        return read_key(my->rule, key, true, false);
    PyErr_Format(
        PyExc_TypeError,
        "sqlite_cuckoo.Filter.%s: an exact filter cannot be changed, merged or counted, and has no "
        "values; build it again with cf_build_exact",
        call);
    return FAILED;
}

static PyObject *filter_count(PyObject *self, PyObject *key)
{
    int kind = key_of_plain(self, key, "count");
    if (kind == FAILED)
        return NULL;
    uint64_t n = kind == NO_KEY ? 0 : cf_count(object_of(self)->filter, hash);
    return PyLong_FromUnsignedLongLong(n ? n : kind == VAGUE_KEY);
}

static PyObject *filter_values(PyObject *self, PyObject *key)
{
    uint64_t found[CF_VALUES_MAX];
    int kind = key_of_plain(self, key, "values");
    if (kind != FAILED && object_of(self)->rule->value_bits == 0)
        return PyErr_Format(PyExc_ValueError,
                            "sqlite_cuckoo.Filter.values: the filter stores no values; "
                            "make it with value_bits");
    PyObject *values = kind == FAILED ? NULL : PyList_New(0);
    unsigned n = !values || kind == NO_KEY ? 0 : cf_get_all(object_of(self)->filter, hash, found);
    for (unsigned i = 0; i < n; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(found[i]);
        if (value == NULL || PyList_Append(values, value) != 0)
            n = 0;
        drop(value);
    }
    if (!PyErr_Occurred())
        return values;
    drop(values);
    return NULL;
}

/* ---- changes ---- */

/* The exception for a status. `why` may be NULL. */
static PyObject *fail_status(const char *call, cf_status status, const cf_filter *filter,
                             const char *why)
{
    if (status == CF_NO_MEMORY)
        return PyErr_NoMemory();
    if (status == CF_TOO_BIG)
        return PyErr_Format(PyExc_ValueError,
                            "sqlite_cuckoo.Filter.%s: the filter would be longer than 2 GB; "
                            "split the keys over several filters",
                            call);
    if (status != CF_FULL)
        return PyErr_Format(PyExc_ValueError, "sqlite_cuckoo.Filter.%s: %s", call,
                            why ? why : cf_status_text(status));
    return PyErr_Format(
        PyExc_ValueError, "sqlite_cuckoo.Filter.%s: %s; nothing has changed; %s", call,
        why ? why : "the filter is full",
        why              ? "query the filters one by one"
        : filter == NULL ? "too many keys belong to the same few buckets; try another seed"
        : filter->geometry.value_bits
            ? "a key has at most as many values as two buckets have slots; if none "
              "has more, make a larger filter"
        : filter->geometry.growth
            ? "too many keys belong to the same few buckets; rebuild it with another seed"
            : "make a larger one, or one with growth=on");
}

/* Reads the arguments (key [, value]) of add or delete. */
static int read_change(PyObject *self, PyObject *arguments, bool adds, double *value)
{
    const char *call = adds ? "add" : "delete";
    PyObject *key, *given = &_Py_NoneStruct;
    unsigned bits = object_of(self)->rule->value_bits;
    int overflow = 0;
    if (!PyArg_ParseTuple(arguments, adds ? "O|O:add" : "O|O:delete", &key, &given))
        return FAILED;
    if (!adds && object_of(self)->rule->epochs) {
        PyErr_Format(PyExc_ValueError,
                     "sqlite_cuckoo.Filter.delete: the filter expires keys (epochs=%d), and cannot "
                     "delete a single "
                     "key: use cf_advance in SQL",
                     object_of(self)->rule->epochs);
        return FAILED;
    }
    bool is_int = PyType_GetFlags(given->ob_type) & Py_TPFLAGS_LONG_SUBCLASS;
    long long number = is_int ? PyLong_AsLongLongAndOverflow(given, &overflow) : 0;
    if (bits == 0 ? given != &_Py_NoneStruct
                  : !is_int || overflow || number < 0 || number >> bits != 0) {
        PyErr_Format(
            PyExc_ValueError,
            bits ? "sqlite_cuckoo.Filter.%s: value must be an int of %u bits, got %.80R"
                 : "sqlite_cuckoo.Filter.%s: the filter stores no values (value_bits=%u), got %.80R",
            call, bits, given);
        return FAILED;
    }
    *value = (double)number;
    if (!adds || object_of(self)->exact)
        return key_of_plain(self, key, call);
    return read_key(object_of(self)->rule, key, false, false);
}

static PyObject *filter_add(PyObject *self, PyObject *arguments)
{
    double value = 0;
    cf_filter *filter = object_of(self)->filter;
    int kind = read_change(self, arguments, true, &value);
    if (kind == FAILED)
        return NULL;
    if (filter->geometry.capacity == 0 && filter->occupied == 0 && filter->geometry.epochs == 0)
        return PyErr_Format(
            PyExc_ValueError,
            "sqlite_cuckoo.Filter.add: the filter was built from zero rows, where cf_build "
            "does not see its options; make it again");
    cf_status status = kind == NO_KEY ? CF_OK : add(filter, value);
    return status == CF_OK ? none() : fail_status("add", status, filter, NULL);
}

static PyObject *filter_delete(PyObject *self, PyObject *arguments)
{
    double value = 0;
    int kind = read_change(self, arguments, false, &value);
    return kind == FAILED ? NULL
                          : PyBool_FromLong(kind != NO_KEY && take(object_of(self)->filter, value));
}

static PyObject *filter_merge(PyObject *self, PyObject *other)
{
    object *my = object_of(self), *its = object_of(other);
    if (!PyType_IsSubtype(other->ob_type, filter_type) || my->exact || its->exact || my == its)
        return PyErr_Format(PyExc_TypeError,
                            "sqlite_cuckoo.Filter.merge: both must be filters that are not "
                            "exact, and two, got %.80R; Filter(bytes) makes one",
                            other);
    cf_status status = merge(my->filter, its->filter);
    return status == CF_OK ? none()
           : status == CF_MISMATCH
               ? PyErr_Format(PyExc_ValueError,
                              "sqlite_cuckoo.Filter.merge: the filters differ in %s; build "
                              "both with the same capacity, at least the larger of the "
                              "two, and the same fpr, seed and options",
                              said)
               : fail_status("merge", status, my->filter, said);
}

/* ---- what it is ---- */

static PyObject *filter_bytes(PyObject *self, PyObject *nothing)
{
    object *my = object_of(self);
    (void)nothing;
    return my->exact ? PyBytes_FromStringAndSize((char *)my->bytes, (Py_ssize_t)my->exact->length)
                     : PyBytes_FromStringAndSize((const char *)seal(my->filter),
                                                 (Py_ssize_t)my->filter->length);
}

static PyObject *filter_check(PyObject *self, PyObject *nothing)
{
    object *my = object_of(self);
    (void)nothing;
    cf_status status = my->exact ? check_exact(my->exact) : check(my->filter);
    return PyUnicode_FromString(status == CF_OK ? "ok" : said);
}

/* The numbers of `info` or `info_exact`, doubles; whether it is exact; the seed. */
static PyObject *filter_numbers(PyObject *self, PyObject *nothing)
{
    double numbers[40];
    int64_t seed;
    object *my = object_of(self);
    (void)nothing;
    memset(numbers, 0, sizeof numbers);
    if (my->exact)
        info_exact(my->exact, numbers, &seed);
    else
        info(my->filter, numbers, &seed, true);
    numbers[38] = my->exact != NULL;
    memcpy(numbers + 39, &seed, sizeof seed);
    return PyBytes_FromStringAndSize((char *)numbers, sizeof numbers);
}

#include "making.h"

/* ---- the module ---- */

static PyMethodDef methods[] = {
    {"contains_many", filter_contains_many, METH_O,
     "A list: True or False for each key, as `key in filter`."},
    {"count", filter_count, METH_O, "How often the key was added, false positives included."},
    {"values", filter_values, METH_O, "All values of the key, in filters with value_bits."},
    {"add", filter_add, METH_VARARGS,
     "add(key, value=None): adds one copy of the key; None adds nothing."},
    {"delete", filter_delete, METH_VARARGS,
     "delete(key, value=None): deletes one copy of a key that was added. False: nothing has changed."},
    {"merge", filter_merge, METH_O, "Takes in all keys of a compatible filter."},
    {"check", filter_check, METH_NOARGS, "'ok', or the first thing that is wrong inside."},
    {"__bytes__", filter_bytes, METH_NOARGS, "The blob of SQL."},
    {"_numbers", filter_numbers, METH_NOARGS, NULL},
    {"_build", filter_build, METH_VARARGS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_sq_contains, (void *)filter_has},
                              {Py_sq_length, (void *)filter_length},
                              {Py_tp_new, (void *)filter_new},
                              {Py_tp_dealloc, (void *)filter_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {"sqlite_cuckoo._filter.Filter", sizeof(object), 0, Py_TPFLAGS_BASETYPE,
                           slots};

static PyModuleDef definition = {
    .m_base = {.ob_base = {.ob_refcnt = 1}}, .m_name = "_filter", .m_size = -1};

__attribute__((visibility("default"))) PyObject *PyInit__filter(void);
PyObject *PyInit__filter(void)
{
    PyObject *module = PyModule_Create2(&definition, PYTHON_ABI_VERSION);
    PyObject *type = module ? PyType_FromSpec(&spec) : NULL;
    filter_type = (PyTypeObject *)(void *)type;
    if (type && PyModule_AddObject(module, "Filter", type) == 0)
        return module;
    drop(module);
    return NULL;
}

#endif
