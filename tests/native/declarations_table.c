/* Compiled, never run: a section of 64-bit numbers, one for each row that
 * tests/test_native_headers.py writes into the included file. The order of the
 * rows tells what a number is. Compiled once with our own declarations and once
 * with the Khronos header, the two sections must be equal. */
#include <openxr_agentic/loader_negotiation.h>

#include <stddef.h>

#define SIZE(type) (long long)sizeof(type),
#define FIELD(structure, field) (long long)offsetof(structure, field), (long long)sizeof(((structure*)0)->field),
#define VALUE(expression) (long long)(expression),

__attribute__((section(".oxa_table"), used)) const long long oxa_table[] = {
#include "rows.h"
};
