/* SPDX-License-Identifier: MIT */
#include "run/sampler.h"

#include "run/random.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    N = 1000,
    EOG = 7
};

static mem_budget budget;

/* Tokens 0..25 are letters, 26 a line feed, 27 and 28 the halves of "@@", the rest "x". */
static str text_of(const void *ctx, int32_t id) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz\n@@";

    (void)ctx;
    return id < 29 ? (str){letters + id, 1} : str_of("x");
}

static bool is_eog(const void *ctx, int32_t id) {
    (void)ctx;
    return id == EOG;
}

static const sampler_vocab vocab = {N, {NULL, text_of}, is_eog};

static ew_sampler *make(const ew_sampler_options *o) {
    ew_error err = {EW_OK, ""};
    ew_sampler *s = NULL;

    if (sampler_new(&s, &vocab, &budget, o, &err)) fail_msg("%s", err.text);
    return s;
}

static int32_t sample(ew_sampler *s, const float *logits) {
    int32_t id;

    assert_int_equal(ew_sampler_sample(s, logits, &id, NULL), EW_OK);
    return id;
}

/* Roughly what a model gives: most near the middle, a few far above. */
static void make_logits(float *to, uint64_t seed) {
    rng r;

    rng_seed(&r, seed);
    for (int i = 0; i < N; i++) {
        double sum = 0;

        for (int j = 0; j < 4; j++) sum += rng_unit(&r);
        to[i] = (float)(6 * (sum - 2));
    }
}

static int by_likelihood(const void *a, const void *b) {
    const cand *x = a, *y = b;

    if (x->x > y->x || x->x < y->x) return x->x > y->x ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static ew_sampler_options neutral(void) {
    ew_sampler_options o;

    ew_sampler_defaults(&o);
    o.temperature = 1;
    o.top_k = 0;
    o.top_p = 1;
    o.seed = 1;
    return o;
}

static int set_up(void **state) {
    (void)state;
    mem_budget_init(&budget, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mem_budget_fini(&budget);
    return mem_live() == 0 && budget.total == 0 ? 0 : -1;
}

/* ---- random numbers ------------------------------------------------------------------------- */

/* The first outputs of the authors' own programs. */
static void test_random_numbers_are_the_published_ones(void **state) {
    static const uint64_t want[] = {11520, 0, 1509978240, 1215971899390074240};
    uint64_t x = 1234567;
    rng r = {{1, 2, 3, 4}};

    (void)state;
    assert_true(splitmix64(&x) == 6457827717110365317u);
    assert_true(splitmix64(&x) == 3203168211198807973u);
    for (int i = 0; i < 4; i++) assert_true(rng_next(&r) == want[i]);
}

static void test_same_seed_same_choices(void **state) {
    ew_sampler_options o = neutral();
    float logits[N];
    ew_sampler *a, *b, *c;
    int n_differ = 0;

    (void)state;
    make_logits(logits, 1);
    o.seed = 123;
    a = make(&o);
    b = make(&o);
    o.seed = 124;
    c = make(&o);
    for (int i = 0; i < 100; i++) {
        const int32_t id = sample(a, logits);

        assert_int_equal(sample(b, logits), id);
        n_differ += sample(c, logits) != id;
    }
    assert_true(n_differ > 50);
    ew_sampler_free(a);
    ew_sampler_free(b);
    ew_sampler_free(c);
}

/* Worked out by another program from the definitions. A change of these is a change of every user's
 * seeded text. */
static void test_choices_of_a_seed_stay(void **state) {
    static const int32_t want[] = {109, 652, 804, 901, 640, 631, 486, 272};
    ew_sampler_options o;
    float logits[N];
    ew_sampler *s;

    (void)state;
    make_logits(logits, 1);
    ew_sampler_defaults(&o);
    o.seed = 42;
    s = make(&o);
    for (int i = 0; i < 8; i++) assert_int_equal(sample(s, logits), want[i]);
    ew_sampler_free(s);
}

static void test_reset_starts_again(void **state) {
    ew_sampler_options o = neutral();
    float logits[N];
    int32_t first[50];
    ew_sampler *s;

    (void)state;
    make_logits(logits, 2);
    o.repeat_penalty = 1.5f;
    o.dry_multiplier = 0.8f;
    s = make(&o);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 50; i++) {
            const int32_t id = sample(s, logits);

            if (round == 0) first[i] = id;
            assert_int_equal(id, first[i]);
            ew_sampler_accept(s, id);
        }
        ew_sampler_reset(s);
    }
    ew_sampler_free(s);
}

static void test_seed_of_the_clock_is_told_and_works(void **state) {
    ew_sampler_options o = neutral();
    float logits[N];
    ew_sampler *a, *b;

    (void)state;
    make_logits(logits, 3);
    o.seed = 0;
    a = make(&o);
    assert_true(ew_sampler_seed(a) != 0);
    o.seed = ew_sampler_seed(a);
    b = make(&o);
    for (int i = 0; i < 50; i++) assert_int_equal(sample(a, logits), sample(b, logits));
    ew_sampler_free(a);
    ew_sampler_free(b);
}

/* ---- distribution --------------------------------------------------------------------------- */

/* Chi-square of 100 000 choices against the softmax. With df degrees of freedom the sum has mean df
 * and variance 2 df: over df + 4 sqrt(2 df) comes up once in some thousand seeds, and this seed is
 * fixed. */
static void check_distribution(const ew_sampler_options *o, const float *logits) {
    enum {
        N_DRAW = 100000
    };
    static int count[N];
    ew_sampler *s = make(o), *other = make(o);
    cand_set c;
    double chi2 = 0, df = -1;
    int n_seen = 0;

    memset(count, 0, sizeof count);
    for (int i = 0; i < N_DRAW; i++) count[sample(s, logits)]++;
    assert_int_equal(sampler_candidates(other, logits, &c, NULL), EW_OK);
    for (size_t i = 0; i < c.n; i++) {
        const double expected = N_DRAW * (double)c.c[i].p / c.mass;

        n_seen += count[c.c[i].id];
        if (expected < 5) continue;
        chi2 += (count[c.c[i].id] - expected) * (count[c.c[i].id] - expected) / expected;
        df++;
    }
    assert_int_equal(n_seen, N_DRAW); /* none but candidates */
    assert_true(df >= 5);
    if (chi2 > df + 4 * sqrt(2 * df)) fail_msg("chi-square %g with %g degrees", chi2, df);
    ew_sampler_free(s);
    ew_sampler_free(other);
}

static void test_choices_follow_the_probabilities(void **state) {
    ew_sampler_options o = neutral();
    float logits[N];

    (void)state;
    make_logits(logits, 4);
    check_distribution(&o, logits);
    o.temperature = 0.7f;
    o.top_k = 40;
    o.top_p = 0.95f;
    check_distribution(&o, logits);
}

/* The candidates' probabilities themselves, against libm. */
static void test_softmax_is_accurate(void **state) {
    ew_sampler_options o = neutral();
    float logits[N];
    ew_sampler *s;
    cand_set c;
    double sum = 0, max = -HUGE_VAL;

    (void)state;
    make_logits(logits, 5);
    logits[3] = -500; /* so unlikely that it is left out */
    o.temperature = 0.9f;
    s = make(&o);
    assert_int_equal(sampler_candidates(s, logits, &c, NULL), EW_OK);
    assert_int_equal(c.n, N - 1);
    for (int i = 0; i < N; i++) max = fmax(max, (double)logits[i]);
    for (int i = 0; i < N; i++) sum += exp(((double)logits[i] - max) / (double)0.9f);
    for (size_t i = 0; i < c.n; i++) {
        const double want = exp(((double)logits[c.c[i].id] - max) / (double)0.9f) / sum;

        /* x is rounded to a float before exp, which is good to 1.3e-7 */
        assert_true(fabs((double)c.c[i].p / c.mass - want) <=
                    (2e-7 + fabs((double)c.c[i].x) * 0x1p-24) * want + 1e-44);
    }
    ew_sampler_free(s);
}

static void test_xtc_probability_is_met(void **state) {
    enum {
        N_DRAW = 20000
    };
    ew_sampler_options o = neutral();
    float logits[N];
    ew_sampler *s;
    int n_cut = 0;

    (void)state;
    for (int i = 0; i < N; i++) logits[i] = -20;
    logits[10] = logits[11] = logits[12] = 0; /* a third each */
    o.xtc_probability = 0.3f;
    s = make(&o);
    for (int i = 0; i < N_DRAW; i++) {
        cand_set c;

        assert_int_equal(sampler_candidates(s, logits, &c, NULL), EW_OK);
        if (c.n < N) {
            assert_int_equal(c.n, N - 2);
            n_cut++;
        }
    }
    /* binomial: 5 standard deviations */
    assert_true(fabs(n_cut - 0.3 * N_DRAW) < 5 * sqrt(0.3 * 0.7 * N_DRAW));
    ew_sampler_free(s);
}

/* The whole range of the draw, against the most likely ones added up in order. */
static void test_draw_runs_from_the_most_likely_down(void **state) {
    static cand room[N], sorted[N];
    float logits[N];

    (void)state;
    make_logits(logits, 15);
    for (int i = 0; i < 2000; i++) {
        const double u = i / 2000.0;
        cand_set s = {.c = room};
        double sum = 0;
        size_t at = 0;

        cut_gather(&s, logits, N, 0);
        cut_softmax(&s, 1);
        memcpy(sorted, s.c, s.n * sizeof *sorted);
        qsort(sorted, s.n, sizeof *sorted, by_likelihood);
        while (at + 1 < s.n && (sum += (double)sorted[at].p) < u * s.mass) at++;
        assert_int_equal(cut_choose(&s, u).id, sorted[at].id);
    }
}

/* ---- cuts ----------------------------------------------------------------------------------- */

/* Against sorting everything. Few distinct logits, so that ties are everywhere. */
static void test_top_k_and_top_p_keep_what_sorting_would(void **state) {
    static cand room[N], sorted[N];
    static bool is_kept[N];
    float logits[N];
    rng r;

    (void)state;
    rng_seed(&r, 9);
    for (int round = 0; round < 300; round++) {
        const size_t n = 1 + rng_next(&r) % N, k = rng_next(&r) % 2 ? rng_next(&r) % (n + 5) : 0;
        const uint64_t n_value = 1 + rng_next(&r) % 200;
        const double p = rng_unit(&r);
        cand_set s = {.c = room};
        double mass = 0, sum = 0;
        size_t want = 0;

        for (size_t i = 0; i < n; i++) logits[i] = (float)(rng_next(&r) % n_value) / 32;
        cut_gather(&s, logits, n, k);
        assert_int_equal(s.n, k && k < n ? k : n);
        cut_softmax(&s, 1);
        memcpy(sorted, s.c, s.n * sizeof *sorted);
        qsort(sorted, s.n, sizeof *sorted, by_likelihood);
        for (size_t i = 0; i < s.n; i++) mass += (double)sorted[i].p;
        do sum += (double)sorted[want++].p;
        while (want < s.n && sum < p * mass);
        cut_top_p(&s, p);
        /* Sums in another order may end one candidate earlier or later. */
        assert_true(s.n + 1 >= want && s.n <= want + 1);
        memset(is_kept, 0, sizeof is_kept);
        for (size_t i = 0; i < s.n; i++) is_kept[s.c[i].id] = true;
        for (size_t i = 0; i < s.n; i++) assert_true(is_kept[sorted[i].id]);
    }
}

/* Both ways of finding the largest ones: heap up to CUT_HEAP_MAX, selection beyond. */
static void test_large_top_k_is_exact(void **state) {
    enum {
        MANY = 20000
    };
    static float logits[MANY];
    static cand room[MANY], all[MANY];
    rng r;

    (void)state;
    rng_seed(&r, 10);
    for (int i = 0; i < MANY; i++) logits[i] = (float)(rng_next(&r) % 5000);
    for (int i = 0; i < MANY; i++) all[i] = (cand){logits[i], 0, i};
    qsort(all, MANY, sizeof *all, by_likelihood);
    for (size_t k = CUT_HEAP_MAX - 1; k < CUT_HEAP_MAX + 3; k++) {
        cand_set s = {.c = room};

        cut_gather(&s, logits, MANY, k);
        assert_int_equal(s.n, k);
        qsort(s.c, s.n, sizeof *s.c, by_likelihood);
        for (size_t i = 0; i < k; i++) assert_int_equal(s.c[i].id, all[i].id);
    }
}

static void test_greedy_takes_the_lowest_of_equals(void **state) {
    ew_sampler_options o = neutral();
    float logits[N] = {0};
    ew_sampler *s;

    (void)state;
    o.temperature = 0;
    o.mirostat = 2; /* greedy all the same */
    s = make(&o);
    logits[30] = logits[20] = logits[900] = 3;
    assert_int_equal(sample(s, logits), 20);
    logits[31] = 4;
    assert_int_equal(sample(s, logits), 31);
    ew_sampler_free(s);
}

static void test_mirostat_approaches_its_surprise(void **state) {
    ew_sampler_options o = neutral();
    float logits[N];
    ew_sampler *s;
    double sum = 0, mass = 0, max = -HUGE_VAL;

    (void)state;
    make_logits(logits, 6);
    o.mirostat = 2;
    o.mirostat_tau = 4;
    s = make(&o);
    for (int i = 0; i < N; i++) max = fmax(max, (double)logits[i]);
    for (int i = 0; i < N; i++) mass += exp((double)logits[i] - max);
    for (int i = 0; i < 4000; i++) {
        cand_set c;
        const int32_t id = sample(s, logits);

        assert_int_equal(sampler_candidates(s, logits, &c, NULL), EW_OK);
        (void)c;
        sum += -log2(exp((double)logits[id] - max) / mass);
    }
    /* Surprise is steered among the survivors, whose probabilities are a little larger. */
    assert_true(fabs(sum / 4000 - 4) < 0.5);
    ew_sampler_free(s);
}

/* ---- history -------------------------------------------------------------------------------- */

/* The window slides over its array many times; compared with counting anew. */
static void test_penalties_look_at_the_last_n(void **state) {
    static const int32_t last[] = {1, 5, 64, -1};
    float logits[N] = {0};
    int32_t past[500];
    rng r;

    (void)state;
    rng_seed(&r, 11);
    for (size_t w = 0; w < sizeof last / sizeof *last; w++) {
        ew_sampler_options o = neutral();
        ew_sampler *s;

        o.repeat_last_n = last[w];
        o.frequency_penalty = 0.25f;
        o.presence_penalty = 0.5f;
        s = make(&o);
        for (int i = 0; i < 500; i++) {
            cand_set c;
            int count[N] = {0};

            past[i] = (int32_t)(rng_next(&r) % 20);
            ew_sampler_accept(s, past[i]);
            if (i % 7) continue;
            for (int j = last[w] < 0 || i < last[w] ? 0 : i + 1 - last[w]; j <= i; j++) {
                count[past[j]]++;
            }
            assert_int_equal(sampler_candidates(s, logits, &c, NULL), EW_OK);
            for (size_t j = 0; j < c.n; j++) {
                const int k = count[c.c[j].id];
                const double want = exp(k ? -0.25 * k - 0.5 : 0.0) * (double)c.c[N - 1].p;

                assert_true(fabs((double)c.c[j].p - want) < 1e-5);
            }
        }
        ew_sampler_free(s);
    }
}

static void test_strange_ids_are_not_accepted(void **state) {
    ew_sampler_options o = neutral();
    float logits[N] = {0};
    ew_sampler *s;
    cand_set c;

    (void)state;
    o.presence_penalty = 1;
    o.dry_multiplier = 1;
    s = make(&o);
    ew_sampler_accept(s, -1);
    ew_sampler_accept(s, N);
    ew_sampler_accept(s, INT32_MAX);
    assert_int_equal(sampler_candidates(s, logits, &c, NULL), EW_OK);
    for (size_t i = 0; i < c.n; i++) assert_true(c.c[i].p == c.c[0].p);
    ew_sampler_free(s);
}

static double penalised(ew_sampler *s, const char *past, int32_t id) {
    float logits[N] = {0};
    cand_set c;

    ew_sampler_reset(s);
    for (; *past; past++) {
        ew_sampler_accept(s, *past == '\n' ? 26 : *past == '@' ? 27 : *past - 'a');
    }
    assert_int_equal(sampler_candidates(s, logits, &c, NULL), EW_OK);
    for (size_t i = 0; i < c.n; i++) {
        if (c.c[i].id == id) return -log((double)c.c[i].p / (double)c.c[N - 1].p);
    }
    return HUGE_VAL;
}

static void test_dry_grows_with_the_repeat(void **state) {
    ew_sampler_options o = neutral();
    ew_sampler *s;

    (void)state;
    o.dry_multiplier = 0.5f;
    o.dry_base = 2;
    s = make(&o);
    assert_true(fabs(penalised(s, "abcdefxa", 'b' - 'a')) < 1e-6);
    assert_true(fabs(penalised(s, "abcdefxab", 'c' - 'a') - 0.5) < 1e-6);
    assert_true(fabs(penalised(s, "abcdefxabc", 'd' - 'a') - 1) < 1e-6);
    assert_true(fabs(penalised(s, "abcdefxabcd", 'e' - 'a') - 2) < 1e-6);
    assert_true(fabs(penalised(s, "abc\nefxabc\n", 'e' - 'a')) < 1e-6);
    ew_sampler_free(s);
}

/* llama.cpp compares with the one way its tokenizer would cut the breaker; we with its text. */
static void test_dry_breaker_may_be_cut_anyhow(void **state) {
    static const char *const breakers[] = {"@@"};
    ew_sampler_options o = neutral();
    ew_sampler *s;

    (void)state;
    o.dry_multiplier = 0.5f;
    o.dry_base = 2;
    o.dry_breakers = breakers;
    o.n_dry_breaker = 1;
    s = make(&o);
    assert_true(fabs(penalised(s, "ab@cefxab@c", 'e' - 'a') - 2) < 1e-6);
    assert_true(fabs(penalised(s, "ab@@cefxab@@c", 'e' - 'a')) < 1e-6);
    ew_sampler_free(s);
}

/* Straight from the definition, on few letters so that everything repeats. */
static void test_dry_equals_its_definition(void **state) {
    ew_sampler_options o = neutral();
    ew_sampler *s;
    rng r;

    (void)state;
    rng_seed(&r, 12);
    o.dry_multiplier = 0.1f;
    o.dry_base = 1.1f;
    s = make(&o);
    for (int round = 0; round < 300; round++) {
        char past[41] = "";
        const int n = (int)(rng_next(&r) % 40);

        for (int i = 0; i < n; i++) past[i] = "aaabbc\n"[rng_next(&r) % 7];
        for (int32_t id = 0; id < 3; id++) {
            double want = 0;

            for (int k = 1; k < n; k++) { /* the repeat would go on at past[n - k] */
                int len = 0;

                if (past[n - k] != 'a' + id) continue;
                while (k + len < n && past[n - 1 - len] == past[n - 1 - k - len] &&
                       past[n - 1 - len] != '\n') {
                    len++;
                }
                if (len >= 2) want = fmax(want, 0.1 * pow(1.1, len - 2));
            }
            assert_true(fabs(penalised(s, past, id) - want) < 1e-5);
        }
    }
    ew_sampler_free(s);
}

static void test_whole_history_grows_and_loss_is_reported(void **state) {
    ew_sampler_options o = neutral();
    float logits[N] = {0};
    ew_sampler *s;
    ew_error err;
    int32_t id;

    (void)state;
    o.dry_multiplier = 1;
    s = make(&o);
    for (int i = 0; i < 20000; i++) ew_sampler_accept(s, i % 900);
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_OK);
    mem_fail_at(1);
    for (int i = 0; i < 20000; i++) ew_sampler_accept(s, i % 900);
    mem_fail_at(0);
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_ENOMEM);
    ew_sampler_reset(s);
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_OK);
    ew_sampler_free(s);
}

/* ---- strange logits ------------------------------------------------------------------------- */

static void every_chain(void (*fn)(const ew_sampler_options *o)) {
    ew_sampler_options o;

    ew_sampler_defaults(&o);
    o.seed = 1;
    fn(&o);
    o.temperature = 0;
    fn(&o);
    o = neutral();
    fn(&o);
    o.mirostat = 2;
    fn(&o);
    o = neutral();
    o.temperature = 1e-30f;
    fn(&o);
    o = neutral();
    o.temperature = 1e30f;
    o.top_k = 100;
    o.typical_p = 0;
    o.top_p = 0;
    o.min_p = 1;
    o.xtc_probability = 1;
    o.xtc_threshold = 0;
    o.repeat_last_n = -1;
    o.repeat_penalty = 1000;
    o.presence_penalty = FLT_MAX;
    o.frequency_penalty = FLT_MAX;
    o.dry_multiplier = FLT_MAX;
    o.dry_base = FLT_MAX;
    fn(&o);
}

static void check_nan(const ew_sampler_options *o) {
    ew_sampler *s = make(o);
    float logits[N];
    ew_error err;
    int32_t id;

    for (int i = 0; i < N; i++) logits[i] = i % 3 ? NAN : -INFINITY;
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_EFORMAT);
    assert_int_equal(id, -1);
    assert_string_equal(err.text, "none of the 1000 logits is a finite number");
    logits[500] = -FLT_MAX;
    logits[501] = -1e9f;
    for (int i = 0; i < 50; i++) {
        id = sample(s, logits);
        assert_true(id == 500 || id == 501);
        ew_sampler_accept(s, id);
    }
    logits[501] = INFINITY;
    logits[502] = FLT_MAX;
    for (int i = 0; i < 50; i++) {
        id = sample(s, logits);
        assert_true(id >= 500 && id <= 502);
        ew_sampler_accept(s, id);
    }
    ew_sampler_free(s);
}

static void test_nan_is_never_chosen(void **state) {
    (void)state;
    every_chain(check_nan);
}

static void check_no_allocation(const ew_sampler_options *o) {
    ew_sampler *s = make(o);
    float logits[N];
    long before;

    make_logits(logits, 13);
    before = mem_count();
    for (int i = 0; i < 3000; i++) ew_sampler_accept(s, sample(s, logits));
    assert_int_equal(mem_count(), before);
    ew_sampler_free(s);
}

static void test_sampling_allocates_nothing(void **state) {
    (void)state;
    every_chain(check_no_allocation);
}

/* ---- options -------------------------------------------------------------------------------- */

static void test_forbidden_tokens_are_never_chosen(void **state) {
    const ew_logit_bias bias[] = {{8, -INFINITY}, {9, 2}, {9, 3}, {EOG, 100}};
    ew_sampler_options o = neutral();
    float logits[N];
    ew_sampler *s;
    int32_t id;
    ew_error err;

    (void)state;
    for (int i = 0; i < N; i++) logits[i] = -INFINITY;
    logits[8] = 9;
    logits[9] = 1;
    logits[10] = 3;
    logits[EOG] = 5;
    o.bias = bias;
    o.n_bias = 4;
    o.ignore_eos = true;
    o.temperature = 0;
    s = make(&o);
    assert_int_equal(sample(s, logits), 9); /* both biases of 9 count */
    logits[9] = logits[10] = -INFINITY;
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_EINVAL);
    ew_sampler_free(s);
    o.ignore_eos = false;
    s = make(&o);
    assert_int_equal(sample(s, logits), EOG);
    ew_sampler_free(s);
}

static void expect_refusal(const ew_sampler_options *o, const char *text) {
    ew_sampler *s = (ew_sampler *)&budget;
    ew_error err;

    assert_int_equal(sampler_new(&s, &vocab, &budget, o, &err), EW_EINVAL);
    assert_null(s);
    assert_string_equal(err.text, text);
}

static void test_options_out_of_range_are_named(void **state) {
    const ew_logit_bias far = {N, 1}, nan_bias = {1, NAN};
    ew_sampler_options o;

#define REFUSE(member, value, text) \
 o = neutral();                     \
 o.member = value;                  \
 expect_refusal(&o, "sampler option " #member " is " text)

    (void)state;
    REFUSE(temperature, -0.5f, "-0.5, must be at least 0");
    REFUSE(temperature, INFINITY, "inf, must be at least 0");
    REFUSE(temperature, NAN, "nan, must be at least 0");
    REFUSE(top_k, -1, "-1, must be from 0 to 2147483647");
    REFUSE(top_p, 1.5f, "1.5, must be from 0 to 1");
    REFUSE(top_p, NAN, "nan, must be from 0 to 1");
    REFUSE(min_p, -0.1f, "-0.1, must be from 0 to 1");
    REFUSE(typical_p, 2, "2, must be from 0 to 1");
    REFUSE(repeat_last_n, -2, "-2, must be from -1 to 1048576");
    REFUSE(repeat_penalty, 0, "0, must be from 0.001 to 1000");
    REFUSE(frequency_penalty, INFINITY, "inf, must be a finite number");
    REFUSE(presence_penalty, NAN, "nan, must be a finite number");
    REFUSE(dry_multiplier, -1, "-1, must be at least 0");
    REFUSE(dry_base, 0.5f, "0.5, must be at least 1");
    REFUSE(dry_allowed_length, -1, "-1, must be from 0 to 2147483647");
    REFUSE(dry_last_n, 1 << 21, "2097152, must be from -1 to 1048576");
    REFUSE(xtc_probability, 1.1f, "1.1, must be from 0 to 1");
    REFUSE(xtc_threshold, -1, "-1, must be from 0 to 1");
    REFUSE(mirostat, 1, "1, must be 0 or 2");
    REFUSE(mirostat_tau, -1, "-1, must be at least 0");
    REFUSE(mirostat_eta, NAN, "nan, must be at least 0");
#undef REFUSE
    o = neutral();
    o.bias = &far;
    o.n_bias = 1;
    expect_refusal(&o, "logit bias 0 is of token 1000, the vocabulary has 1000");
    o.bias = &nan_bias;
    expect_refusal(&o, "logit bias of token 1 is nan, must be a finite number or -inf");
}

static void test_shorter_options_keep_the_other_defaults(void **state) {
    ew_sampler_options o;
    float logits[N] = {0};
    ew_sampler *s;
    cand_set c;

    (void)state;
    memset(&o, 0xFF, sizeof o);
    o.size = offsetof(ew_sampler_options, top_k);
    o.temperature = 1;
    s = make(&o);
    assert_int_equal(sampler_candidates(s, logits, &c, NULL), EW_OK);
    assert_int_equal(c.n, 36); /* 0.9 of 40 equal ones */
    ew_sampler_free(s);
    o.size = sizeof o + 8;
    assert_int_equal(sampler_new(&s, &vocab, &budget, &o, NULL), EW_EINVAL);
    o.size = 0;
    assert_int_equal(sampler_new(&s, &vocab, &budget, &o, NULL), EW_EINVAL);
}

static void test_defaults_are_ollamas(void **state) {
    ew_sampler_options o;
    float logits[N];
    ew_sampler *a, *b;

    (void)state;
    ew_sampler_defaults(&o);
    assert_true(o.temperature == 0.8f && o.top_k == 40 && o.top_p == 0.9f && o.min_p == 0);
    assert_true(o.typical_p == 1 && o.repeat_last_n == 64 && o.repeat_penalty == 1);
    make_logits(logits, 14);
    a = make(NULL);
    o.seed = ew_sampler_seed(a);
    b = make(&o);
    for (int i = 0; i < 20; i++) assert_int_equal(sample(a, logits), sample(b, logits));
    ew_sampler_free(a);
    ew_sampler_free(b);
}

static void test_no_allocation_failure_leaks(void **state) {
    ew_sampler_options o = neutral();
    ew_logit_bias bias = {1, 1};
    ew_sampler *s;
    long n = 1;

    (void)state;
    o.repeat_penalty = 1.1f;
    o.dry_multiplier = 1;
    o.bias = &bias;
    o.n_bias = 1;
    for (;; n++) {
        ew_status rc;

        mem_fail_at(n);
        rc = sampler_new(&s, &vocab, &budget, &o, NULL);
        mem_fail_at(0);
        if (rc == EW_OK) break;
        assert_int_equal(rc, EW_ENOMEM);
        assert_null(s);
        assert_int_equal(mem_live(), 0);
        assert_int_equal(budget.total, 0);
    }
    assert_true(n > 6);
    assert_true(budget.used[EW_MEM_SCRATCH] > 0);
    ew_sampler_free(s);
}

static void test_budget_is_kept(void **state) {
    mem_budget small;
    ew_sampler *s;
    ew_error err;

    (void)state;
    mem_budget_init(&small, 1000);
    assert_int_equal(sampler_new(&s, &vocab, &small, NULL, &err), EW_ENOMEM);
    assert_null(s);
    mem_budget_fini(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_numbers_are_the_published_ones),
        cmocka_unit_test(test_same_seed_same_choices),
        cmocka_unit_test(test_choices_of_a_seed_stay),
        cmocka_unit_test(test_reset_starts_again),
        cmocka_unit_test(test_seed_of_the_clock_is_told_and_works),
        cmocka_unit_test(test_choices_follow_the_probabilities),
        cmocka_unit_test(test_softmax_is_accurate),
        cmocka_unit_test(test_draw_runs_from_the_most_likely_down),
        cmocka_unit_test(test_xtc_probability_is_met),
        cmocka_unit_test(test_top_k_and_top_p_keep_what_sorting_would),
        cmocka_unit_test(test_large_top_k_is_exact),
        cmocka_unit_test(test_greedy_takes_the_lowest_of_equals),
        cmocka_unit_test(test_mirostat_approaches_its_surprise),
        cmocka_unit_test(test_penalties_look_at_the_last_n),
        cmocka_unit_test(test_strange_ids_are_not_accepted),
        cmocka_unit_test(test_dry_grows_with_the_repeat),
        cmocka_unit_test(test_dry_breaker_may_be_cut_anyhow),
        cmocka_unit_test(test_dry_equals_its_definition),
        cmocka_unit_test(test_whole_history_grows_and_loss_is_reported),
        cmocka_unit_test(test_nan_is_never_chosen),
        cmocka_unit_test(test_sampling_allocates_nothing),
        cmocka_unit_test(test_forbidden_tokens_are_never_chosen),
        cmocka_unit_test(test_options_out_of_range_are_named),
        cmocka_unit_test(test_shorter_options_keep_the_other_defaults),
        cmocka_unit_test(test_defaults_are_ollamas),
        cmocka_unit_test(test_no_allocation_failure_leaks),
        cmocka_unit_test(test_budget_is_kept),
    };

    return cmocka_run_group_tests_name("sampler", tests, set_up, tear_down);
}
