/* Random sequences of raw calls against a plain model of the two-call protocol.
 *
 *   exchange_driver model SEQUENCES SEED    one thread plays several by number
 *   exchange_driver threads SEQUENCES SEED  four threads at once, for ThreadSanitizer
 *
 * Links the real exchange.c; a C function stands in for Python. The model below
 * is written from the protocol's words and shares no code with exchange.c: a
 * flat list of held results, searched from the start each time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

enum { TOOLS = 3, THREADS = 3, TEXTS = 4, STEPS = 12, BUFFER = 400, GUARD = 0x5A, BYTES_SIZING = 20 };
enum { BOUND_PER_SLOT = 3 };

/* ---- the tool: says how often it ran; a run's text is known from its number ---- */

struct OxaTool {
    atomic_int references;
};

static _Thread_local uint64_t runs, dry_runs;
static _Thread_local int fail_next;

static uint32_t text_of_run(uint64_t run, char* text) {
    uint32_t bytes = (uint32_t)snprintf(text, BUFFER, "run %llu ", (unsigned long long)run);
    for (uint32_t padding = (uint32_t)((run * 2654435761u) >> 7) % 30 + (run % 16 == 0 ? 300 : 0); padding > 0;
         padding--)
        text[bytes++] = 'x';
    return bytes;
}

void oxa_tool_retain(OxaTool* tool) { atomic_fetch_add(&tool->references, 1); }
void oxa_tool_release(OxaTool* tool) { atomic_fetch_sub(&tool->references, 1); }

XrResult oxa_run_tool(OxaTool* tool, int dry_run, OxaHeld** held) {
    char text[BUFFER];
    size_t argument_bytes;
    const char* arguments = oxa_held_arguments(*held, &argument_bytes);
    XrResult result = arguments[argument_bytes] == '\0' ? XR_SUCCESS : XR_ERROR_VALIDATION_FAILURE;
    if (fail_next) {
        result = XR_ERROR_RUNTIME_FAILURE;
    } else if (dry_run) {
        dry_runs++;
        oxa_held_set_text(held, "dry", 3);
    } else {
        runs++;
        oxa_held_set_text(held, text, text_of_run(runs, text));
    }
    oxa_tool_release(tool);
    return result;
}

/* ---- the model ---- */

typedef struct ModelHeld {
    int tool, thread, text, refused;
    uint64_t run;
} ModelHeld;

typedef struct Model {
    ModelHeld held[TOOLS * (BOUND_PER_SLOT + 1)]; /* oldest first */
    int count;
} Model;

static void model_remove(Model* model, int at) {
    memmove(&model->held[at], &model->held[at + 1], (size_t)(model->count - at - 1) * sizeof model->held[0]);
    model->count--;
}

static void model_forget_tool(Model* model, int tool) {
    for (int i = model->count - 1; i >= 0; i--)
        if (model->held[i].tool == tool) model_remove(model, i);
}

static int model_find(const Model* model, int tool, int thread, int text, int refused_only) {
    for (int pass = 0; pass < 2; pass++)
        for (int i = model->count - 1; i >= 0; i--) {
            const ModelHeld* held = &model->held[i];
            if (held->tool != tool || held->text != text || (refused_only && !held->refused)) continue;
            if (pass == 0 ? held->thread == thread : held->thread != thread) return i;
        }
    return -1;
}

static void model_hold(Model* model, ModelHeld held) {
    int of_tool = 0;
    for (int i = 0; i < model->count; i++) of_tool += model->held[i].tool == held.tool;
    if (of_tool == BOUND_PER_SLOT)
        for (int i = 0; i < model->count; i++)
            if (model->held[i].tool == held.tool) {
                model_remove(model, i);
                break;
            }
    model->held[model->count++] = held;
}

/* ---- one step: what the protocol says must come out, then what does ---- */

typedef struct Player {
    OxaSlotId slots[TOOLS];
    OxaSizing sizings[TOOLS];
    OxaTool tools[TOOLS];
    Model model;
    uint64_t random, calls, first_thread;
    const char* const* texts;
    long wrong;
} Player;

static uint32_t pick(Player* player, uint32_t below) {
    player->random ^= player->random << 13;
    player->random ^= player->random >> 7;
    player->random ^= player->random << 17;
    return (uint32_t)(player->random >> 33) % below;
}

static void expect(Player* player, int right, const char* what) {
    if (!right && player->wrong++ < 10)
        fprintf(stderr, "wrong: %s (call %llu)\n", what, (unsigned long long)player->calls);
}

static void close_tool(Player* player, int tool) {
    oxa_slot_close(player->slots[tool]);
    oxa_slot_close(player->slots[tool]); /* does nothing */
    expect(player, atomic_load(&player->tools[tool].references) == 1, "closing gives the slot's reference back");
    model_forget_tool(&player->model, tool);
}

static void refused_call(Player* player, OxaSlotId slot, int with_count) {
    char buffer[8] = {GUARD};
    uint32_t count = 77;
    uint64_t before = runs;
    XrResult result = oxa_exchange(buffer, 8, with_count ? &count : NULL, "{}", slot, 1);
    expect(player, result == XR_ERROR_RUNTIME_FAILURE && runs == before && buffer[0] == GUARD, "a refused call");
    expect(player, count == (with_count ? 0u : 77u), "a refused call's count");
}

static void reopen_or_replace(Player* player, int tool) {
    OxaSlotId old = player->slots[tool];
    close_tool(player, tool);
    refused_call(player, old, (int)pick(player, 2));
    OxaTool* behind = &player->tools[tool];
    if (pick(player, 2)) {
        expect(player, oxa_slot_reopen(old, behind, player->sizings[tool], BYTES_SIZING), "reopening");
    } else {
        oxa_slot_free(old);
        expect(player, oxa_slot_open(&player->slots[tool], behind, player->sizings[tool], BYTES_SIZING), "opening");
        expect(player, player->slots[tool] != old, "a new generation");
        refused_call(player, old, 1);
    }
}

/* What is held stays: it belongs to calls that are under way. */
static void replace_open(Player* player, int tool) {
    OxaTool* behind = &player->tools[tool];
    int replaced = oxa_slot_replace(player->slots[tool], behind, player->sizings[tool], BYTES_SIZING);
    expect(player, replaced && !oxa_slot_replace(0, behind, OXA_SIZING_EXACT, 0),
           "replacing what is open, and only that");
    expect(player, atomic_load(&behind->references) == 2, "replacing gives the first reference back");
}

static void call(Player* player) {
    Model* model = &player->model;
    int tool = (int)pick(player, TOOLS), thread = (int)pick(player, THREADS), text = (int)pick(player, TEXTS);
    OxaSizing sizing = player->sizings[tool];
    /* The last two texts are NULL and {}: the same arguments. */
    int same_text = text == TEXTS - 1 ? TEXTS - 2 : text;
    static const uint32_t capacities[] = {0, 1, 10, BYTES_SIZING - 1, BYTES_SIZING, BYTES_SIZING + 1, BUFFER - 1};
    uint32_t capacity = capacities[pick(player, 7)];
    int null_buffer = pick(player, 4) == 0, query = null_buffer || capacity == 0;
    int fails = pick(player, 16) == 0;

    /* expected */
    XrResult result = XR_SUCCESS;
    uint32_t count = 0, run_expected = 0, dry_expected = 0;
    uint64_t delivered = 0;
    char expected[BUFFER];
    int at = model_find(model, tool, thread, same_text, query);
    if (at >= 0) {
        ModelHeld* held = &model->held[at];
        count = text_of_run(held->run, expected) + 1;
        if (query) {
            held->thread = thread;
            held->refused = 0;
        } else if (capacity < count) {
            held->refused = 1;
            result = XR_ERROR_SIZE_INSUFFICIENT;
        } else {
            delivered = held->run;
            model_remove(model, at);
        }
    } else {
        if (query)
            for (int i = model->count - 1; i >= 0; i--)
                if (model->held[i].tool == tool && model->held[i].thread == thread && model->held[i].text == same_text)
                    model_remove(model, i);
        if (sizing == OXA_SIZING_BYTES && (query || capacity < BYTES_SIZING)) {
            count = BYTES_SIZING;
            result = query ? XR_SUCCESS : XR_ERROR_SIZE_INSUFFICIENT;
        } else if (fails) {
            result = XR_ERROR_RUNTIME_FAILURE;
        } else if (query && sizing == OXA_SIZING_DRY_RUN) {
            dry_expected = 1;
            count = 4;
        } else {
            run_expected = 1;
            ModelHeld held = {tool, thread, same_text, !query, runs + 1};
            count = text_of_run(held.run, expected) + 1;
            if (!query && capacity >= count) {
                delivered = held.run;
            } else {
                model_hold(model, held);
                result = query ? XR_SUCCESS : XR_ERROR_SIZE_INSUFFICIENT;
            }
        }
    }

    /* found */
    char buffer[BUFFER + 8];
    memset(buffer, GUARD, sizeof buffer);
    uint32_t found_count = 0xDEAD;
    uint64_t runs_before = runs, dry_before = dry_runs;
    fail_next = fails;
    XrResult found = oxa_exchange(null_buffer ? NULL : buffer, capacity, &found_count, player->texts[text],
                                  player->slots[tool], player->first_thread + (uint64_t)thread);
    fail_next = 0;
    player->calls++;
    expect(player, found == result, "result");
    expect(player, found_count == count, "count");
    expect(player, runs - runs_before == run_expected, "number of runs");
    expect(player, dry_runs - dry_before == dry_expected, "number of dry runs");
    uint32_t written = 0;
    if (delivered) {
        written = count;
        text_of_run(delivered, expected);
        expected[count - 1] = '\0';
        expect(player, memcmp(buffer, expected, count) == 0, "text");
    }
    for (uint32_t i = written; i < sizeof buffer; i++)
        if (buffer[i] != GUARD) {
            expect(player, 0, "a byte beyond");
            break;
        }
    int of_tool = 0;
    for (int i = 0; i < model->count; i++) of_tool += model->held[i].tool == tool;
    expect(player, oxa_slot_held(player->slots[tool]) == (uint32_t)of_tool, "results held");
}

static void play(Player* player, uint64_t sequences) {
    for (uint64_t sequence = 0; sequence < sequences; sequence++) {
        for (int tool = 0; tool < TOOLS; tool++) {
            atomic_init(&player->tools[tool].references, 1);
            player->sizings[tool] = (OxaSizing)pick(player, 3);
            oxa_slot_open(&player->slots[tool], &player->tools[tool], player->sizings[tool], BYTES_SIZING);
        }
        player->model.count = 0;
        for (int step = 0; step < STEPS; step++) {
            uint32_t kind = pick(player, 40);
            if (kind == 3) {
                replace_open(player, (int)pick(player, TOOLS));
            } else if (kind == 0) {
                reopen_or_replace(player, (int)pick(player, TOOLS));
            } else if (kind == 1) {
                uint64_t before = runs;
                XrResult result = oxa_exchange(NULL, 0, NULL, "{}", player->slots[0], 1);
                expect(player, result == XR_ERROR_VALIDATION_FAILURE && runs == before, "no count pointer");
            } else if (kind == 2) {
                refused_call(player, (OxaSlotId)pick(player, 1000) << 40 | pick(player, 5000), 1);
            } else {
                call(player);
            }
        }
        for (int tool = 0; tool < TOOLS; tool++) {
            close_tool(player, tool);
            expect(player, oxa_slot_wait(player->slots[tool], 0), "nothing runs");
            expect(player, atomic_load(&player->tools[tool].references) == 1, "every reference came back");
            oxa_slot_free(player->slots[tool]);
        }
    }
}

static const char* const shared_texts[TEXTS] = {"{\"a\":1}", "{\"a\":2}", "{}", NULL};

static uint64_t sequences_each;

static void* play_thread(void* argument) {
    play(argument, sequences_each);
    return NULL;
}

int main(int count, char** words) {
    if (count != 4) return 2;
    uint64_t sequences = strtoull(words[2], NULL, 10), seed = strtoull(words[3], NULL, 10) | 1;
    enum { PLAYERS = 4 };
    static Player players[PLAYERS];
    int used = strcmp(words[1], "threads") == 0 ? PLAYERS : 1;
    oxa_set_bounds(BOUND_PER_SLOT, UINT64_MAX, INT64_MAX);
    sequences_each = sequences / (uint64_t)used;
    pthread_t threads[PLAYERS];
    for (int i = 0; i < used; i++) {
        players[i].random = seed + (uint64_t)i * 7919;
        players[i].texts = shared_texts;
        players[i].first_thread = 1 + (uint64_t)i * THREADS;
        if (pthread_create(&threads[i], NULL, play_thread, &players[i]) != 0) return 2;
    }
    long wrong = 0;
    uint64_t calls = 0;
    for (int i = 0; i < used; i++) {
        pthread_join(threads[i], NULL);
        wrong += players[i].wrong;
        calls += players[i].calls;
    }
    OxaExchangeStatistics left;
    oxa_exchange_statistics(&left);
    if (left.held_results != 0 || left.slots != 0 || left.in_flight != 0) wrong++;
    printf("%llu sequences, %llu calls, %ld wrong, %llu held and %llu slots left\n", (unsigned long long)sequences,
           (unsigned long long)calls, wrong, (unsigned long long)left.held_results, (unsigned long long)left.slots);
    return wrong == 0 ? 0 : 1;
}
