/* SPDX-License-Identifier: MIT */
/*
** making.h - the part of module.c that opens and builds filters.
*/
static void free_filter(object *my)
{
    if (my->filter)
        release(my->filter);
    free(my->filter);
    free(my->exact);
    free(my->bytes);
}

static void filter_dealloc(PyObject *self)
{
    PyTypeObject *type = self->ob_type;
    void (*give_back)(void *) = (void (*)(void *))PyType_GetSlot(type, Py_tp_free);
    free_filter(object_of(self));
    give_back(self);
    Py_DecRef((PyObject *)(void *)type);
}

static cf_status open_bytes(object *my, const uint8_t *bytes, size_t length)
{
    bool exact = is_exact(bytes, length);
    said = "it has more than 2 GB";
    my->bytes = length <= MOST ? malloc(length + 1) : NULL;
    if (exact)
        my->exact = calloc(1, sizeof *my->exact);
    else
        my->filter = calloc(1, sizeof *my->filter);
    if (my->bytes == NULL || (my->exact == NULL && my->filter == NULL))
        return length <= MOST ? CF_NO_MEMORY : CF_TOO_BIG;
    memcpy(my->bytes, bytes, length);
    my->rule = exact ? &my->exact->rule : &my->filter->geometry;
    cf_status status =
        exact ? open_exact(my->exact, my->bytes, length) : open(my->filter, my->bytes, length);
    if (!exact) {
        my->filter->writable = status == CF_OK ? my->filter->writable : NULL;
        my->bytes = status == CF_OK ? NULL : my->bytes; /* they are the filter's now */
    }
    return status;
}

static PyObject *filter_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    PyObject *blob, *view, *bytes, *self;
    char *content;
    Py_ssize_t length;
    if (names)
        return PyErr_Format(PyExc_TypeError, "sqlite_cuckoo.Filter(bytes) takes no keyword arguments");
    if (!PyArg_ParseTuple(arguments, "O:Filter", &blob))
        return NULL;
    if ((view = PyMemoryView_FromObject(blob)) == NULL)
        return PyErr_Format(PyExc_TypeError,
                            "sqlite_cuckoo.Filter: filter must be bytes, such as a blob of cf_build or "
                            "what a file has, got %.80R; Filter.build(keys) makes one",
                            blob);
    bytes = PyBytes_FromObject(view);
    drop(view);
    self = bytes && !PyBytes_AsStringAndSize(bytes, &content, &length) ? PyType_GenericAlloc(type, 0)
                                                                       : NULL;
    cf_status status = self ? open_bytes(object_of(self), (uint8_t *)content, (size_t)length) : CF_OK;
    drop(bytes);
    if (status == CF_OK)
        return self;
    drop(self);
    return status == CF_NO_MEMORY
               ? PyErr_NoMemory()
               : PyErr_Format(
                     PyExc_ValueError, "sqlite_cuckoo.Filter: filter cannot be used: %s; %s", said,
                     status == CF_NEWER ? "install a later version of this package"
                                        : "restore it from a backup, or rebuild it with cf_build");
}

/* Reads the keys into a list. */
static int read_keys(PyObject *keys, list *all)
{
    int kind = KEY;
    PyObject *each = PyObject_GetIter(keys), *key = NULL;
    while (each && kind != FAILED && (key = PyIter_Next(each)) != NULL) {
        kind = read_key(&all->rule, key, false, false);
        if (kind > NO_KEY && !push(all)) {
            PyErr_NoMemory();
            kind = FAILED;
        }
        drop(key); /* its __del__ may use another filter, and so the hash */
    }
    drop(each);
    return PyErr_Occurred() ? FAILED : KEY;
}

/* _build(call, keys, options): 15 numbers as `options_of` reads them, doubles, and the seed behind them.
** Errors name the call. */
static PyObject *filter_build(PyObject *class, PyObject *arguments)
{
    PyObject *keys, *options, *self = NULL;
    char *content;
    const char *call;
    Py_ssize_t length;
    double numbers[15];
    int64_t seed;
    list all = {.used = 0};
    if (!PyArg_ParseTuple(arguments, "sOO:_build", &call, &keys, &options) ||
        PyBytes_AsStringAndSize(options, &content, &length) != 0)
        return NULL;
    if (length != sizeof numbers + sizeof seed)
        return PyErr_Format(PyExc_ValueError, "sqlite_cuckoo.Filter._build: options of %zd bytes",
                            length);
    memcpy(numbers, content, sizeof numbers);
    memcpy(&seed, content + sizeof numbers, sizeof seed);
    begin(&all, numbers, &seed);
    if (read_keys(keys, &all) == KEY)
        self = PyType_GenericAlloc((PyTypeObject *)(void *)class, 0);
    cf_filter *filter = self ? calloc(1, sizeof *filter) : NULL;
    cf_status status = filter ? js_build(&all, filter, numbers, &seed) : CF_NO_MEMORY;
    end(&all);
    if (self == NULL)
        return NULL;
    if (status == CF_OK) {
        object_of(self)->filter = filter;
        object_of(self)->rule = &filter->geometry;
        return self;
    }
    free(filter);
    drop(self);
    return fail_status(call, status, NULL, said);
}
