/* SPDX-License-Identifier: MIT
 *
 * edgewise logits: what the model expects after a text, as numbers. */
#include "base/error.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/print.h"
#include "cli/score.h"
#include "cli/setup.h"
#include "cli/term.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    int64_t top;
    bool all, ids, special, no_bos, json;
} logits_args;

static const option logits_options[] = {
    {"--top", "N", "how many of the largest (10); 0: every token of the vocabulary", OPT_INT,
     offsetof(logits_args, top), 0, INT32_MAX, NULL},
    {"--all", NULL, "after each token of the text, not the last alone", OPT_FLAG,
     offsetof(logits_args, all), 0, 0, NULL},
    {"--ids", NULL, "TEXT is token ids: a JSON array, or numbers with spaces between", OPT_FLAG,
     offsetof(logits_args, ids), 0, 0, NULL},
    {"--special --parse-special", NULL, "<|im_end|> and its like in the text are those tokens",
     OPT_FLAG, offsetof(logits_args, special), 0, 0, NULL},
    {"--no-bos", NULL, "add no token at the beginning or the end", OPT_FLAG,
     offsetof(logits_args, no_bos), 0, 0, NULL},
    {"--json", NULL, "write JSON", OPT_FLAG, offsetof(logits_args, json), 0, 0, NULL},
};

/* What the callback of each position needs. */
typedef struct {
    const ew_model *model;
    const int32_t *ids;
    int32_t *order; /* n_vocab ids */
    size_t n_top;   /* of order that are shown */
    json_t *json;   /* array; NULL: a table is printed */
    bool is_broken; /* out of memory */
} view;

/* order[0..n_top) become the ids of the largest logits, largest first, equal ones by id. A heap of
 * n_top with the smallest on top goes over the vocabulary once. */
static bool is_less(const float *logits, int32_t a, int32_t b) {
    if (logits[a] != logits[b]) return logits[a] < logits[b] || isnan(logits[a]);
    return a > b;
}

static void sift(const float *logits, int32_t *heap, size_t i, size_t n) {
    const int32_t moved = heap[i];

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= n) break;
        if (child + 1 < n && is_less(logits, heap[child + 1], heap[child])) child++;
        if (!is_less(logits, heap[child], moved)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static void pick_top(const float *logits, size_t n_vocab, int32_t *order, size_t n_top) {
    for (size_t i = 0; i < n_top; i++) order[i] = (int32_t)i;
    for (size_t i = n_top / 2; i-- > 0;) sift(logits, order, i, n_top);
    for (size_t id = n_top; id < n_vocab; id++) {
        if (!is_less(logits, order[0], (int32_t)id)) continue;
        order[0] = (int32_t)id;
        sift(logits, order, 0, n_top);
    }
    for (size_t n = n_top; n > 1; n--) { /* the smallest goes to the end, then the next */
        const int32_t smallest = order[0];

        order[0] = order[n - 1];
        order[n - 1] = smallest;
        sift(logits, order, 0, n - 1);
    }
}

static void print_piece(const ew_model *m, int32_t id) {
    const bool is_control = ew_token_is_control(m, id);
    size_t n = 0;
    const char *p = is_control ? ew_token_name(m, id, &n) : ew_token_bytes(m, id, &n);

    print_escaped(p, n, is_control ? 0 : '\'');
}

static void print_row(const view *v, size_t at, const float *logits, double log_sum) {
    printf("after %zu token%s, the last ", at + 1, at ? "s" : "");
    print_piece(v->model, v->ids[at]);
    printf(" (%d)\n%7s  %12s  %11s  %s\n", v->ids[at], "id", "logit", "probability", "piece");
    for (size_t i = 0; i < v->n_top; i++) {
        const int32_t id = v->order[i];

        printf("%7d  %12.6f  %10.4f%%  ", id, (double)logits[id],
               100 * exp((double)logits[id] - log_sum));
        print_piece(v->model, id);
        putchar('\n');
    }
}

static json_t *row_json(const view *v, size_t at, const float *logits, double log_sum) {
    json_t *top = json_array();

    for (size_t i = 0; i < v->n_top; i++) {
        const int32_t id = v->order[i];
        size_t n = 0;
        const char *p = ew_token_bytes(v->model, id, &n);
        const double log_p = (double)logits[id] - log_sum;
        json_t *entry = json_pack("{s:i, s:o, s:o, s:o, s:o}", "id", id, "piece", json_bytes(p, n),
                                  "logit", json_number((double)logits[id]), "logprob",
                                  json_number(log_p), "probability", json_number(exp(log_p)));

        if (json_array_append_new(top, entry)) {
            json_decref(top);
            return NULL;
        }
    }
    return json_pack("{s:I, s:i, s:o}", "position", (json_int_t)at, "id", v->ids[at], "top", top);
}

static bool show(void *ctx, size_t at, const float *logits) {
    view *v = ctx;
    const size_t n_vocab = (size_t)ew_n_vocab(v->model);
    const double log_sum = score_log_sum(logits, n_vocab);

    pick_top(logits, n_vocab, v->order, v->n_top);
    if (!v->json)
        print_row(v, at, logits, log_sum);
    else if (json_array_append_new(v->json, row_json(v, at, logits, log_sum)))
        v->is_broken = true;
    return !v->is_broken && !ferror(stdout);
}

static int evaluate(const logits_args *a, ew_session *s, view *v, size_t n) {
    ew_error err = {0};
    ew_status rc;

    if (a->all) {
        rc = ew_session_eval_all(s, v->ids, n, show, v, &err);
    } else {
        rc = ew_session_eval(s, v->ids, n, &err);
        if (rc == EW_OK) show(v, n - 1, ew_session_logits(s));
    }
    if (v->is_broken) return say_no_memory();
    return rc ? say_error(&err) : EXIT_OK;
}

static int finish_json(view *v, size_t n) {
    json_t *ids = json_array();
    ew_model_info info = {.size = sizeof info};

    ew_model_info_get(v->model, &info);
    for (size_t i = 0; ids && i < n; i++) json_array_append_new(ids, json_integer(v->ids[i]));
    return print_json(json_pack("{s:s, s:I, s:o, s:O}", "model", info.name, "n_vocab",
                                (json_int_t)info.n_vocab, "tokens", ids, "positions", v->json));
}

/* n >= 1 tokens. */
static int run(const logits_args *a, const engine_args *engine_a, ew_model *m, const int32_t *ids,
               size_t n) {
    const size_t n_vocab = (size_t)ew_n_vocab(m);
    view v = {.model = m, .ids = ids};
    ew_session_options o;
    ew_session *s = NULL;
    ew_error err = {0};
    int status;

    v.n_top = a->top && (uint64_t)a->top < n_vocab ? (size_t)a->top : n_vocab;
    setup_session_options(engine_a, &o);
    if (!engine_a->ctx_size && n < UINT32_MAX) o.ctx_tokens = (uint32_t)n; /* all that is needed */
    setup_warn_of_window(m, o.ctx_tokens);
    v.order = mem_array(n_vocab, sizeof *v.order);
    if (a->json) v.json = json_array();
    if (!v.order || (a->json && !v.json))
        status = say_no_memory();
    else if (ew_session_new(&s, m, &o, &err))
        status = say_error(&err);
    else
        status = evaluate(a, s, &v, n);
    if (status == EXIT_OK && a->json) status = finish_json(&v, n);
    ew_session_free(s);
    mem_free(v.order);
    json_decref(v.json);
    return status;
}

/* The tokens of the argument or of standard input. */
static ew_status take_tokens(const logits_args *a, const ew_model *m, const char *arg,
                             int32_t **ids, size_t *n, ew_error *err) {
    const unsigned flags = input_flags(a->no_bos, a->special);
    char *text = NULL;
    size_t text_n = 0;
    ew_status rc = input_text(&text, &text_n, arg, err);

    if (rc == EW_OK)
        rc = a->ids ? input_ids(ids, n, text, text_n, err)
                    : ew_tokenize(m, text, text_n, flags, ids, n, err);
    mem_free(text);
    if (rc == EW_OK && *n == 0) rc = fail(err, EW_EINVAL, "the text has no tokens");
    return rc;
}

int cmd_logits(int argc, char **argv) {
    logits_args a = {.top = 10};
    engine_args engine_a;
    const option_group groups[] = {
        {"Options", logits_options, sizeof logits_options / sizeof logits_options[0], &a},
        engine_args_group(&engine_a)};
    const usage u = {.command = "logits",
                     .synopsis = "FILE [TEXT]",
                     .about = "Shows which tokens the model expects after TEXT (or standard "
                              "input), with logits and\nprobabilities.",
                     .examples = "edgewise logits model.gguf 'Once upon a' --top 5\n"
                                 "edgewise logits model.gguf --ids '1 403 407' --all --json",
                     .groups = groups,
                     .n_group = 2,
                     .min_args = 1,
                     .max_args = 2};
    ew_engine *engine = NULL;
    ew_model *model = NULL;
    int32_t *ids = NULL;
    size_t n = 0;
    ew_error err = {0};
    int status;

    engine_args_defaults(&engine_a);
    if (!options_parse(&u, &argc, argv, &status)) return status;
    status = setup_open(&engine_a, argv[0], false, &engine, &model);
    if (status) return status;
    if (take_tokens(&a, model, argv[1], &ids, &n, &err))
        status = say_error(&err);
    else
        status = run(&a, &engine_a, model, ids, n);
    ew_free(ids);
    setup_close(engine, model);
    return status;
}
