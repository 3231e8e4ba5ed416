/* SPDX-License-Identifier: MIT
 *
 * edgewise perplexity: how well a model predicts a text, and how far it is from another one.
 *
 * The text is tokenized as it is, without bos or eos, and cut into windows of -c tokens; what is
 * left over at the end is not used. The first token of each window is replaced by bos where the
 * model has its prompts begin with one. The first half of a window is context only: the tokens from
 * its middle on (one less than half the window) are scored. With --kl-base both models go through
 * the same windows side by side. */
#include "base/error.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/pick.h"
#include "cli/print.h"
#include "cli/score.h"
#include "cli/setup.h"
#include "cli/term.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WINDOW = 512,         /* tokens, unless -c says otherwise: the customary one */
    WINDOW_MIN = 4,       /* one scored token */
    ROWS_BYTES = 64 << 20 /* of the base's logits kept for comparison */
};

typedef struct {
    const char *file, *base;
    int64_t chunks;
    bool json;
} perplexity_args;

static const option perplexity_options[] = {
    {"-f --file", "TEXT", "the text file; - is standard input", OPT_TEXT,
     offsetof(perplexity_args, file), 0, 0, NULL},
    {"--chunks", "N", "stop after N windows", OPT_INT, offsetof(perplexity_args, chunks), 1,
     INT32_MAX, NULL},
    {"--kl-base", "FILE",
     "another model with the same vocabulary: also gives the KL divergence\n"
     "from it and how often both expect the same token",
     OPT_TEXT, offsetof(perplexity_args, base), 0, 0, NULL},
    {"--json", NULL, "write JSON", OPT_FLAG, offsetof(perplexity_args, json), 0, 0, NULL},
};

/* The work and what it yields. Values are one a scored token, in order. */
typedef struct {
    const perplexity_args *args;
    ew_model *model, *base; /* base NULL: none */
    ew_session *session, *base_session;
    char *text;
    size_t text_n;
    int32_t *tokens; /* of the text */
    size_t n_token, window, n_window, n_scored;
    double *nll, *base_nll, *kl;
    size_t n_done;  /* values so far */
    size_t n_agree; /* same most likely token */
    float *rows;    /* logits of the base for max_row tokens */
    size_t max_row, n_vocab;
    const int32_t *next; /* what row 0 of the current call should have predicted */
    progress bar;
} job;

static size_t middle(const job *j) {
    return j->window / 2;
}

static double nll_of(const job *j, const float *logits, double log_sum, size_t i) {
    return log_sum - (double)logits[j->next[i]];
}

static bool take_base(void *ctx, size_t i, const float *logits) {
    job *j = ctx;

    memcpy(j->rows + i * j->n_vocab, logits, j->n_vocab * sizeof *logits);
    return true;
}

static bool take_model(void *ctx, size_t i, const float *logits) {
    job *j = ctx;
    const double log_sum = score_log_sum(logits, j->n_vocab);

    j->nll[j->n_done] = nll_of(j, logits, log_sum, i);
    if (j->base) {
        const float *row = j->rows + i * j->n_vocab;
        const double base_sum = score_log_sum(row, j->n_vocab);

        j->base_nll[j->n_done] = nll_of(j, row, base_sum, i);
        j->kl[j->n_done] = score_kl(row, base_sum, logits, log_sum, j->n_vocab);
        j->n_agree += score_argmax(row, j->n_vocab) == score_argmax(logits, j->n_vocab);
    }
    j->n_done++;
    return true;
}

/* n tokens from t on, both models; what follows each is what it is scored against. */
static ew_status score_some(job *j, const int32_t *t, size_t n, ew_error *err) {
    ew_status rc = EW_OK;

    j->next = t + 1;
    if (j->base) rc = ew_session_eval_all(j->base_session, t, n, take_base, j, err);
    if (rc == EW_OK) rc = ew_session_eval_all(j->session, t, n, take_model, j, err);
    return rc;
}

/* The last token of a window predicts nothing in it and is not evaluated. */
static ew_status score_window(job *j, int32_t *t, ew_error *err) {
    const size_t first = middle(j), end = j->window - 1;
    ew_status rc = EW_OK;

    if (ew_model_adds_bos(j->model) && ew_token_bos(j->model) >= 0) t[0] = ew_token_bos(j->model);
    ew_session_rewind(j->session, 0);
    rc = ew_session_eval(j->session, t, first, err);
    if (rc == EW_OK && j->base) {
        ew_session_rewind(j->base_session, 0);
        rc = ew_session_eval(j->base_session, t, first, err);
    }
    for (size_t at = first; rc == EW_OK && at < end;) {
        const size_t n = end - at < j->max_row ? end - at : j->max_row;

        rc = score_some(j, t + at, n, err);
        at += n;
    }
    return rc;
}

static ew_status check_numbers(const job *j, ew_error *err) {
    for (size_t i = 0; i < j->n_scored; i++) {
        if (isnan(j->nll[i]))
            return fail(err, EW_EFORMAT, "the model's logits are not numbers (scored token %zu)",
                        i);
        if (j->base && isnan(j->base_nll[i]))
            return fail(err, EW_EFORMAT, "the base's logits are not numbers (scored token %zu)", i);
    }
    return EW_OK;
}

static ew_status score_all(job *j, ew_error *err) {
    ew_status rc = EW_OK;

    progress_start(&j->bar, "scoring");
    for (size_t w = 0; rc == EW_OK && w < j->n_window; w++) {
        rc = score_window(j, j->tokens + w * j->window, err);
        progress_show(&j->bar, (double)(w + 1) / (double)j->n_window);
    }
    progress_end(&j->bar);
    return rc ? rc : check_numbers(j, err);
}

static ew_status cut_text(job *j, ew_error *err) {
    ew_status rc = ew_tokenize(j->model, j->text, j->text_n, 0, &j->tokens, &j->n_token, err);

    if (rc) return rc;
    j->n_window = j->n_token / j->window;
    if (j->args->chunks && j->n_window > (size_t)j->args->chunks)
        j->n_window = (size_t)j->args->chunks;
    if (j->n_window == 0)
        return fail(err, EW_EINVAL,
                    "%s: %zu tokens are less than one window of %zu (choose with -c)",
                    j->args->file, j->n_token, j->window);
    j->n_scored = j->n_window * (j->window - 1 - middle(j));
    return EW_OK;
}

/* Scores can be compared only where the same id means the same text. */
static ew_status check_vocabulary(const job *j, ew_error *err) {
    const int32_t n = ew_n_vocab(j->model), base_n = ew_n_vocab(j->base);

    if (n != base_n)
        return fail(err, EW_EMISMATCH, "%s: vocabulary of %d tokens, the other model has %d",
                    j->args->base, base_n, n);
    for (int32_t id = 0; id < n; id++) {
        size_t a_n = 0, b_n = 0;
        const char *a = ew_token_name(j->model, id, &a_n), *b = ew_token_name(j->base, id, &b_n);

        if (a_n != b_n || memcmp(a, b, a_n) != 0)
            return fail(err, EW_EMISMATCH, "%s: token %d is '%.*s', the other model has '%.*s'",
                        j->args->base, id, (int)b_n, b, (int)a_n, a);
    }
    return EW_OK;
}

static ew_status open_base(job *j, const char *path, ew_engine *e, const engine_args *a,
                           ew_error *err) {
    ew_model_options o;
    ew_status rc;

    setup_model_options(a, &o);
    rc = ew_model_open(&j->base, e, path, &o, err);
    return rc ? rc : check_vocabulary(j, err);
}

static ew_status prepare(job *j, const engine_args *a, ew_error *err) {
    ew_session_options o;
    ew_status rc;

    setup_session_options(a, &o);
    o.ctx_tokens = (uint32_t)j->window;
    j->n_vocab = (size_t)ew_n_vocab(j->model);
    j->max_row = j->window;
    if (j->base && j->max_row > ROWS_BYTES / sizeof(float) / j->n_vocab)
        j->max_row = ROWS_BYTES / sizeof(float) / j->n_vocab;
    if (j->max_row == 0) j->max_row = 1;
    j->nll = mem_array(j->n_scored, sizeof *j->nll);
    if (j->base) {
        j->base_nll = mem_array(j->n_scored, sizeof *j->base_nll);
        j->kl = mem_array(j->n_scored, sizeof *j->kl);
        j->rows = mem_array(j->max_row * j->n_vocab, sizeof *j->rows);
    }
    if (!j->nll || (j->base && (!j->base_nll || !j->kl || !j->rows)))
        return fail(err, EW_ENOMEM, "out of memory");
    rc = ew_session_new(&j->session, j->model, &o, err);
    if (rc == EW_OK && j->base) rc = ew_session_new(&j->base_session, j->base, &o, err);
    return rc;
}

static void job_fini(job *j) {
    ew_session_free(j->session);
    ew_session_free(j->base_session);
    ew_model_close(j->base);
    mem_free(j->text);
    ew_free(j->tokens);
    mem_free(j->nll);
    mem_free(j->base_nll);
    mem_free(j->kl);
    mem_free(j->rows);
}

/* exp() carries the error of the mean over: d exp(x) = exp(x) dx. */
static void print_ppl(const char *what, const score_summary *nll) {
    const double ppl = exp(nll->mean);

    printf("%-18s %.4f ± %.4f   (mean NLL %.6f ± %.6f)\n", what, ppl, ppl * nll->mean_error,
           nll->mean, nll->mean_error);
}

static double agreement_error(double share, size_t n) {
    return n > 1 ? sqrt(share * (1 - share) / (double)(n - 1)) : 0;
}

static void print_table(const job *j, const score_summary *nll, const score_summary *base,
                        const score_summary *kl) {
    const double agree = (double)j->n_agree / (double)j->n_scored;

    print_ppl("perplexity", nll);
    if (j->base) {
        print_ppl("of the base", base);
        printf("%-18s %.6f\n", "ratio", exp(nll->mean - base->mean));
        printf("%-18s mean %.6f ± %.6f, median %.6f, 99th percentile %.6f, max %.6f\n",
               "KL divergence", kl->mean, kl->mean_error, kl->median, kl->p99, kl->max);
        printf("%-18s %.3f ± %.3f %%\n", "top-1 agreement", 100 * agree,
               100 * agreement_error(agree, j->n_scored));
    }
    printf("%-18s %zu tokens in %zu window%s of %zu (second halves), of %zu in the text\n",
           "scored", j->n_scored, j->n_window, j->n_window == 1 ? "" : "s", j->window, j->n_token);
}

static json_t *ppl_json(const char *file, const score_summary *nll) {
    const double ppl = exp(nll->mean);

    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "file", file, "ppl", json_number(ppl),
                     "ppl_error", json_number(ppl * nll->mean_error), "mean_nll",
                     json_number(nll->mean), "mean_nll_error", json_number(nll->mean_error));
}

static json_t *kl_json(const job *j, const score_summary *kl) {
    const double agree = (double)j->n_agree / (double)j->n_scored;

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mean", json_number(kl->mean),
                     "mean_error", json_number(kl->mean_error), "median", json_number(kl->median),
                     "p99", json_number(kl->p99), "max", json_number(kl->max), "top1_agreement",
                     json_number(agree), "top1_agreement_error",
                     json_number(agreement_error(agree, j->n_scored)));
}

static int report(job *j, const char *path) {
    score_summary nll = score_summarise(j->nll, j->n_scored), base = {0}, kl = {0};
    json_t *root;

    if (j->base) {
        base = score_summarise(j->base_nll, j->n_scored);
        kl = score_summarise(j->kl, j->n_scored);
    }
    if (!j->args->json) {
        print_table(j, &nll, &base, &kl);
        return EXIT_OK;
    }
    root = ppl_json(path, &nll);
    json_object_set_new(root, "n_tokens", json_integer((json_int_t)j->n_token));
    json_object_set_new(root, "window", json_integer((json_int_t)j->window));
    json_object_set_new(root, "windows", json_integer((json_int_t)j->n_window));
    json_object_set_new(root, "scored", json_integer((json_int_t)j->n_scored));
    if (j->base) {
        json_object_set_new(root, "base", ppl_json(j->args->base, &base));
        json_object_set_new(root, "ppl_ratio", json_number(exp(nll.mean - base.mean)));
        json_object_set_new(root, "kl", kl_json(j, &kl));
    }
    return print_json(root);
}

/* base: the file to compare with, or NULL. */
static int run(job *j, ew_engine *e, const engine_args *a, const char *path, const char *base) {
    ew_error err = {0};

    j->window = a->ctx_size ? (size_t)a->ctx_size : WINDOW;
    setup_warn_of_window(j->model, j->window);
    if (cut_text(j, &err) || (base && open_base(j, base, e, a, &err)) || prepare(j, a, &err) ||
        score_all(j, &err))
        return say_error(&err);
    return report(j, path);
}

int cmd_perplexity(int argc, char **argv) {
    perplexity_args args = {0};
    engine_args engine_a;
    const option_group groups[] = {{"Options", perplexity_options,
                                    sizeof perplexity_options / sizeof perplexity_options[0],
                                    &args},
                                   engine_args_group(&engine_a)};
    const usage u = {
        .command = "perplexity",
        .synopsis = "FILE -f TEXT",
        .about = "Scores how well a model predicts a text. The text is cut into windows of -c "
                 "tokens (512); the\nfirst token of each is replaced by the model's bos, and the "
                 "second half is scored.",
        .examples = "edgewise perplexity model-Q4_K_M.gguf -f book.txt --kl-base model-F16.gguf",
        .groups = groups,
        .n_group = 2,
        .min_args = 1,
        .max_args = 1};
    job j = {.args = &args};
    ew_engine *engine = NULL;
    ew_error err = {0};
    char *base = NULL;
    int status;

    engine_args_defaults(&engine_a);
    if (!options_parse(&u, &argc, argv, &status)) return status;
    if (!args.file) return usage_error(&u, "needs a text: -f FILE, or -f - for standard input");
    if (engine_a.ctx_size && engine_a.ctx_size < WINDOW_MIN)
        return usage_error(&u, "-c: windows of at least %d tokens are needed", WINDOW_MIN);
    /* The text first: a model may take long to load. */
    if (input_file(&j.text, &j.text_n, args.file, &err)) return say_error(&err);
    if (args.base) base = pick_model(args.base, false, &status);
    if (base || !args.base) status = setup_open(&engine_a, argv[0], false, &engine, &j.model);
    if (status == EXIT_OK) status = run(&j, engine, &engine_a, argv[0], base);
    mem_free(base);
    job_fini(&j);
    setup_close(engine, j.model);
    return status;
}
