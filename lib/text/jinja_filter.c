/* SPDX-License-Identifier: MIT
 *
 * Filters: of text and numbers; those of sequences are in jinja_filter_list.c. */
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FILTER(name) static jvalue name(jrun *r, jvalue in, const jargs *a)
#define NO_ARGS      (void)a

/* The input as a string, whatever it is. */
static const jstr *text_of(jrun *r, jvalue in) {
    return jneed_str(r, jtext(r, in), "the value");
}

/* ---- text ----------------------------------------------------------------------------------- */

FILTER(f_upper) {
    NO_ARGS;
    return jstr_case(r, text_of(r, in), "upper");
}
FILTER(f_lower) {
    NO_ARGS;
    return jstr_case(r, text_of(r, in), "lower");
}
FILTER(f_capitalize) {
    NO_ARGS;
    return jstr_case(r, text_of(r, in), "capitalize");
}

static bool begins_word(char c) {
    return c && strchr("-([{<", c) != NULL;
}

/* Unlike str.title: words begin after blanks, dashes and opening brackets alone. */
FILTER(f_title) {
    const jstr *s = text_of(r, in);
    size_t from = 0;
    jbuf b = {0};

    NO_ARGS;
    for (size_t i = 0; i <= s->s.n && !r->rc;) {
        uint32_t cp = 0;
        const size_t n = i < s->s.n ? jchar_at(s->s.p + i, s->s.n - i, &cp) : 1;
        const bool is_break =
            i == s->s.n || jchar_is_space(cp) || (cp < 128 && begins_word((char)cp));
        jvalue word;

        if (is_break) {
            word = jstr_part(r, s, from, i);
            if (!r->rc) word = jstr_case(r, word.u.s, "capitalize");
            if (!r->rc) jbuf_str(r, &b, word.u.s);
            if (i < s->s.n) jbuf_char(r, &b, cp, jstr_marked(s, i));
            from = i + n;
        }
        i += n;
    }
    return jbuf_value(r, &b);
}

FILTER(f_trim) {
    return jstr_strip(r, text_of(r, in), a->v[0], true, true);
}
FILTER(f_replace) {
    return jstr_replace(r, text_of(r, in), text_of(r, a->v[0]), text_of(r, a->v[1]),
                        jarg_int(r, a->v[2], -1));
}
FILTER(f_string) {
    NO_ARGS;
    return jtext(r, in);
}
FILTER(f_escape) {
    NO_ARGS;
    if (in.kind == JV_STR && in.u.s->is_safe) return in;
    return jescape(r, text_of(r, in));
}
FILTER(f_forceescape) {
    NO_ARGS;
    return jescape(r, text_of(r, in));
}
FILTER(f_safe) {
    const jvalue text = jtext(r, in);
    jstr *s = jget(r, 1, sizeof *s);

    NO_ARGS;
    if (!s || text.kind != JV_STR) return jnone();
    *s = *text.u.s;
    s->is_safe = true;
    return (jvalue){.kind = JV_STR, .u.s = s};
}

/* How many words there are. */
FILTER(f_wordcount) {
    const jvalue words = jstr_split(r, text_of(r, in), (jvalue){.kind = JV_NONE}, -1, false);

    NO_ARGS;
    return r->rc ? jnone() : jint((int64_t)words.u.list->n);
}

FILTER(f_format) {
    jlist l = {.kind = SEQ_TUPLE, .n = a->n};
    const jstr *fmt = text_of(r, in);
    jdict *d;

    if (!a->n_named) {
        l.v = jget(r, a->n, sizeof *l.v);
        if (!l.v) return jnone();
        if (a->n) memcpy(l.v, a->v, a->n * sizeof *l.v);
        return jstr_percent(r, fmt, (jvalue){.kind = JV_LIST, .u.list = &l});
    }
    if (a->n)
        return jfail(r, EW_EINVAL,
                     "can't handle positional and keyword arguments at the same time");
    d = jdict_new(r, a->n_named);
    for (size_t i = 0; i < a->n_named && !r->rc; i++)
        jdict_set(r, d, jstr_value(r, a->names[i], NULL), a->v[i]);
    return r->rc ? jnone() : jstr_percent(r, fmt, jdict_value(d));
}

static void put_n(jrun *r, jbuf *b, const char *p, size_t n_bytes, int64_t times) {
    for (int64_t i = 0; i < times && !r->rc; i++) jbuf_add(r, b, p, n_bytes, NULL);
}

/* Lines after the first are moved to the right; empty ones only on demand. */
FILTER(f_indent) {
    const bool first = jarg_bool(a->v[1], false), blank = jarg_bool(a->v[2], false);
    const jstr *s = text_of(r, in);
    const jvalue lines = jstr_lines(r, s);
    const str with = a->v[0].kind == JV_STR ? a->v[0].u.s->s : str_of(" ");
    const int64_t times = a->v[0].kind == JV_STR ? 1 : jarg_int(r, a->v[0], 4);
    const bool ends = s->s.n && s->s.p[s->s.n - 1] == '\n';
    jbuf b = {0};

    if (r->rc) return jnone();
    if (first) put_n(r, &b, with.p, with.n, times);
    for (size_t i = 0; i < lines.u.list->n && !r->rc; i++) {
        const jstr *line = lines.u.list->v[i].u.s;

        if (i) jbuf_puts(r, &b, "\n");
        if (i && (line->s.n || blank)) put_n(r, &b, with.p, with.n, times);
        jbuf_str(r, &b, line);
    }
    if (ends) jbuf_puts(r, &b, "\n");
    if (ends && blank) put_n(r, &b, with.p, with.n, times);
    return jbuf_value(r, &b);
}

FILTER(f_truncate) {
    const jstr *s = text_of(r, in);
    const int64_t length = jarg_int(r, a->v[0], 255), leeway = jarg_int(r, a->v[3], 5);
    const jvalue end = a->v[2].kind == JV_ABSENT ? jstr_value(r, str_of("..."), NULL) : a->v[2];
    const jstr *tail = jneed_str(r, end, "the end");
    const int64_t n = (int64_t)jchar_count(s->s), keep = length - (int64_t)jchar_count(tail->s);
    jbuf b = {0};
    size_t to;

    if (n <= length || n - length <= leeway) return jtext(r, in);
    if (keep < 0 || leeway < 0) return jfail(r, EW_EINVAL, "truncate: the length is too small");
    to = jchar_offset(s->s, (size_t)keep);
    if (!jarg_bool(a->v[1], false))
        for (size_t i = to; i; i--)
            if (s->s.p[i - 1] == ' ') {
                to = i - 1;
                break;
            }
    jbuf_part(r, &b, s, 0, to);
    jbuf_str(r, &b, tail);
    return jbuf_value(r, &b);
}

FILTER(f_center) {
    static const str name = {"center", 6};
    const jvalue text = jtext(r, in);
    const jvalue width = a->v[0].kind == JV_ABSENT ? jint(80) : a->v[0];

    if (r->rc) return jnone();
    return jcall(r, jmethod(r, text, name), &(jargs){.v = &width, .n = 1});
}

FILTER(f_urlencode) {
    const jstr *s = text_of(r, in);
    char hex[4];
    jbuf b = {0};

    NO_ARGS;
    if (in.kind == JV_DICT || in.kind == JV_LIST)
        return jfail(r, EW_EUNSUPPORTED, "urlencode of a %s is not supported", jtype(in));
    for (size_t i = 0; i < s->s.n && !r->rc; i++) {
        const char c = s->s.p[i];

        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            (c && strchr("_.-~/", c))) {
            jbuf_add(r, &b, &c, 1, NULL);
        } else {
            snprintf(hex, sizeof hex, "%%%02X", (uint8_t)c);
            jbuf_puts(r, &b, hex);
        }
    }
    return jbuf_value(r, &b);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* indent=N (blanks) or indent="..." */
static void read_indent(jrun *r, jvalue v, jjson *how) {
    static const char blanks[] = "                                ";
    int64_t n;

    if (v.kind == JV_ABSENT || v.kind == JV_NONE) return;
    how->has_indent = true;
    if (v.kind == JV_STR) {
        how->indent = v.u.s->s;
        return;
    }
    n = jarg_int(r, v, 0);
    if (n > (int64_t)sizeof blanks - 1)
        jfail(r, EW_EUNSUPPORTED, "tojson: an indent of more than %zu", sizeof blanks - 1);
    else
        how->indent = (str){blanks, n > 0 ? (size_t)n : 0};
}

FILTER(f_tojson) {
    static const jstr comma = {.s = {",", 1}}, comma_space = {.s = {", ", 2}},
                      colon = {.s = {": ", 2}};
    const jvalue separators = a->v[2];
    jjson how = {.ascii_only = jarg_bool(a->v[0], false), .sorts_keys = jarg_bool(a->v[3], false)};
    jlist pair;
    jbuf b = {0};

    read_indent(r, a->v[1], &how);
    how.item = how.has_indent ? &comma : &comma_space;
    how.key = &colon;
    if (separators.kind != JV_ABSENT && separators.kind != JV_NONE) {
        if (!jiterate(r, separators, &pair) || pair.n != 2)
            return jfail(r, EW_EINVAL, "tojson: separators are two strings");
        how.item = jneed_str(r, pair.v[0], "a separator");
        how.key = jneed_str(r, pair.v[1], "a separator");
    }
    jprint_json(r, &b, in, &how);
    return jbuf_value(r, &b);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool parse_float(str s, double *out) {
    const str t = jchar_trim(s, true, true);
    char text[64], *end;

    if (!t.n || t.n >= sizeof text) return false;
    memcpy(text, t.p, t.n);
    text[t.n] = 0;
    if (strpbrk(text, "xXpP(")) return false; /* strtod's, not Python's */
    *out = strtod(text, &end);
    return *end == 0;
}

static bool parse_int(str s, int64_t base, int64_t *out) {
    const str t = jchar_trim(s, true, true);
    char text[80], *end;

    if (!t.n || t.n >= sizeof text || base < 2 || base > 36) return false;
    memcpy(text, t.p, t.n);
    text[t.n] = 0;
    errno = 0;
    *out = strtoll(text, &end, (int)base);
    return *end == 0 && errno == 0 && end != text;
}

FILTER(f_int) {
    const jvalue dflt = a->v[0].kind == JV_ABSENT ? jint(0) : a->v[0];
    double f = (double)NAN;
    int64_t i;

    if (jto_int(in, &i)) return jint(i);
    if (in.kind == JV_STR && parse_int(in.u.s->s, jarg_int(r, a->v[1], 10), &i)) return jint(i);
    if (in.kind == JV_FLOAT) f = in.u.f;
    if (in.kind == JV_STR && !parse_float(in.u.s->s, &f)) f = (double)NAN;
    return fabs(f) < 9e18 ? jint((int64_t)f) : dflt;
}
FILTER(f_float) {
    double f;

    (void)r;
    if (jis_number(in)) return jfloat(jto_double(in));
    if (in.kind == JV_STR && parse_float(in.u.s->s, &f)) return jfloat(f);
    return a->v[0].kind == JV_ABSENT ? jfloat(0) : a->v[0];
}
FILTER(f_abs) {
    int64_t i;

    NO_ARGS;
    if (in.kind == JV_FLOAT) return jfloat(fabs(in.u.f));
    if (jto_int(in, &i)) return i < 0 ? jnegate(r, in, true) : jint(i);
    return jfail(r, EW_EINVAL, "bad operand type for abs(): '%s'", jtype(in));
}

/* As Python rounds: by the decimal digits of the number itself, halves to even. */
static double round_to(double f, int precision) {
    char text[400];

    if (precision < 0) {
        const double unit = pow(10, -precision);

        return nearbyint(f / unit) * unit;
    }
    snprintf(text, sizeof text, "%.*f", precision, f);
    return strtod(text, NULL);
}

FILTER(f_round) {
    const int64_t precision = jarg_int(r, a->v[0], 0);
    const str how = a->v[1].kind == JV_ABSENT ? str_of("common") : text_of(r, a->v[1])->s;
    double f, unit;
    int64_t i;

    if (r->rc) return jnone();
    if (!jis_number(in) || precision > 15 || precision < -15)
        return jfail(r, EW_EINVAL, "round: a number and up to 15 digits are wanted, not %s",
                     jtype(in));
    if (str_is(how, "common") && jto_int(in, &i) && precision >= 0) return jint(i);
    f = jto_double(in);
    unit = pow(10, (double)precision);
    if (str_is(how, "ceil")) return jfloat(ceil(f * unit) / unit);
    if (str_is(how, "floor")) return jfloat(floor(f * unit) / unit);
    if (!str_is(how, "common")) return jfail(r, EW_EINVAL, "method must be common, ceil or floor");
    return jfloat(round_to(f, (int)precision));
}

/* ---- any value ------------------------------------------------------------------------------ */

FILTER(f_default) {
    const bool is_missing = in.kind == JV_UNDEF || (jarg_bool(a->v[1], false) && !jtruth(in));

    if (!is_missing) return in;
    return a->v[0].kind == JV_ABSENT ? jstr_value(r, (str){"", 0}, NULL) : a->v[0];
}

FILTER(f_attr) {
    return jattr(r, in, text_of(r, a->v[0])->s);
}

const jbuiltin *jfilter_text(str name) {
    static const jbuiltin table[] = {
        {"upper", "", f_upper, {0}},
        {"lower", "", f_lower, {0}},
        {"capitalize", "", f_capitalize, {0}},
        {"title", "", f_title, {0}},
        {"trim", "chars", f_trim, {0}},
        {"replace", "!old !new count", f_replace, {0}},
        {"string", "", f_string, {0}},
        {"escape", "", f_escape, {0}},
        {"e", "", f_escape, {0}},
        {"forceescape", "", f_forceescape, {0}},
        {"safe", "", f_safe, {0}},
        {"wordcount", "", f_wordcount, {0}},
        {"format", "*", f_format, {0}},
        {"indent", "width first blank", f_indent, {0}},
        {"truncate", "length killwords end leeway", f_truncate, {0}},
        {"center", "width", f_center, {0}},
        {"urlencode", "", f_urlencode, {0}},
        {"tojson", "ensure_ascii indent separators sort_keys", f_tojson, {0}},
        {"int", "default base", f_int, {0}},
        {"float", "default", f_float, {0}},
        {"abs", "", f_abs, {0}},
        {"round", "precision method", f_round, {0}},
        {"default", "default_value boolean", f_default, {0}},
        {"d", "default_value boolean", f_default, {0}},
        {"attr", "!name", f_attr, {0}},
    };

    return jbuiltin_find(table, sizeof table / sizeof *table, name);
}

jvalue jfilter(jrun *r, str name, jvalue in, const jargs *a) {
    const jbuiltin *fn = jfilter_text(name);

    if (!fn) fn = jfilter_list(name);
    if (fn) return jcall_builtin(r, fn, in, a);
    return jfail(r, EW_EUNSUPPORTED, "the filter '%.*s' is not known",
                 (int)(name.n < 60 ? name.n : 60), name.p);
}
