#include <Python.h>

#include "trampoline.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Not CALLBACK: that is a macro on Windows. */
enum { CALLABLE, DRY_RUN, OWNER, DECODE, RECOVER, ENCODE, CONVERT, OBJECTS };

struct OxaTool {
    atomic_uint references;
    int typed;
    uint64_t token;
    XrResult(XRAPI_PTR* mark_error)(XrInstance instance); /* NULL where the host has none */
    XrInstance instance;
    PyObject* objects[OBJECTS]; /* references; NULL where there is none */
};

static _Thread_local uint64_t current_token;

/* Implemented in Python, by cffi: entering it once makes cffi give this thread
 * a thread state that lasts as long as the thread. Without one, every
 * PyGILState_Ensure below would make and destroy its own. */
int32_t oxa_enter_thread(void);
static _Thread_local int thread_entered;

static PyObject* failure_handler;
static unsigned long main_thread;

/* What ends the program and was raised in a tool: kept here, and raised in the app
 * when the outermost tool of the main thread has returned. With the GIL. */
static PyObject* raise_in_app; /* a reference */
static _Thread_local unsigned run_depth;

void oxa_python_start(uintptr_t handler, unsigned long main_thread_ident) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject* previous = failure_handler;
    failure_handler = (PyObject*)handler;
    Py_XINCREF(failure_handler);
    Py_XDECREF(previous);
    main_thread = main_thread_ident;
    PyGILState_Release(state);
}

static OxaTool* new_tool(const uintptr_t objects[OBJECTS], int typed, uint64_t token) {
    OxaTool* tool = malloc(sizeof *tool);
    if (tool == NULL) return NULL;
    atomic_init(&tool->references, 1);
    tool->typed = typed;
    tool->token = token;
    tool->mark_error = NULL;
    PyGILState_STATE state = PyGILState_Ensure();
    for (int i = 0; i < OBJECTS; i++) {
        tool->objects[i] = (PyObject*)objects[i];
        Py_XINCREF(tool->objects[i]);
    }
    PyGILState_Release(state);
    return tool;
}

OxaTool* oxa_text_tool_new(uintptr_t callback, uintptr_t dry_run, uintptr_t owner) {
    const uintptr_t objects[OBJECTS] = {[CALLABLE] = callback, [DRY_RUN] = dry_run, [OWNER] = owner};
    return new_tool(objects, 0, 0);
}

OxaTool* oxa_typed_tool_new(const OxaTypedTool* parts, uintptr_t owner, uint64_t token) {
    const uintptr_t objects[OBJECTS] = {
        [CALLABLE] = parts->call,   [DRY_RUN] = parts->dry_run, [OWNER] = owner,
        [DECODE] = parts->decode,   [RECOVER] = parts->recover, [ENCODE] = parts->encode,
        [CONVERT] = parts->convert,
    };
    return new_tool(objects, 1, token);
}

void oxa_tool_set_mark(OxaTool* tool, uintptr_t mark_error, XrInstance instance) {
    tool->mark_error = (XrResult(XRAPI_PTR*)(XrInstance))mark_error;
    tool->instance = instance;
}

uint64_t oxa_current_token(void) { return current_token; }

void oxa_tool_retain(OxaTool* tool) { atomic_fetch_add(&tool->references, 1); }

/* With the GIL. */
static void give_back(OxaTool* tool) {
    if (atomic_fetch_sub(&tool->references, 1) != 1) return;
    for (int i = 0; i < OBJECTS; i++) Py_XDECREF(tool->objects[i]);
    free(tool);
}

void oxa_tool_release(OxaTool* tool) {
    PyGILState_STATE state = PyGILState_Ensure();
    give_back(tool);
    PyGILState_Release(state);
}

/* Run by the interpreter on the main thread, between two of its bytecodes. A pending
 * call can raise the exception itself; PyThreadState_SetAsyncExc only takes a class,
 * and loses what the instance carries, such as an exit code. */
static int raise_now(void* unused) {
    (void)unused;
    /* Inside of a tool it would hit that tool instead of the app: finish_run asks again. */
    if (raise_in_app == NULL || run_depth > 0) return 0;
    PyObject* exception = raise_in_app;
    raise_in_app = NULL;
    PyObject* type = PyObject_Type(exception);
    if (type != NULL) PyErr_SetObject(type, exception);
    Py_XDECREF(type);
    Py_DECREF(exception);
    return -1;
}

/* With the GIL; *exception stays the caller's. 1: taken. */
static int keep_for_app(PyObject* exception) {
    if (raise_in_app != NULL) return raise_in_app == exception;
    Py_INCREF(exception);
    raise_in_app = exception;
    return 1;
}

int oxa_raise_on_return(uintptr_t exception) {
    PyGILState_STATE state = PyGILState_Ensure();
    int taken = keep_for_app((PyObject*)exception);
    PyGILState_Release(state);
    return taken;
}

static void finish_run(void) {
    run_depth--;
    if (run_depth == 0 && raise_in_app != NULL && PyThread_get_thread_ident() == main_thread)
        Py_AddPendingCall(raise_now, NULL); /* when the queue is full: at the end of the next run */
}

/* ---- conversions; NULL with a Python exception set ---- */

static PyObject* argument_object(const OxaTool* tool, const OxaHeld* held) {
    size_t bytes = 0;
    const char* arguments = oxa_held_arguments(held, &bytes);
    if (!tool->typed) {
        if (bytes < 3 || memcmp(arguments, "\xEF\xBB\xBF", 3) != 0)
            return PyUnicode_DecodeUTF8(arguments, (Py_ssize_t)bytes, "strict");
        PyErr_SetString(PyExc_ValueError, "the arguments begin with a byte order mark, which JSON text must not have");
        return NULL;
    }
    PyObject* text = PyBytes_FromStringAndSize(arguments, (Py_ssize_t)bytes);
    if (text == NULL) return NULL;
    PyObject* decoded = PyObject_CallFunctionObjArgs(tool->objects[DECODE], text, NULL);
    if (decoded == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        decoded = PyObject_CallFunctionObjArgs(tool->objects[RECOVER], text, NULL);
    }
    Py_DECREF(text);
    return decoded;
}

enum { MOST_LEVELS = 64 };

/* Whether the value is made of nothing but what JSON has: then the encoder writes it as it
 * is meant. It would write a number that is none as null, two keys that become the same
 * text both, and a set in its own order. Runs no Python, so nothing can change meanwhile. */
static int is_plain(PyObject* value, int levels) {
    if (value == Py_None || value == Py_True || value == Py_False) return 1;
    if (PyUnicode_CheckExact(value) || PyLong_CheckExact(value)) return 1;
    if (PyFloat_CheckExact(value)) return isfinite(PyFloat_AsDouble(value));
    if (levels == MOST_LEVELS) return 0;
    if (PyDict_CheckExact(value)) {
        PyObject *key, *item;
        Py_ssize_t position = 0;
        while (PyDict_Next(value, &position, &key, &item))
            if (!PyUnicode_CheckExact(key) || !is_plain(item, levels + 1)) return 0;
        return 1;
    }
    if (PyList_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PyList_Size(value); i++)
            if (!is_plain(PyList_GetItem(value, i), levels + 1)) return 0;
        return 1;
    }
    if (PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(value); i++)
            if (!is_plain(PyTuple_GetItem(value, i), levels + 1)) return 0;
        return 1;
    }
    return 0;
}

/* A new reference to what holds the text: a str, or for a typed tool also bytes. */
static PyObject* result_object(const OxaTool* tool, PyObject* value) {
    if (PyUnicode_CheckExact(value) || (PyUnicode_Check(value) && !tool->typed)) {
        Py_INCREF(value);
        return value;
    }
    if (!tool->typed) {
        PyObject* type = PyObject_Type(value);
        PyErr_Format(PyExc_TypeError, "the callback returned %R, not a str", type);
        Py_XDECREF(type);
        return NULL;
    }
    PyObject* encoded = NULL;
    if (is_plain(value, 0)) {
        encoded = PyObject_CallFunctionObjArgs(tool->objects[ENCODE], value, NULL);
        if (encoded != NULL || !PyErr_ExceptionMatches(PyExc_Exception)) return encoded;
        PyErr_Clear(); /* such as a lone surrogate in a text: `convert` has the words for it */
    }
    return PyObject_CallFunctionObjArgs(tool->objects[CONVERT], value, NULL);
}

/* The text lives as long as `holder`, a str or bytes. */
static const char* text_of(PyObject* holder, Py_ssize_t* bytes) {
    const char* text = NULL;
    if (PyUnicode_Check(holder)) {
        text = PyUnicode_AsUTF8AndSize(holder, bytes);
    } else {
        char* data = NULL;
        if (PyBytes_AsStringAndSize(holder, &data, bytes) == 0) text = data; /* else a TypeError is set */
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

/* An exception that nobody described, because the handler itself failed: an interrupt
 * between two of its lines, no memory, a log handler of the app's. It must not leave
 * through C, and must not be lost either. */
static void surrender(PyObject* exception) {
    int ends_program = PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt) ||
                       PyErr_GivenExceptionMatches(exception, PyExc_SystemExit);
    if (ends_program && PyThread_get_thread_ident() == main_thread && keep_for_app(exception)) return;
    PyObject* type = PyObject_Type(exception);
    PyErr_SetObject(type, exception);
    Py_XDECREF(type);
    PyErr_WriteUnraisable(NULL);
}

static XrResult report_failure(const OxaTool* tool, OxaStage stage, OxaHeld** held) {
    static const char fallback[] = "Error: the tool failed, and so did the description of its error.";
    PyObject* exception = take_exception();
    PyObject* number = PyLong_FromLong((long)stage);
    PyObject* said = number == NULL
                         ? NULL
                         : PyObject_CallFunctionObjArgs(failure_handler, tool->objects[OWNER], exception, number, NULL);
    Py_XDECREF(number);
    const char* text = NULL;
    Py_ssize_t bytes = 0;
    XrResult result = XR_SUCCESS;
    if (said == NULL) {
        PyObject* second = take_exception();
        surrender(exception);
        surrender(second);
        Py_DECREF(second);
    } else if (said == Py_None) {
        result = XR_ERROR_RUNTIME_FAILURE;
    } else {
        text = PyUnicode_Check(said) ? text_of(said, &bytes) : NULL;
        PyErr_Clear();
    }
    if (text == NULL) {
        text = fallback;
        bytes = (Py_ssize_t)sizeof fallback - 1;
    }
    if (result == XR_SUCCESS && !oxa_held_set_text(held, text, (size_t)bytes)) result = XR_ERROR_OUT_OF_MEMORY;
    Py_XDECREF(said);
    Py_DECREF(exception);
    return result;
}

XrResult oxa_run_tool(OxaTool* tool, int dry_run, OxaHeld** held) {
    /* A thread that has a state is Python's own, or was here before. On one that has
     * none the call of oxa_enter_thread cannot be interrupted: signals go to the main thread. */
    if (!thread_entered && PyGILState_GetThisThreadState() == NULL) {
        oxa_enter_thread();
        thread_entered = 1;
    }
    PyGILState_STATE state = PyGILState_Ensure();
    OxaStage stage = OXA_STAGE_ARGUMENTS;
    XrResult result = XR_SUCCESS;
    const char* text = NULL;
    Py_ssize_t text_bytes = 0;
    PyObject *value = NULL, *holder = NULL;
    uint64_t outer_token = current_token;
    current_token = tool->token;
    run_depth++;
    PyObject* argument = argument_object(tool, *held);
    if (argument != NULL) {
        stage = OXA_STAGE_TOOL;
        value = PyObject_CallFunctionObjArgs(tool->objects[dry_run ? DRY_RUN : CALLABLE], argument, NULL);
        Py_DECREF(argument);
    }
    if (value != NULL) {
        stage = OXA_STAGE_RESULT;
        holder = result_object(tool, value);
        if (holder != NULL) text = text_of(holder, &text_bytes);
    }
    if (text == NULL) {
        /* Not for a dry run: the mark would hold for the run that follows, too. */
        if (tool->mark_error != NULL && !dry_run) tool->mark_error(tool->instance);
        result = report_failure(tool, stage, held);
    } else if (!oxa_held_set_text(held, text, (size_t)text_bytes)) {
        result = XR_ERROR_OUT_OF_MEMORY;
    }
    Py_XDECREF(holder);
    Py_XDECREF(value);
    give_back(tool);
    current_token = outer_token;
    finish_run();
    PyGILState_Release(state);
    return result;
}
