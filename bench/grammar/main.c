/* SPDX-License-Identifier: MIT
 *
 * grammar-bench: what a grammar costs a token, beside the sampler without one. For each case a
 * known answer is written by a made-up model that wants just that, with noise on all other tokens;
 * times are of choosing and accepting one token. The cold run has an empty cache, the warm one
 * writes the same answer again. */
#include "base/clock.h"
#include "base/mem.h"
#include "edgewise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKENS_MAX = 4096
};

typedef struct {
    const char *name;
    bool is_schema;
    const char *grammar, *answer;
} bench_case;

static const bench_case cases[] = {
    {"gbnf list", false, "root ::= (\"- \" [^\\n]+ \"\\n\"){3}",
     "- bread and butter\n- two litres of milk\n- eggs, if there are any left\n"},
    {"any JSON object", true, "{\"type\":\"object\"}",
     "{\n  \"city\": \"Paris\",\n  \"population\": 2102650,\n  \"sights\": [\"Louvre\", \"Eiffel "
     "Tower\"],\n  \"capital\": true,\n  \"notes\": \"It lies on the Seine, and has been a centre "
     "of art and science for centuries.\"\n}"},
    {"person", true,
     "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":40},"
     "\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":150},\"email\":{\"type\":\"string\","
     "\"format\":\"email\"},\"born\":{\"type\":\"string\",\"format\":\"date\"},\"tags\":{\"type\":"
     "\"array\",\"items\":{\"enum\":[\"red\",\"green\",\"blue\"]},\"maxItems\":5}},\"required\":["
     "\"name\",\"age\",\"email\",\"born\",\"tags\"]}",
     "{\"name\": \"Ada Lovelace\", \"age\": 36, \"email\": \"ada@example.org\", \"born\": "
     "\"1815-12-10\", \"tags\": [\"red\", \"blue\"]}"},
    {"text of up to 2000", true,
     "{\"type\":\"object\",\"properties\":{\"summary\":{\"type\":\"string\",\"maxLength\":2000}},"
     "\"required\":[\"summary\"]}",
     "{\"summary\": \"The quick brown fox jumps over the lazy dog, again and again, until both of "
     "them are tired and the sun has gone down behind the hills. Then they rest, and in the "
     "morning it begins anew, as it has done for as long as anyone remembers.\"}"},
};

typedef struct {
    ew_model *model;
    float *logits;
    int32_t n_vocab;
    double step_us; /* of a decode step, to compare with */
} bench;

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Every token gets some noise, the wanted one the most likelihood. */
static void make_logits(bench *b, int32_t wanted, uint64_t *random) {
    for (int32_t i = 0; i < b->n_vocab; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        b->logits[i] = (float)(*random >> 40) / (float)(1 << 22);
    }
    b->logits[wanted] = 12;
}

/* Times of n tokens in microseconds, unsorted. False when a token was not the one wanted. */
static bool write_answer(bench *b, ew_sampler *s, const int32_t *ids, size_t n, double *us) {
    uint64_t random = 1;

    for (size_t i = 0; i < n; i++) {
        uint64_t start;
        int32_t id;
        ew_error err;

        make_logits(b, ids[i], &random);
        start = clock_us();
        if (ew_sampler_sample(s, b->logits, &id, &err)) {
            fprintf(stderr, "token %zu: %s\n", i, err.text);
            return false;
        }
        ew_sampler_accept(s, ids[i]);
        us[i] = (double)(clock_us() - start);
    }
    return true;
}

static void report(const bench *b, const char *run, double *us, size_t n) {
    qsort(us, n, sizeof *us, by_value);
    printf("  %-22s %8.0f %8.0f %8.0f", run, us[n / 2], us[n * 9 / 10], us[n - 1]);
    if (b->step_us > 0) printf("   %5.1f %%", 100 * us[n / 2] / b->step_us);
    printf("\n");
}

static bool run_case(bench *b, const bench_case *c, const ew_sampler_options *o, const char *how) {
    double us[TOKENS_MAX];
    ew_grammar *g = NULL;
    ew_sampler *s = NULL;
    int32_t *ids = NULL;
    char line[64];
    size_t n = 0;
    ew_error err;
    bool ok = false;

    if ((c->is_schema ? ew_grammar_new_json_schema
                      : ew_grammar_new_gbnf)(&g, b->model, c->grammar, strlen(c->grammar), &err) ||
        ew_tokenize(b->model, c->answer, strlen(c->answer), 0, &ids, &n, &err) ||
        ew_sampler_new(&s, b->model, o, &err)) {
        fprintf(stderr, "%s: %s\n", c->name, err.text);
        goto out;
    }
    if (n > TOKENS_MAX) goto out;
    for (int run = 0; run < 3; run++) {
        static const char *const names[] = {"none", "cold", "warm"};

        if (run == 1 && ew_sampler_set_grammar(s, g, NULL, &err)) goto out;
        ew_sampler_reset(s);
        if (!write_answer(b, s, ids, n, us)) goto out;
        snprintf(line, sizeof line, "%s, %s", how, names[run]);
        report(b, line, us, n);
    }
    ok = true;
out:
    ew_sampler_free(s);
    ew_grammar_free(g);
    ew_free(ids);
    return ok;
}

static bool run_all(bench *b) {
    bool ok = true;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        printf("%s\n  %-22s %8s %8s %8s\n", cases[i].name, "us a token", "median", "90 %", "most");
        for (int how = 0; how < 3; how++) {
            static const char *const names[] = {"temperature 0", "top-k 40", "top-k off"};
            ew_sampler_options o;

            ew_sampler_defaults(&o);
            o.seed = 1;
            if (how == 0) o.temperature = 0;
            if (how == 2) o.top_k = 0;
            ok &= run_case(b, &cases[i], &o, names[how]);
        }
    }
    return ok;
}

int main(int argc, char **argv) {
    ew_model_options o;
    ew_engine *engine = NULL;
    bench b = {0};
    ew_error err;
    bool ok = false;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: grammar-bench MODEL.gguf [MILLISECONDS]\n"
                        "Only the vocabulary is read. MILLISECONDS: of a decode step, to compare "
                        "with.\n");
        return 2;
    }
    if (argc > 2) b.step_us = 1000 * atof(argv[2]);
    ew_model_defaults(&o);
    o.vocab_only = true;
    if (ew_engine_new(&engine, NULL, &err) || ew_model_open(&b.model, engine, argv[1], &o, &err)) {
        fprintf(stderr, "%s\n", err.text);
    } else {
        b.n_vocab = ew_n_vocab(b.model);
        b.logits = mem_array((size_t)b.n_vocab, sizeof *b.logits);
        printf("%d tokens\n", (int)b.n_vocab);
        ok = b.logits && run_all(&b);
    }
    mem_free(b.logits);
    ew_model_close(b.model);
    ew_engine_free(engine);
    return ok ? 0 : 1;
}
