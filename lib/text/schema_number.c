/* SPDX-License-Identifier: MIT
 *
 * Numbers within limits, digit by digit. Numbers without limits have up to 15 digits, which a
 * double holds exactly, so that no model writes digits for ever. */
#include "text/schema.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define UNLIMITED_MAX 999999999999999 /* INT_DIGITS nines */

static expr digit(grammar_expr *g, char lo, char hi) {
    const char_range range = {(uint8_t)lo, (uint8_t)hi};

    return lo <= hi ? expr_set(g, &range, 1, false) : expr_never(g);
}

static expr digits(grammar_expr *g, uint32_t min, uint32_t max) {
    return expr_repeat(g, digit(g, '0', '9'), min, max);
}

/* ---- integers ------------------------------------------------------------------------------- */

static bool is_all(const char *s, char c) {
    return strspn(s, (char[]){c, 0}) == strlen(s);
}

/* Texts of as many digits as lo and hi have, from lo to hi. */
static expr same_length(grammar_expr *g, const char *lo, const char *hi) {
    const uint32_t rest = (uint32_t)strlen(lo) - 1;
    char from = *lo, to = *hi, nines[24] = "", zeros[24] = "";
    expr part[3];
    size_t n = 0;

    if (!rest) return digit(g, from, to);
    if (from == to) return expr_seq_of(g, 2, digit(g, from, to), same_length(g, lo + 1, hi + 1));
    memset(nines, '9', rest);
    memset(zeros, '0', rest);
    if (!is_all(lo + 1, '0'))
        part[n++] = expr_seq_of(g, 2, digit(g, from, from), same_length(g, lo + 1, nines)), from++;
    if (!is_all(hi + 1, '9'))
        part[n++] = expr_seq_of(g, 2, digit(g, to, to), same_length(g, zeros, hi + 1)), to--;
    if (from <= to) part[n++] = expr_seq_of(g, 2, digit(g, from, to), digits(g, rest, rest));
    return expr_alt(g, part, n);
}

/* Whole numbers from lo to hi without leading zeros. */
static expr natural(grammar_expr *g, uint64_t lo, uint64_t hi) {
    expr part[24];
    size_t n = 0;

    if (lo > hi) return expr_never(g);
    if (lo <= 1 && hi == UNLIMITED_MAX) {
        part[n++] = expr_seq_of(g, 2, digit(g, '1', '9'), digits(g, 0, INT_DIGITS - 1));
        if (!lo) part[n++] = expr_lit(g, "0");
        return expr_alt(g, part, n);
    }
    for (;;) {
        char from[24], to[24];
        uint64_t last = 9;

        while (last < lo && last < UINT64_MAX / 10) last = last * 10 + 9;
        if (last < lo || last > hi) last = hi;
        snprintf(from, sizeof from, "%" PRIu64, lo);
        snprintf(to, sizeof to, "%" PRIu64, last);
        part[n++] = same_length(g, from, to);
        if (last == hi) return expr_alt(g, part, n);
        lo = last + 1;
    }
}

static uint64_t magnitude(int64_t v) {
    return v < 0 ? (uint64_t) - (v + 1) + 1 : (uint64_t)v;
}

static expr integer(grammar_expr *g, int64_t lo, int64_t hi) {
    expr part[2];
    size_t n = 0;

    if (lo > hi) return expr_never(g);
    if (lo < 0)
        part[n++] = expr_seq_of(g, 2, expr_lit(g, "-"),
                                natural(g, hi < 0 ? magnitude(hi) : 1, magnitude(lo)));
    if (hi >= 0) part[n++] = natural(g, lo > 0 ? (uint64_t)lo : 0, (uint64_t)hi);
    return expr_alt(g, part, n);
}

static const json_t *bound_json(const number_bound *b, bool is_min) {
    const char *plain = is_min ? "minimum" : "maximum";
    const char *strict = is_min ? "exclusiveMinimum" : "exclusiveMaximum";

    return json_object_get(b->schema, b->is_exclusive ? strict : plain);
}

/* The bound as the nearest integer inside it. */
static int64_t integer_bound(const number_bound *b, bool is_min) {
    const json_t *v = bound_json(b, is_min);
    double x;

    if (json_is_integer(v)) {
        const int64_t i = json_integer_value(v);

        if (!b->is_exclusive) return i;
        if (is_min) return i < INT64_MAX ? i + 1 : i;
        return i > INT64_MIN ? i - 1 : i;
    }
    x = is_min ? ceil(b->value) : floor(b->value);
    if (b->is_exclusive && x == b->value) x += is_min ? 1 : -1;
    return (int64_t)x;
}

static expr integer_of_facts(schema_reader *r, const schema_facts *f) {
    int64_t lo = -UNLIMITED_MAX, hi = UNLIMITED_MAX;

    if (f->min.is_set) lo = integer_bound(&f->min, true);
    if (f->max.is_set) hi = integer_bound(&f->max, false);
    if (!f->min.is_set && hi < -(UNLIMITED_MAX / 10)) lo = INT64_MIN + 1;
    if (!f->max.is_set && lo > UNLIMITED_MAX / 10) hi = INT64_MAX;
    return integer(&r->g, lo, hi);
}

/* ---- decimals ------------------------------------------------------------------------------- */

/* A number from 0 up as its digits. */
typedef struct {
    uint64_t whole;
    char fraction[40]; /* without zeros at the end */
    bool is_exclusive, is_set;
} decimal;

/* The shortest decimal of the bound; false when its digits are too many. */
static bool decimal_of(const number_bound *b, decimal *d) {
    char text[64];
    char *dot, *end;

    *d = (decimal){.is_exclusive = b->is_exclusive, .is_set = b->is_set};
    if (!b->is_set) return true;
    for (int n = 0; n <= FRACTION_DIGITS; n++) {
        snprintf(text, sizeof text, "%.*f", n, fabs(b->value));
        if (strtod(text, NULL) == fabs(b->value)) break;
        if (n == FRACTION_DIGITS) return false;
    }
    d->whole = strtoull(text, &dot, 10);
    if (d->whole > UNLIMITED_MAX) return false;
    if (*dot) snprintf(d->fraction, sizeof d->fraction, "%s", dot + 1);
    end = d->fraction + strlen(d->fraction);
    while (end > d->fraction && end[-1] == '0') *--end = 0;
    return true;
}

/* Limits while the digits of a fraction are chosen: those still equal to a bound's so far. */
typedef struct {
    const decimal *lo, *hi; /* NULL: that side is free */
} sides;

static char digit_at(const decimal *d, uint32_t i) {
    return i < strlen(d->fraction) ? d->fraction[i] : '0';
}

static bool has_rest(const decimal *d, uint32_t i) {
    return i < strlen(d->fraction);
}

/* May the number end after i digits of its fraction? */
static bool may_stop(sides s, uint32_t i) {
    if (s.lo && (has_rest(s.lo, i) || s.lo->is_exclusive)) return false;
    return !(s.hi && !has_rest(s.hi, i) && s.hi->is_exclusive);
}

/* One or more digits after the i that are there. */
static expr fraction_digits(grammar_expr *g, uint32_t i, sides s) {
    char from = '0', to = '9';
    expr part[3];
    size_t n = 0;

    if (i >= FRACTION_DIGITS) return expr_never(g);
    if (s.lo && !has_rest(s.lo, i) && !s.lo->is_exclusive) s.lo = NULL;
    if (!s.lo && !s.hi) return digits(g, 1, FRACTION_DIGITS - i);
    if (s.lo) from = digit_at(s.lo, i);
    if (s.hi) to = digit_at(s.hi, i);
    for (int side = 0; side < 2; side++) {
        const bool both = from == to && s.lo && s.hi;
        const char d = side ? to : from;
        const sides tight = {both || !side ? s.lo : NULL, both || side ? s.hi : NULL};
        expr more;

        if (side ? !s.hi || both : !s.lo) continue;
        more = fraction_digits(g, i + 1, tight);
        if (may_stop(tight, i + 1)) more = expr_optional(g, more);
        part[n++] = expr_seq_of(g, 2, digit(g, d, d), more);
    }
    from = (char)(from + (s.lo != NULL));
    to = (char)(to - (s.hi != NULL));
    if (from <= to)
        part[n++] = expr_seq_of(g, 2, digit(g, from, to), digits(g, 0, FRACTION_DIGITS - 1 - i));
    return expr_alt(g, part, n);
}

/* A fraction, or none, after a whole number that equals the bounds' that are given. */
static expr fraction(grammar_expr *g, const decimal *lo, const decimal *hi) {
    const sides s = {lo, hi};
    const expr some = expr_seq_of(g, 2, expr_lit(g, "."), fraction_digits(g, 0, s));

    return may_stop(s, 0) ? expr_optional(g, some) : some;
}

/* Numbers from 0 up between two bounds. */
static expr between(grammar_expr *g, const decimal *lo, const decimal *hi) {
    expr part[3];
    size_t n = 0;

    if (lo->whole > hi->whole) return expr_never(g);
    if (lo->whole == hi->whole)
        return expr_seq_of(g, 2, natural(g, lo->whole, lo->whole), fraction(g, lo, hi));
    part[n++] = expr_seq_of(g, 2, natural(g, lo->whole, lo->whole), fraction(g, lo, NULL));
    part[n++] = expr_seq_of(g, 2, natural(g, hi->whole, hi->whole), fraction(g, NULL, hi));
    if (hi->whole - lo->whole > 1)
        part[n++] =
            expr_seq_of(g, 2, natural(g, lo->whole + 1, hi->whole - 1), fraction(g, NULL, NULL));
    return expr_alt(g, part, n);
}

static expr bounded_number(schema_reader *r, const schema_facts *f) {
    const decimal zero = {.is_set = true}, top = {.whole = UNLIMITED_MAX, .is_set = true};
    const bool lo_below = !f->min.is_set || f->min.value < 0;
    const bool hi_above = !f->max.is_set || f->max.value >= 0;
    grammar_expr *g = &r->g;
    decimal lo, hi;
    expr part[2];
    size_t n = 0;

    if (!decimal_of(&f->min, &lo) || !decimal_of(&f->max, &hi)) {
        schema_refuse(r, f->min.is_set ? f->min.schema : f->max.schema, EW_EUNSUPPORTED, "",
                      "a limit of a number has more than 15 digits");
        return 0;
    }
    if (lo_below) {
        decimal from = hi;

        if (hi_above) from = (decimal){.is_exclusive = true, .is_set = true}; /* no -0 */
        part[n++] = expr_seq_of(g, 2, expr_lit(g, "-"), between(g, &from, lo.is_set ? &lo : &top));
    }
    if (hi_above) part[n++] = between(g, lo_below ? &zero : &lo, hi.is_set ? &hi : &top);
    return expr_alt(g, part, n);
}

static expr any_number(schema_reader *r) {
    static const char_range e[] = {{'e', 'e'}, {'E', 'E'}}, sign[] = {{'+', '+'}, {'-', '-'}};
    grammar_expr *g = &r->g;

    if (r->number < 0) {
        const expr fraction_part =
            expr_optional(g, expr_seq_of(g, 2, expr_lit(g, "."), digits(g, 1, FRACTION_DIGITS)));
        const expr exponent = expr_optional(
            g, expr_seq_of(g, 3, expr_set(g, e, 2, false),
                           expr_optional(g, expr_set(g, sign, 2, false)), digits(g, 1, 2)));

        r->number = expr_rule_new(g);
        expr_define(g, r->number,
                    expr_seq_of(g, 4, expr_optional(g, expr_lit(g, "-")),
                                natural(g, 0, UNLIMITED_MAX), fraction_part, exponent));
    }
    return expr_rule(g, r->number);
}

/* Formats of numbers that OpenAPI has; those of strings say nothing of numbers. */
static bool check_format(schema_reader *r, const schema_facts *f) {
    static const char *const silent[] = {"int64", "float", "double"};
    const char *name;

    if (!f->format_at || f->types & TYPE_STRING) return true;
    name = json_string_value(json_object_get(f->format_at, "format"));
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(name, silent[i])) return true;
    return schema_refuse(r, f->format_at, EW_EUNSUPPORTED, "format",
                         "this format is not supported");
}

expr number_of_facts(schema_reader *r, const schema_facts *f) {
    if (!check_format(r, f)) return 0;
    if (!(f->types & TYPE_REAL)) return integer_of_facts(r, f);
    return f->min.is_set || f->max.is_set ? bounded_number(r, f) : any_number(r);
}
