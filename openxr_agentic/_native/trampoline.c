#include <Python.h>

#include "trampoline.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct OxaTool {
    atomic_uint references;
    int takes_bytes;
    PyObject* callback;
    PyObject* dry_run;
    PyObject* owner;
};

/* Implemented in Python, by cffi: entering it once makes cffi give this thread
 * a thread state that lasts as long as the thread. Without one, every
 * PyGILState_Ensure below would make and destroy its own. */
int32_t oxa_enter_thread(void);
static _Thread_local int thread_entered;

static PyObject* failure_handler;
static unsigned long main_thread;
static _Thread_local PyObject* raise_on_return; /* a reference */

void oxa_python_start(uintptr_t handler, unsigned long main_thread_ident) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject* previous = failure_handler;
    failure_handler = (PyObject*)handler;
    Py_XINCREF(failure_handler);
    Py_XDECREF(previous);
    main_thread = main_thread_ident;
    PyGILState_Release(state);
}

OxaTool* oxa_tool_new(uintptr_t callback, uintptr_t dry_run, uintptr_t owner, int takes_bytes) {
    OxaTool* tool = malloc(sizeof *tool);
    if (tool == NULL) return NULL;
    atomic_init(&tool->references, 1);
    tool->takes_bytes = takes_bytes;
    tool->callback = (PyObject*)callback;
    tool->dry_run = (PyObject*)dry_run;
    tool->owner = (PyObject*)owner;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_XINCREF(tool->callback);
    Py_XINCREF(tool->dry_run);
    Py_XINCREF(tool->owner);
    PyGILState_Release(state);
    return tool;
}

void oxa_tool_retain(OxaTool* tool) { atomic_fetch_add(&tool->references, 1); }

/* With the GIL. */
static void give_back(OxaTool* tool) {
    if (atomic_fetch_sub(&tool->references, 1) != 1) return;
    Py_XDECREF(tool->callback);
    Py_XDECREF(tool->dry_run);
    Py_XDECREF(tool->owner);
    free(tool);
}

void oxa_tool_release(OxaTool* tool) {
    PyGILState_STATE state = PyGILState_Ensure();
    give_back(tool);
    PyGILState_Release(state);
}

void oxa_raise_on_return(uintptr_t exception_class) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject* previous = raise_on_return;
    raise_on_return = (PyObject*)exception_class;
    Py_XINCREF(raise_on_return);
    Py_XDECREF(previous);
    PyGILState_Release(state);
}

/* ---- conversions; NULL with a Python exception set ---- */

static PyObject* argument_object(const OxaTool* tool, const char* arguments, size_t bytes) {
    if (bytes >= 3 && memcmp(arguments, "\xEF\xBB\xBF", 3) == 0) {
        PyErr_SetString(PyExc_ValueError, "the arguments begin with a byte order mark, which JSON text must not have");
        return NULL;
    }
    if (tool->takes_bytes) return PyBytes_FromStringAndSize(arguments, (Py_ssize_t)bytes);
    return PyUnicode_DecodeUTF8(arguments, (Py_ssize_t)bytes, "strict");
}

/* The text lives as long as `value`. */
static const char* result_text(const OxaTool* tool, PyObject* value, Py_ssize_t* bytes) {
    const char* text = NULL;
    if (PyUnicode_Check(value)) {
        text = PyUnicode_AsUTF8AndSize(value, bytes);
    } else if (tool->takes_bytes && PyBytes_Check(value)) {
        char* data = NULL;
        text = PyBytes_AsStringAndSize(value, &data, bytes) == 0 ? data : NULL;
    } else {
        PyObject* type = PyObject_Type(value);
        PyErr_Format(PyExc_TypeError, "the callback returned %R, not a str", type);
        Py_XDECREF(type);
    }
    if (text == NULL) return NULL;
    if (memchr(text, '\0', (size_t)*bytes) != NULL) {
        PyErr_SetString(PyExc_ValueError, "the result contains a NUL character, which would end it early");
        return NULL;
    }
    if ((uint64_t)*bytes >= UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "the result is larger than the 4294967294 bytes that the count can say");
        return NULL;
    }
    return text;
}

/* ---- failures ---- */

/* Takes the exception that is set. Never NULL. */
static PyObject* take_exception(void) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value != NULL && traceback != NULL) PyException_SetTraceback(value, traceback);
    Py_XDECREF(traceback);
    if (value != NULL) {
        Py_XDECREF(type);
        return value;
    }
    return type; /* out of memory while it was made: the class still says what it was */
}

/* What the handler itself raised: an interrupt between two of its lines, or no
 * memory. It must not leave through C; one of the two that end a program is
 * raised again where the program can see it. */
static void swallow(PyObject* exception) {
    int ends_program = PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt) ||
                       PyErr_GivenExceptionMatches(exception, PyExc_SystemExit);
    if (ends_program && PyThread_get_thread_ident() == main_thread && raise_on_return == NULL)
        raise_on_return = PyObject_Type(exception);
    PyErr_Clear();
}

static XrResult report_failure(const OxaTool* tool, OxaStage stage, const char* arguments, size_t argument_bytes,
                               OxaHeld** held) {
    static const char fallback[] = "Error: the tool failed, and so did the description of its error.";
    PyObject* exception = take_exception();
    PyObject* number = PyLong_FromLong((long)stage);
    PyObject* said =
        number == NULL ? NULL : PyObject_CallFunctionObjArgs(failure_handler, tool->owner, exception, number, NULL);
    Py_XDECREF(number);
    const char* text = fallback;
    Py_ssize_t bytes = (Py_ssize_t)sizeof fallback - 1;
    XrResult result = XR_SUCCESS;
    if (said == NULL) {
        PyObject* second = take_exception();
        swallow(exception);
        swallow(second);
        Py_XDECREF(second);
    } else if (said == Py_None) {
        result = XR_ERROR_RUNTIME_FAILURE;
    } else {
        text = result_text(tool, said, &bytes);
        if (text == NULL) {
            PyErr_Clear();
            text = fallback;
            bytes = (Py_ssize_t)sizeof fallback - 1;
        }
    }
    if (result == XR_SUCCESS) {
        *held = oxa_held_new(arguments, argument_bytes, text, (size_t)bytes);
        if (*held == NULL) result = XR_ERROR_OUT_OF_MEMORY;
    }
    Py_XDECREF(said);
    Py_XDECREF(exception);
    return result;
}

XrResult oxa_run_tool(OxaTool* tool, int dry_run, const char* arguments, size_t argument_bytes, OxaHeld** held) {
    if (!thread_entered) {
        if (oxa_enter_thread() != 1) {
            PyGILState_STATE state = PyGILState_Ensure();
            give_back(tool);
            PyGILState_Release(state);
            return XR_ERROR_RUNTIME_FAILURE;
        }
        thread_entered = 1;
    }
    PyGILState_STATE state = PyGILState_Ensure();
    OxaStage stage = OXA_STAGE_ARGUMENTS;
    XrResult result = XR_SUCCESS;
    const char* text = NULL;
    Py_ssize_t text_bytes = 0;
    PyObject* value = NULL;
    PyObject* argument = argument_object(tool, arguments, argument_bytes);
    if (argument != NULL) {
        stage = OXA_STAGE_TOOL;
        value = PyObject_CallFunctionObjArgs(dry_run ? tool->dry_run : tool->callback, argument, NULL);
        Py_DECREF(argument);
    }
    if (value != NULL) {
        stage = OXA_STAGE_RESULT;
        text = result_text(tool, value, &text_bytes);
    }
    if (text == NULL) {
        result = report_failure(tool, stage, arguments, argument_bytes, held);
    } else {
        *held = oxa_held_new(arguments, argument_bytes, text, (size_t)text_bytes);
        if (*held == NULL) result = XR_ERROR_OUT_OF_MEMORY;
    }
    Py_XDECREF(value);
    give_back(tool);
    if (raise_on_return != NULL) {
        /* Last, so that no Python of ours is what gets interrupted. */
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), raise_on_return);
        Py_CLEAR(raise_on_return);
    }
    PyGILState_Release(state);
    return result;
}
