/* SPDX-License-Identifier: MIT
 *
 * Python's two ways to fill a string: "%5.2f" % x and "{:>5}".format(x). */
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

#include <math.h>
#include <stdio.h>

enum {
    WIDTH_MAX = 1000 /* of a field: more is a mistake or worse */
};

/* One field: how a value is written. */
typedef struct {
    char fill, align, sign, type; /* 0: not given */
    bool is_alt, is_zero, is_grouped;
    int width, precision; /* -1: not given */
} field;

static int number_at(str s, size_t *at) {
    int v = 0;

    if (*at >= s.n || s.p[*at] < '0' || s.p[*at] > '9') return -1;
    for (; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9'; ++*at)
        if (v <= WIDTH_MAX) v = v * 10 + (s.p[*at] - '0');
    return v;
}

static void check(jrun *r, const field *f) {
    if (f->width > WIDTH_MAX || f->precision > WIDTH_MAX)
        jfail(r, EW_EINVAL, "a field wider than %d characters", WIDTH_MAX);
}

/* Text in its field. */
static void put_padded(jrun *r, jbuf *b, const field *f, const jstr *s, char align) {
    const int more = f->width - (int)jchar_count(s->s);
    const int left = align == '<' ? 0 : align == '^' ? more / 2 : more;
    const char fill[2] = {f->fill ? f->fill : ' ', 0};

    for (int i = 0; i < left; i++) jbuf_puts(r, b, fill);
    jbuf_str(r, b, s);
    for (int i = left < 0 ? 0 : left; i < more; i++) jbuf_puts(r, b, fill);
}

static void put_str(jrun *r, jbuf *b, const field *f, jvalue v, char align) {
    jstr s = *jneed_str(r, v, "the value");

    if (f->precision >= 0) s.s.n = jchar_offset(s.s, (size_t)f->precision);
    put_padded(r, b, f, &s, align);
}

/* Commas between groups of three digits. */
static void group(jrun *r, jbuf *b, const char *text) {
    const size_t sign = text[0] == '-' || text[0] == '+';
    const size_t n = strspn(text + sign, "0123456789");

    jbuf_add(r, b, text, sign, NULL);
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) jbuf_puts(r, b, ",");
        jbuf_add(r, b, text + sign + i, 1, NULL);
    }
    jbuf_puts(r, b, text + sign + n);
}

static void put_number_text(jrun *r, jbuf *b, const field *f, const char *text, char align) {
    jbuf own = {0};
    jvalue v;

    if (f->sign && text[0] != '-') jbuf_puts(r, &own, (char[]){f->sign, 0});
    if (f->is_zero && !align) { /* zeros between sign and digits */
        const int n = (int)strlen(text) + (own.n != 0);

        if (text[0] == '-') jbuf_puts(r, &own, "-");
        for (int i = n; i < f->width; i++) jbuf_puts(r, &own, "0");
        text += text[0] == '-';
    }
    if (f->is_grouped)
        group(r, &own, text);
    else
        jbuf_puts(r, &own, text);
    v = jbuf_value(r, &own);
    if (!r->rc) put_padded(r, b, f, v.u.s, align ? align : '>');
}

static void put_int(jrun *r, jbuf *b, const field *f, int64_t i, char align) {
    const char type = f->type == 'i' || f->type == 'u' || !f->type ? 'd' : f->type;
    const unsigned long long u = i < 0 ? 0 - (unsigned long long)i : (unsigned long long)i;
    char digits[32], text[40];

    snprintf(digits, sizeof digits,
             type == 'x'   ? "%llx"
             : type == 'X' ? "%llX"
             : type == 'o' ? "%llo"
                           : "%llu",
             u);
    snprintf(text, sizeof text, "%s%s%s", i < 0 ? "-" : "",
             !f->is_alt    ? ""
             : type == 'o' ? "0o"
             : type == 'x' ? "0x"
             : type == 'X' ? "0X"
                           : "",
             digits);
    put_number_text(r, b, f, text, align);
}

static void put_float(jrun *r, jbuf *b, const field *f, double v, char align) {
    const int precision = f->precision < 0 ? 6 : f->precision > 60 ? 60 : f->precision;
    char text[400];

    switch (f->type) {
    case 'e':
        snprintf(text, sizeof text, "%.*e", precision, v);
        break;
    case 'E':
        snprintf(text, sizeof text, "%.*E", precision, v);
        break;
    case 'g':
        snprintf(text, sizeof text, "%.*g", precision, v);
        break;
    case 'G':
        snprintf(text, sizeof text, "%.*G", precision, v);
        break;
    case '%':
        snprintf(text, sizeof text, "%.*f%%", precision, v * 100);
        break;
    default:
        snprintf(text, sizeof text, "%.*f", precision, v);
        break;
    }
    put_number_text(r, b, f, text, align);
}

/* ---- percent -------------------------------------------------------------------------------- */

/* The field after "%" at s.p[*at]. */
static field percent_field(jrun *r, str s, size_t *at) {
    field f = {.precision = -1};

    for (; *at < s.n && strchr("-+ #0", s.p[*at]) && s.p[*at]; ++*at) {
        const char c = s.p[*at];

        if (c == '-') f.align = '<';
        if (c == '+' || (c == ' ' && !f.sign)) f.sign = c;
        if (c == '#') f.is_alt = true;
        if (c == '0') f.is_zero = true;
    }
    f.width = number_at(s, at);
    if (*at < s.n && s.p[*at] == '.') {
        ++*at;
        f.precision = number_at(s, at);
        if (f.precision < 0) f.precision = 0;
    }
    while (*at < s.n && (s.p[*at] == 'l' || s.p[*at] == 'h')) ++*at;
    f.type = *at < s.n ? s.p[(*at)++] : 0;
    check(r, &f);
    return f;
}

static void percent_value(jrun *r, jbuf *b, const field *f, jvalue v) {
    jbuf own = {0};
    int64_t i;

    switch (f->type) {
    case 's':
        put_str(r, b, f, jtext(r, v), f->align ? f->align : '>');
        break;
    case 'r':
    case 'a':
        jrepr(r, &own, v);
        put_str(r, b, f, jbuf_value(r, &own), f->align ? f->align : '>');
        break;
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        if (jto_int(v, &i))
            put_int(r, b, f, i, f->align);
        else if (v.kind != JV_FLOAT || strchr("xXo", f->type))
            jfail(r, EW_EINVAL, "%%%c format: a number is required, not %s", f->type, jtype(v));
        else if (fabs(v.u.f) < 9e18)
            put_int(r, b, f, (int64_t)v.u.f, f->align);
        else
            jfail(r, EW_EUNSUPPORTED, "integers beyond 64 bits are not supported");
        break;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
        if (jis_number(v))
            put_float(r, b, f, jto_double(v), f->align);
        else
            jfail(r, EW_EINVAL, "must be real number, not %s", jtype(v));
        break;
    default:
        jfail(r, EW_EUNSUPPORTED, "the format character '%c' is not supported", f->type);
        break;
    }
}

/* The value for the next field: by name after "%(name)", or the next of the tuple. */
static jvalue percent_next(jrun *r, str s, size_t *at, jvalue args, size_t *used) {
    const bool is_tuple = args.kind == JV_LIST && args.u.list->kind == SEQ_TUPLE;
    const size_t i = (*used)++;

    if (*at < s.n && s.p[*at] == '(') {
        const size_t end = jchar_find(s, str_of(")"), *at);
        const jvalue key = end <= s.n ? jstr_value(r, (str){s.p + *at + 1, end - *at - 1}, NULL)
                                      : jfail(r, EW_EINVAL, "incomplete format key");
        const jvalue v = r->rc ? key : jitem(r, args, key);

        *at = end + 1;
        if (v.kind == JV_UNDEF) return jfail(r, EW_EINVAL, "%s", v.u.why);
        return v;
    }
    if (is_tuple ? i < args.u.list->n : i == 0) return is_tuple ? args.u.list->v[i] : args;
    return jfail(r, EW_EINVAL, "not enough arguments for format string");
}

jvalue jstr_percent(jrun *r, const jstr *fmt, jvalue args) {
    const bool is_tuple = args.kind == JV_LIST && args.u.list->kind == SEQ_TUPLE;
    const size_t n_args = is_tuple ? args.u.list->n : args.kind == JV_DICT ? 0 : 1;
    const str s = fmt->s;
    size_t at = 0, used = 0;
    jbuf b = {0};

    while (at < s.n && !r->rc) {
        const size_t next = jchar_find(s, str_of("%"), at);
        const size_t to = next < s.n ? next : s.n;
        jvalue v;
        field f;

        jbuf_part(r, &b, fmt, at, to);
        at = to + 1;
        if (to == s.n) break;
        if (at < s.n && s.p[at] == '%') {
            jbuf_puts(r, &b, "%");
            at++;
            continue;
        }
        v = percent_next(r, s, &at, args, &used);
        f = percent_field(r, s, &at);
        if (!r->rc) percent_value(r, &b, &f, v);
    }
    if (used < n_args && !r->rc)
        return jfail(r, EW_EINVAL, "not all arguments converted during string formatting");
    return jbuf_value(r, &b);
}

/* ---- braces --------------------------------------------------------------------------------- */

static bool is_align(str s, size_t at) {
    return at < s.n && s.p[at] && strchr("<>^", s.p[at]);
}

static field brace_field(jrun *r, str spec) {
    field f = {.precision = -1};
    size_t at = 0;

    if (is_align(spec, 1)) f.fill = spec.p[at++];
    if (is_align(spec, at)) f.align = spec.p[at++];
    if (at < spec.n && spec.p[at] && strchr("+- ", spec.p[at])) {
        if (spec.p[at] != '-') f.sign = spec.p[at];
        at++;
    }
    if (at < spec.n && spec.p[at] == '#') f.is_alt = ++at != 0;
    if (at < spec.n && spec.p[at] == '0') f.is_zero = ++at != 0;
    f.width = number_at(spec, &at);
    if (at < spec.n && spec.p[at] == ',') f.is_grouped = ++at != 0;
    if (at < spec.n && spec.p[at] == '.') {
        at++;
        f.precision = number_at(spec, &at);
    }
    if (at < spec.n) f.type = spec.p[at++];
    if (at < spec.n || (f.type && !strchr("sdfFeEgGxXo%", f.type)))
        jfail(r, EW_EUNSUPPORTED, "the format '%.*s' is not supported",
              (int)(spec.n < 40 ? spec.n : 40), spec.p);
    check(r, &f);
    return f;
}

static void brace_value(jrun *r, jbuf *b, jvalue v, str spec) {
    const field f = brace_field(r, spec);
    int64_t i;

    if (r->rc) return;
    if (!spec.n || (!jis_number(v) && v.kind != JV_STR)) {
        if (spec.n)
            jfail(r, EW_EINVAL, "unsupported format string passed to %s.__format__", jtype(v));
        jprint(r, b, v);
    } else if (v.kind == JV_STR) {
        put_str(r, b, &f, v, f.align ? f.align : '<');
    } else if (jto_int(v, &i) && (!f.type || strchr("dxXo", f.type))) {
        put_int(r, b, &f, i, f.align);
    } else if (!f.type && f.precision < 0) {
        jbuf own = {0};

        jprint_float(r, &own, jto_double(v));
        put_number_text(r, b, &f, r->rc ? "" : own.p, f.align);
    } else {
        put_float(r, b, &f, jto_double(v), f.align);
    }
}

/* What a field is about: "", "0", "name", followed by ".attr" or "[key]". */
static jvalue brace_arg(jrun *r, str path, const jargs *a, size_t *next) {
    size_t at = 0, end = 0;
    const int i = number_at(path, &at);
    jvalue v = jnone();

    while (end < path.n && path.p[end] != '.' && path.p[end] != '[') end++;
    if (end < path.n)
        return jfail(r, EW_EUNSUPPORTED, "attributes in a format field are not supported");
    if (!path.n || (i >= 0 && at == end)) {
        const size_t which = path.n ? (size_t)i : (*next)++;

        if (which < a->n) return a->v[which];
        return jfail(r, EW_EINVAL, "replacement index %zu out of range", which);
    }
    if (jarg_named(a, path, &v)) return v;
    return jfail(r, EW_EINVAL, "no argument '%.*s'", (int)(path.n < 40 ? path.n : 40), path.p);
}

/* The field after "{" at s.p[*at]. */
static void brace(jrun *r, jbuf *b, str s, size_t *at, const jargs *a, size_t *next) {
    const size_t end = jchar_find(s, str_of("}"), *at);
    const str body = {s.p + *at, end <= s.n ? end - *at : 0};
    const size_t colon = jchar_find(body, str_of(":"), 0);
    const size_t bang = jchar_find(body, str_of("!"), 0);
    str path = {body.p, colon < body.n ? colon : body.n};
    const str spec = {body.p + path.n + (colon < body.n), colon < body.n ? body.n - colon - 1 : 0};

    *at = end + 1;
    if (end > s.n) {
        jfail(r, EW_EINVAL, "expected '}' before end of string");
    } else if (bang < path.n) {
        jfail(r, EW_EUNSUPPORTED, "conversions (!) in a format field are not supported");
    } else {
        const jvalue v = brace_arg(r, path, a, next);

        if (!r->rc) brace_value(r, b, v, spec);
    }
}

jvalue jstr_format(jrun *r, const jstr *fmt, const jargs *a) {
    const str s = fmt->s;
    size_t at = 0, next = 0;
    jbuf b = {0};

    while (at < s.n && !r->rc) {
        const char c = s.p[at];

        if ((c == '{' || c == '}') && at + 1 < s.n && s.p[at + 1] == c) {
            jbuf_add(r, &b, &c, 1, NULL);
            at += 2;
        } else if (c == '{') {
            at++;
            brace(r, &b, s, &at, a, &next);
        } else if (c == '}') {
            jfail(r, EW_EINVAL, "Single '}' encountered in format string");
        } else {
            jbuf_part(r, &b, fmt, at, at + 1);
            at++;
        }
    }
    return jbuf_value(r, &b);
}
