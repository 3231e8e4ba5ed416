/* SPDX-License-Identifier: MIT */
#include "run/cut.h"

#include "kernels/exp.h"
#include "run/random.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const double LN2 = 0.69314718055994530942;

static bool is_worse(const cand *a, const cand *b) {
    return a->x < b->x || (a->x == b->x && a->id > b->id);
}

/* Restores a heap with the worst candidate on top after c[i] became better. */
static void sift_down(cand *c, size_t n, size_t i) {
    const cand moved = c[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_worse(&c[child + 1], &c[child])) child++;
        if (!is_worse(&c[child], &moved)) break;
        c[i] = c[child];
    }
    c[i] = moved;
}

/* One pass with the k best so far in a heap. Almost every logit fails the first comparison, which
 * makes this several times faster than a selection that moves all candidates. */
static void gather_heap(cand_set *s, const float *logits, size_t n, size_t k) {
    size_t i = 0;
    float bar;

    s->n = 0;
    for (; i < n && s->n < k; i++) {
        if (logits[i] > -INFINITY) s->c[s->n++] = (cand){logits[i], 0, (int32_t)i};
    }
    if (!s->n) return;
    for (size_t j = s->n / 2; j-- > 0;) sift_down(s->c, s->n, j);
    bar = s->c[0].x;
    for (; i < n; i++) {
        if (!(logits[i] > bar)) continue; /* of equals the earlier one stays */
        s->c[0] = (cand){logits[i], 0, (int32_t)i};
        sift_down(s->c, s->n, 0);
        bar = s->c[0].x;
    }
}

static int by_rank(const void *a, const void *b) {
    const cand *x = a, *y = b;

    return is_worse(x, y) ? 1 : is_worse(y, x) ? -1 : 0;
}

void cut_order(cand_set *s) {
    if (s->n) qsort(s->c, s->n, sizeof *s->c, by_rank);
}

/* Better candidates are nearer to the centre: the largest x for "most likely", the mean of x for
 * "most typical". A total order: equal distances go by x, equal x by id. */
static bool is_nearer(const cand *a, const cand *b, double centre) {
    const double da = fabs((double)a->x - centre), db = fabs((double)b->x - centre);

    return (da < db) | ((da == db) & ((a->x > b->x) | ((a->x == b->x) & (a->id < b->id))));
}

/* Three places of [lo, hi) and the middle one of their candidates. Places at random, since logits
 * that rise and fall in order, which models do give, would make any fixed choice quadratic. */
static size_t pivot_of(const cand *c, size_t lo, size_t hi, double centre, uint64_t *random) {
    size_t at[3];

    for (int i = 0; i < 3; i++) at[i] = lo + (size_t)(splitmix64(random) % (hi - lo));
    if (is_nearer(&c[at[1]], &c[at[0]], centre)) {
        const size_t t = at[0];

        at[0] = at[1];
        at[1] = t;
    }
    if (is_nearer(&c[at[1]], &c[at[2]], centre)) return at[1];
    return is_nearer(&c[at[2]], &c[at[0]], centre) ? at[0] : at[2];
}

/* Parts c[lo, hi) around c[at], which goes where it belongs; returns that place. */
static size_t part(cand *c, size_t lo, size_t hi, size_t at, double centre) {
    const size_t last = hi - 1;
    const cand pivot = c[at];

    c[at] = c[last];
    c[last] = pivot;
    at = lo;
    for (size_t i = lo; i < last; i++) {
        const cand here = c[i];

        /* Swaps always and moves the border or not: no branch to be mispredicted. */
        c[i] = c[at];
        c[at] = here;
        at += is_nearer(&here, &pivot, centre);
    }
    c[last] = c[at];
    c[at] = pivot;
    return at;
}

/* Brings the nearest candidates to the front, as few as reach the target (a number of candidates,
 * or of mass when by_mass), and keeps those. The farthest of them is the last, the others are in
 * any order. */
static void keep_nearest(cand_set *s, double centre, bool by_mass, double target) {
    uint64_t random = s->n;
    size_t lo = 0, hi = s->n; /* c[0, lo) is kept, c[hi, n) is not, the border lies between */

    if (!(target > 0)) target = DBL_MIN; /* one at least */
    while (lo < hi) {
        const size_t mid = part(s->c, lo, hi, pivot_of(s->c, lo, hi, centre, &random), centre);
        double sum = 0;

        for (size_t i = lo; i < mid; i++) sum += by_mass ? (double)s->c[i].p : 1.0;
        if (sum >= target) {
            hi = mid;
            continue;
        }
        target -= sum + (by_mass ? (double)s->c[mid].p : 1.0);
        lo = mid + 1;
        if (target <= 0) break;
    }
    s->n = lo;
}

static void sum_up(cand_set *s) {
    s->mass = 0;
    for (size_t i = 0; i < s->n; i++) s->mass += (double)s->c[i].p;
}

static float largest(const cand_set *s) {
    float x = s->c[0].x;

    for (size_t i = 1; i < s->n; i++) {
        if (s->c[i].x > x) x = s->c[i].x;
    }
    return x;
}

void cut_gather(cand_set *s, const float *logits, size_t n, size_t top_k) {
    s->mass = 0;
    if (top_k && top_k <= CUT_HEAP_MAX) {
        gather_heap(s, logits, n, top_k);
        return;
    }
    s->n = 0;
    for (size_t i = 0; i < n; i++) {
        s->c[s->n] = (cand){logits[i], 0, (int32_t)i};
        s->n += logits[i] > -INFINITY;
    }
    if (top_k && top_k < s->n) keep_nearest(s, (double)largest(s), false, (double)top_k);
}

void cut_softmax(cand_set *s, float temperature) {
    const double max = (double)largest(s), t = (double)temperature;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const float x = (float)(((double)s->c[i].x - max) / t);
        const float p = exp_f32(x);

        s->c[n] = (cand){x, p, s->c[i].id};
        n += p > 0;
    }
    s->n = n;
    sum_up(s);
}

/* The surprise of a candidate is log(mass) - x, its mean log(mass) - mean(x): the distance between
 * the two is |x - mean(x)|. */
void cut_typical(cand_set *s, double p) {
    double mean = 0;

    if (p >= 1) return;
    for (size_t i = 0; i < s->n; i++) mean += (double)s->c[i].p * (double)s->c[i].x;
    mean /= s->mass;
    keep_nearest(s, mean, true, nextafter(p * s->mass, HUGE_VAL)); /* more than p, not p */
    sum_up(s);
}

static void keep_likely(cand_set *s, double p_min) {
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        s->c[n] = s->c[i];
        n += (double)s->c[i].p >= p_min;
    }
    s->n = n;
}

void cut_top_p(cand_set *s, double p) {
    const double mass = s->mass;

    if (p >= 1) return;
    /* What is less likely than 1 / n of the mass to be cut is cut in any case. */
    keep_likely(s, (1 - p) * mass / (double)s->n);
    keep_nearest(s, (double)largest(s), true, p * mass);
    sum_up(s);
}

static void keep_from(cand_set *s, float x_min) {
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->c[i].x >= x_min) s->c[n++] = s->c[i];
    }
    s->n = n;
    sum_up(s);
}

void cut_min_p(cand_set *s, double p) {
    if (p <= 0) return;
    keep_from(s, (float)((double)largest(s) + log(p)));
}

void cut_xtc(cand_set *s, double threshold) {
    const double bar = threshold * s->mass;
    const cand *least = NULL;
    cand kept;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        if ((double)s->c[i].p < bar) continue;
        if (!least || is_worse(&s->c[i], least)) least = &s->c[i];
    }
    if (!least) return;
    kept = *least;
    for (size_t i = 0; i < s->n; i++) {
        if ((double)s->c[i].p < bar || s->c[i].id == kept.id) s->c[n++] = s->c[i];
    }
    s->n = n;
    sum_up(s);
}

void cut_mirostat(cand_set *s, double mu) {
    const double x_min = log(s->mass) - mu * LN2, max = (double)largest(s);

    keep_from(s, (float)(x_min < max ? x_min : max));
}

cand cut_choose(cand_set *s, double u) {
    keep_nearest(s, (double)largest(s), true, u * s->mass);
    return s->c[s->n - 1];
}

double mirostat_next(double mu, double tau, double eta, double p) {
    return mu - eta * (-log2(p) - tau);
}
