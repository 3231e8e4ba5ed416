/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include "cli/term.h"

#include <string.h>

enum {
    SWAP_NOTICED = 1 << 20 /* bytes; less than this comes and goes by itself */
};

void report_stop(const talk *t, const answer *a) {
    switch (a->r.reason) {
    case EW_STOP_LENGTH:
        say_note("stopped: %zu tokens, as many as --n-predict allows", a->r.n_generated);
        return;
    case EW_STOP_CONTEXT:
        say_note("stopped: the context of %u tokens is full", ew_session_ctx(t->session));
        return;
    case EW_STOP_EOG:
    case EW_STOP_STRING:
    case EW_STOP_CANCEL:
        return;
    }
}

void report_swap(const answer *a) {
    char size[24];

    if (a->swap_grown < SWAP_NOTICED) return;
    say_warning("%s went to swap meanwhile: memory is short and these speeds suffer from it",
                size_text(size, a->swap_grown));
}

void report_memory(FILE *f, ew_engine *e) {
    const uint64_t limit = ew_engine_memory_limit(e);
    const char *plus = "";
    uint64_t sum = 0;
    char size[24];

    for (ew_account a = 0; a < EW_MEM_COUNT; a++) {
        const uint64_t bytes = ew_engine_memory(e, a);

        if (!bytes) continue;
        fprintf(f, "%s%s %s", plus, ew_account_name(a), size_text(size, bytes));
        plus = " + ";
        sum += bytes;
    }
    fprintf(f, " = %s", size_text(size, sum));
    fprintf(f, "; peak %s", size_text(size, ew_engine_memory_peak(e)));
    if (limit) fprintf(f, ", limit %s", size_text(size, limit));
    fputc('\n', f);
}

static const char *stop_text(ew_stop_reason r) {
    switch (r) {
    case EW_STOP_EOG:
        return "the model ended its answer";
    case EW_STOP_STRING:
        return "a stop text came up";
    case EW_STOP_LENGTH:
        return "--n-predict reached";
    case EW_STOP_CONTEXT:
        return "the context is full";
    case EW_STOP_CANCEL:
        return "interrupted";
    }
    return "";
}

/* Tokens after the first: the first one's time belongs to the prompt. */
static size_t n_decoded(const ew_generate_result *r) {
    return r->n_generated ? r->n_generated - 1 : 0;
}

void report_figures(FILE *f, const talk *t, const answer *a) {
    const ew_generate_result *r = &a->r;
    char b[24];

    fputs(term_on(f, TERM_DIM), f);
    fprintf(f, "load         %s\n", time_text(b, t->t_load_us));
    fprintf(f, "wall         %.2f tokens/s: %zu generated in %s, prompt included\n",
            rate(r->n_generated, r->t_wall_us), r->n_generated, time_text(b, r->t_wall_us));
    fprintf(f, "first token  after %s\n", time_text(b, r->t_first_us));
    fprintf(f, "prefill      %.2f tokens/s: %zu of %zu prompt tokens evaluated in %s, %zu cached\n",
            rate(r->n_evaluated, r->t_prefill_us), r->n_evaluated, r->n_prompt,
            time_text(b, r->t_prefill_us), r->n_cached);
    fprintf(f, "decode       %.2f tokens/s: %zu after the first in %s\n",
            rate(n_decoded(r), r->t_decode_us), n_decoded(r), time_text(b, r->t_decode_us));
    fprintf(f, "stopped      %s\n", stop_text(r->reason));
    fprintf(f, "context      %zu of %u tokens used\n", ew_session_n(t->session),
            ew_session_ctx(t->session));
    fprintf(f, "threads      %d, seed %llu\n", (int)ew_engine_threads(t->engine),
            (unsigned long long)a->seed);
    fputs("memory       ", f);
    report_memory(f, t->engine);
    fputs(term_on(f, TERM_PLAIN), f);
}

static void json_memory(FILE *f, ew_engine *e) {
    uint64_t sum = 0;

    fputs("{", f);
    for (ew_account a = 0; a < EW_MEM_COUNT; a++) {
        const uint64_t bytes = ew_engine_memory(e, a);

        /* "kv cache" -> "kv_cache" */
        fputc('"', f);
        for (const char *p = ew_account_name(a); *p; p++) fputc(*p == ' ' ? '_' : *p, f);
        fprintf(f, "\":%llu,", (unsigned long long)bytes);
        sum += bytes;
    }
    fprintf(f, "\"sum\":%llu,\"peak\":%llu,\"limit\":%llu}", (unsigned long long)sum,
            (unsigned long long)ew_engine_memory_peak(e),
            (unsigned long long)ew_engine_memory_limit(e));
}

void report_json(FILE *f, const talk *t, const answer *a) {
    const ew_generate_result *r = &a->r;

    fputs("{\"model\":", f);
    json_text(f, t->path, strlen(t->path));
    fputs(",\"text\":", f);
    json_text(f, a->text.p ? a->text.p : "", a->text.n);
    if (a->reasoning.n) {
        fputs(",\"reasoning\":", f);
        json_text(f, a->reasoning.p, a->reasoning.n);
    }
    fprintf(f, ",\"reason\":\"%s\",\"chat_form\":\"%s\"", ew_stop_reason_name(r->reason),
            t->is_chat ? ew_chat_name(t->chat) : "none");
    fprintf(f, ",\"tokens\":{\"prompt\":%zu,\"cached\":%zu,\"evaluated\":%zu,\"generated\":%zu}",
            r->n_prompt, r->n_cached, r->n_evaluated, r->n_generated);
    fprintf(f, ",\"context\":{\"used\":%zu,\"size\":%u}", ew_session_n(t->session),
            ew_session_ctx(t->session));
    fprintf(f,
            ",\"seconds\":{\"load\":%.6f,\"first_token\":%.6f,\"prefill\":%.6f,\"decode\":%.6f,"
            "\"wall\":%.6f}",
            (double)t->t_load_us / 1e6, (double)r->t_first_us / 1e6, (double)r->t_prefill_us / 1e6,
            (double)r->t_decode_us / 1e6, (double)r->t_wall_us / 1e6);
    fprintf(f, ",\"tokens_per_second\":{\"wall\":%.3f,\"prefill\":%.3f,\"decode\":%.3f}",
            rate(r->n_generated, r->t_wall_us), rate(r->n_evaluated, r->t_prefill_us),
            rate(n_decoded(r), r->t_decode_us));
    fprintf(f, ",\"threads\":%d,\"seed\":%llu,\"swap_grown_bytes\":%llu,\"memory_bytes\":",
            (int)ew_engine_threads(t->engine), (unsigned long long)a->seed,
            (unsigned long long)a->swap_grown);
    json_memory(f, t->engine);
    fputs("}\n", f);
}
