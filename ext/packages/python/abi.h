/* SPDX-License-Identifier: MIT */
/*
** abi.h - what module.c needs of Python.h: a part of the stable ABI of CPython 3.8 and later, which no
** version of Python 3 may change. So the module is compiled without the headers of Python, as the
** extension is, also for other processors. A test compares this file with Python.h.
*/
#ifndef CUCKOO_ABI_H
#define CUCKOO_ABI_H

#include <stddef.h>

#ifndef Py_PYTHON_H
typedef ptrdiff_t Py_ssize_t;
typedef struct _typeobject PyTypeObject;
typedef struct _object {
    Py_ssize_t ob_refcnt;
    PyTypeObject *ob_type;
} PyObject;
typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);

typedef struct PyMethodDef {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;
enum { METH_VARARGS = 1, METH_NOARGS = 4, METH_O = 8, METH_CLASS = 16 };

typedef struct PyModuleDef_Base {
    PyObject ob_base;
    PyObject *(*m_init)(void);
    Py_ssize_t m_index;
    PyObject *m_copy;
} PyModuleDef_Base;
typedef struct PyModuleDef {
    PyModuleDef_Base m_base;
    const char *m_name;
    const char *m_doc;
    Py_ssize_t m_size;
    PyMethodDef *m_methods;
    void *m_slots, *m_traverse, *m_clear, *m_free;
} PyModuleDef;

typedef struct {
    int slot;
    void *pfunc;
} PyType_Slot;
typedef struct {
    const char *name;
    int basicsize;
    int itemsize;
    unsigned int flags;
    PyType_Slot *slots;
} PyType_Spec;
enum {
    Py_sq_contains = 41,
    Py_sq_length = 45,
    Py_tp_dealloc = 52,
    Py_tp_doc = 56,
    Py_tp_methods = 64,
    Py_tp_new = 65,
    Py_tp_free = 74
};
#define Py_TPFLAGS_BASETYPE         (1UL << 10)
#define Py_TPFLAGS_LONG_SUBCLASS    (1UL << 24)
#define Py_TPFLAGS_BYTES_SUBCLASS   (1UL << 27)
#define Py_TPFLAGS_UNICODE_SUBCLASS (1UL << 28)
#define PYTHON_ABI_VERSION          3
#endif

void Py_IncRef(PyObject *object);
void Py_DecRef(PyObject *object);
extern PyObject _Py_NoneStruct;
extern PyObject *PyExc_MemoryError, *PyExc_OverflowError, *PyExc_RuntimeError, *PyExc_TypeError,
    *PyExc_ValueError;
PyObject *PyErr_Format(PyObject *exception, const char *format, ...);
PyObject *PyErr_NoMemory(void);
PyObject *PyErr_Occurred(void);

extern PyTypeObject PyFloat_Type, PyByteArray_Type, PyMemoryView_Type;
unsigned long PyType_GetFlags(PyTypeObject *type);
int PyType_IsSubtype(PyTypeObject *type, PyTypeObject *base);
void *PyType_GetSlot(PyTypeObject *type, int slot);
PyObject *PyType_GenericAlloc(PyTypeObject *type, Py_ssize_t items);
PyObject *PyType_FromSpec(PyType_Spec *spec);

const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);
PyObject *PyUnicode_FromString(const char *text);
int PyBytes_AsStringAndSize(PyObject *bytes, char **content, Py_ssize_t *size);
PyObject *PyBytes_FromStringAndSize(const char *content, Py_ssize_t size);
PyObject *PyBytes_FromObject(PyObject *object);
PyObject *PyMemoryView_FromObject(PyObject *object);
int PyIndex_Check(PyObject *object);
PyObject *PyNumber_Index(PyObject *object);
long long PyLong_AsLongLongAndOverflow(PyObject *integer, int *overflow);
PyObject *PyLong_FromUnsignedLongLong(unsigned long long value);
PyObject *PyBool_FromLong(long value);
double PyFloat_AsDouble(PyObject *number);
PyObject *PyList_New(Py_ssize_t length);
int PyList_Append(PyObject *list, PyObject *item);
PyObject *PyObject_GetIter(PyObject *object);
PyObject *PyIter_Next(PyObject *iterator);

int PyArg_ParseTuple(PyObject *arguments, const char *format, ...);
PyObject *PyModule_Create2(PyModuleDef *module, int version);
int PyModule_AddObject(PyObject *module, const char *name, PyObject *object);

#endif
