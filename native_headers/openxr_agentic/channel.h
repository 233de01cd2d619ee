/* The control channel: how a process beside the app lists and calls its tools.
 *
 * A Unix domain socket (stream), one per app process:
 *     $XDG_RUNTIME_DIR/openxr-agentic/<pid>.sock
 *     <temp folder>/openxr-agentic-<uid>/<pid>.sock     when the former is unset
 * The folder has mode 0700 and belongs to the user, the socket has mode 0600,
 * and the peer's user is checked. It exists from xrCreateInstance to
 * xrDestroyInstance of an app that was started with OPENXR_AGENTIC_CHANNEL.
 *
 * Frames, both ways, integers little-endian:
 *     u32  bytes that follow (type, id and payload), OXA_FRAME_MAX_BYTES at most
 *     u8   type
 *     u32  id: chosen by the client for a request, repeated in the answer;
 *          0 in what nobody asked for
 *     ...  payload
 * "text" is a u32 count of bytes, then as many bytes of UTF-8, no NUL.
 * Argument and result texts pass through opaque: nobody here parses JSON.
 *
 * A frame that does not fit its description, or is too long, ends the
 * connection. An unknown type from a newer client is answered OXA_FRAME_ERROR.
 */
#ifndef OPENXR_AGENTIC_CHANNEL_H_
#define OPENXR_AGENTIC_CHANNEL_H_ 1

#define OXA_CHANNEL_VERSION 1
#define OXA_FRAME_HEADER_BYTES 9 /* length, type, id */
#define OXA_FRAME_MAX_BYTES (80u * 1024 * 1024)

/* client: u16 lowest version, u16 highest version that it speaks.
 * app:    u16 version chosen (0: none fits, and the app closes), u32 pid,
 *         text application name, text label (the value of
 *         OPENXR_AGENTIC_CHANNEL when it is more than "1"), text host
 *         ("mock runtime 0.1.0"), u32 the display period in microseconds.
 * The first frame of either side. */
#define OXA_FRAME_HELLO 1

/* client: nothing.
 * app:    u64 revision, u32 count, then each tool in the order of registration:
 *         text name, text description, u8 main thread, text metadata (as the app
 *         gave it, see metadata.h; empty: none), u32 parameter count,
 *         then each parameter: text name, text description,
 *         u8 type (0 string, 1 number, 2 boolean, 3 array, 4 object; whatever
 *         the extension's own numbers are), u8 required, u8 item type (255 when
 *         it is no array), text object properties (empty when it is no object). */
#define OXA_FRAME_LIST 2

/* client: u32 time limit in milliseconds (0: the app's default), text tool,
 *         text arguments.
 * The answer is one OXA_FRAME_RESULT with the same id. A second call with an
 * id that is still under way is answered OXA_CALL_REFUSED with that id. */
#define OXA_FRAME_CALL 3

/* app:    u8 status (OXA_CALL_...), i32 XrResult of the callback (0 where none
 *         was made), u8 flags (OXA_RESULT_...), u64 nanoseconds in the queue, u64
 *         nanoseconds in the callback, text result (with a status that is not
 *         OXA_CALL_DONE: why, in words). */
#define OXA_FRAME_RESULT 4
#define OXA_RESULT_MARKED_ERROR 1 /* the app marked the result as an error, see metadata.h */

/* client: nothing; the id is the call's. A call that still waits is withdrawn
 * and never runs; of one that runs, the result is dropped. Either way the call
 * is answered OXA_CALL_CANCELLED, once. No such call: nothing happens. */
#define OXA_FRAME_CANCEL 5

/* app, unasked: u64 revision. The list of tools, or metadata in it, changed; sent in batches. */
#define OXA_FRAME_CHANGED 6

/* client: nothing.
 * app:    u32 count, then each: text name, u64 value. */
#define OXA_FRAME_STATISTICS 7

/* app:    text what was wrong with the request of this id. */
#define OXA_FRAME_ERROR 8

#define OXA_CALL_DONE 0         /* the callback returned XR_SUCCESS: its text */
#define OXA_CALL_FAILED 1       /* the callback returned a failing XrResult, or broke the two-call idiom */
#define OXA_CALL_UNKNOWN_TOOL 2 /* no tool of that name */
#define OXA_CALL_TIMED_OUT 3    /* withdrawn from the queue, or its late result will be dropped */
#define OXA_CALL_CANCELLED 4    /* by the client */
#define OXA_CALL_CLOSING 5      /* the instance is being destroyed */
#define OXA_CALL_REFUSED 6      /* too many calls wait, or the id is in use */

#endif
