/* SPDX-License-Identifier: MIT
 *
 * Strings of the template engine: text with a mark for each byte that came from the context. */
#include "base/utf8.h"
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

/* A pass over this many bytes counts as one step. */
enum {
    STEP_BYTES = 64
};

static bool reserve(jrun *r, jbuf *b, size_t extra) {
    size_t cap = b->cap ? b->cap : 64;
    char *p;

    if (!jstep(r, extra / STEP_BYTES)) return false;
    if (extra <= b->cap - b->n) return true;
    while (cap - b->n < extra) cap = cap > SIZE_MAX / 4 ? SIZE_MAX / 2 : cap * 2;
    p = jget(r, cap, 1);
    if (!p) return false;
    if (b->n) memcpy(p, b->p, b->n);
    b->p = p;
    if (b->mark) {
        uint8_t *mark = jget(r, cap, 1);

        if (!mark) return false;
        memcpy(mark, b->mark, b->n);
        b->mark = mark;
    }
    b->cap = cap;
    return true;
}

void jbuf_add(jrun *r, jbuf *b, const char *p, size_t n, const uint8_t *mark) {
    if (!n || !reserve(r, b, n)) return;
    if (mark && !b->mark) {
        b->mark = jget(r, b->cap, 1);
        if (!b->mark) return;
    }
    memcpy(b->p + b->n, p, n);
    if (mark) memcpy(b->mark + b->n, mark, n);
    b->n += n;
}

void jbuf_puts(jrun *r, jbuf *b, const char *s) {
    jbuf_add(r, b, s, strlen(s), NULL);
}

void jbuf_part(jrun *r, jbuf *b, const jstr *s, size_t from, size_t to) {
    jbuf_add(r, b, s->s.p + from, to - from, s->mark ? s->mark + from : NULL);
}

void jbuf_str(jrun *r, jbuf *b, const jstr *s) {
    jbuf_part(r, b, s, 0, s->s.n);
}

void jbuf_char(jrun *r, jbuf *b, uint32_t cp, bool is_marked) {
    static const uint8_t marked[4] = {1, 1, 1, 1};
    char buf[4];
    size_t n = utf8_encode(cp, buf);

    if (!n) { /* a byte that is no UTF-8, see jchar_at */
        buf[0] = (char)(cp & 0xFF);
        n = 1;
    }
    jbuf_add(r, b, buf, n, is_marked ? marked : NULL);
}

jvalue jstr_value(jrun *r, str s, const uint8_t *mark) {
    jstr *v = jget(r, 1, sizeof *v);

    if (!v) return (jvalue){.kind = JV_UNDEF, .u.why = ""};
    v->s = s.n ? s : (str){"", 0};
    v->mark = mark;
    return (jvalue){.kind = JV_STR, .u.s = v};
}

jvalue jbuf_value(jrun *r, const jbuf *b) {
    return jstr_value(r, (str){b->p, b->n}, b->mark);
}

jvalue jstr_part(jrun *r, const jstr *s, size_t from, size_t to) {
    return jstr_value(r, (str){s->s.p + from, to - from}, s->mark ? s->mark + from : NULL);
}

bool jstr_marked(const jstr *s, size_t at) {
    return s->mark && s->mark[at];
}

jvalue jtext(jrun *r, jvalue v) {
    jbuf b = {0};

    if (v.kind == JV_STR) return v;
    jprint(r, &b, v);
    return jbuf_value(r, &b);
}

const jstr *jneed_str(jrun *r, jvalue v, const char *what) {
    static const jstr empty = {.s = {"", 0}};

    if (v.kind == JV_STR) return v.u.s;
    if (v.kind == JV_UNDEF)
        jfail(r, EW_EINVAL, "%s", v.u.why);
    else
        jfail(r, EW_EINVAL, "%s must be str, not %s", what, jtype(v));
    return &empty;
}

jvalue jescape(jrun *r, const jstr *s) {
    static const char from[] = "&<>'\"";
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    jbuf b = {0};
    jstr *v;

    for (size_t i = 0; i < s->s.n && !r->rc; i++) {
        const char *known = s->s.p[i] ? strchr(from, s->s.p[i]) : NULL;

        if (known)
            jbuf_puts(r, &b, to[known - from]);
        else
            jbuf_part(r, &b, s, i, i + 1);
    }
    v = jget(r, 1, sizeof *v);
    if (!v) return jnone();
    *v = (jstr){.s = {b.n ? b.p : "", b.n}, .mark = b.mark, .is_safe = true};
    return (jvalue){.kind = JV_STR, .u.s = v};
}

/* ---- changes -------------------------------------------------------------------------------- */

jvalue jstr_join(jrun *r, const jstr *sep, const jlist *items) {
    jbuf b = {0};

    for (size_t i = 0; i < items->n && !r->rc; i++) {
        if (i) jbuf_str(r, &b, sep);
        jbuf_str(r, &b, jneed_str(r, items->v[i], "sequence item: it"));
    }
    return jbuf_value(r, &b);
}

jvalue jstr_replace(jrun *r, const jstr *s, const jstr *old, const jstr *new, int64_t max) {
    jbuf b = {0};
    size_t at = 0, next;

    for (; max && !r->rc; max -= max > 0) {
        /* An empty one stands between all characters. */
        next = old->s.n ? jchar_find(s->s, old->s, at) : at;
        if (next > s->s.n) break;
        jbuf_part(r, &b, s, at, next);
        jbuf_str(r, &b, new);
        at = next + old->s.n;
        if (!old->s.n) {
            uint32_t cp;
            size_t n;

            if (at >= s->s.n) break;
            n = jchar_at(s->s.p + at, s->s.n - at, &cp);
            jbuf_part(r, &b, s, at, at + n);
            at += n;
        }
    }
    jbuf_part(r, &b, s, at, s->s.n);
    return jbuf_value(r, &b);
}

static bool has_char(str set, const char *p, size_t n) {
    return jchar_find(set, (str){p, n}, 0) <= set.n;
}

jvalue jstr_strip(jrun *r, const jstr *s, jvalue chars, bool left, bool right) {
    size_t from = 0, to = s->s.n;
    uint32_t cp;
    str set;

    if (chars.kind == JV_ABSENT || chars.kind == JV_NONE) {
        const str rest = jchar_trim(s->s, left, right);

        from = (size_t)(rest.p - s->s.p);
        return jstr_part(r, s, from, from + rest.n);
    }
    set = jneed_str(r, chars, "the characters to strip")->s;
    while (left && from < to) {
        const size_t n = jchar_at(s->s.p + from, to - from, &cp);

        if (!has_char(set, s->s.p + from, n)) break;
        from += n;
    }
    while (right && from < to) {
        size_t at = to - 1;

        while (at > from && ((uint8_t)s->s.p[at] & 0xC0) == 0x80) at--;
        if (!has_char(set, s->s.p + at, to - at)) break;
        to = at;
    }
    return jstr_part(r, s, from, to);
}

/* ---- splitting ------------------------------------------------------------------------------ */

/* The next separator from `at` on: where it begins (s.n + 1: none) and ends. */
static size_t next_sep(str s, const jstr *sep, size_t at, size_t *end) {
    uint32_t cp;
    size_t n;

    *end = s.n;
    if (sep) {
        const size_t found = jchar_find(s, sep->s, at);

        *end = found + sep->s.n;
        return found;
    }
    for (; at < s.n; at += n) {
        n = jchar_at(s.p + at, s.n - at, &cp);
        if (jchar_is_space(cp)) break;
    }
    if (at >= s.n) return s.n + 1;
    *end = s.n - jchar_trim((str){s.p + at, s.n - at}, true, false).n;
    return at;
}

/* The last separator in s: where it begins (s.n + 1: none) and ends. */
static size_t last_sep(str s, const jstr *sep, size_t *end) {
    size_t from = s.n + 1, next, next_end;

    *end = 0;
    if (sep) {
        from = jchar_find_last(s, sep->s);
        *end = from + sep->s.n;
        return from;
    }
    for (; (next = next_sep(s, NULL, *end, &next_end)) <= s.n; *end = next_end) from = next;
    return from;
}

static void reverse(jlist *l) {
    for (size_t i = 0; i < l->n / 2; i++) {
        const jvalue v = l->v[i];

        l->v[i] = l->v[l->n - 1 - i];
        l->v[l->n - 1 - i] = v;
    }
}

static void split_right(jrun *r, const jstr *s, const jstr *sep, int64_t max, jlist *l) {
    size_t to = sep ? s->s.n : jchar_trim(s->s, false, true).n, from, end;

    for (; max && jstep(r, to / STEP_BYTES); max -= max > 0) {
        from = last_sep((str){s->s.p, to}, sep, &end);
        if (from > to) break;
        jlist_add(r, l, jstr_part(r, s, end, to));
        to = from;
    }
    if (sep || to) jlist_add(r, l, jstr_part(r, s, 0, to));
    if (!r->rc) reverse(l);
}

static void split_left(jrun *r, const jstr *s, const jstr *sep, int64_t max, jlist *l) {
    size_t at = sep ? 0 : s->s.n - jchar_trim(s->s, true, false).n, next, end;

    for (; max && !r->rc; max -= max > 0) {
        next = next_sep(s->s, sep, at, &end);
        if (next > s->s.n) break;
        jlist_add(r, l, jstr_part(r, s, at, next));
        at = end;
    }
    if (sep || at < s->s.n) jlist_add(r, l, jstr_part(r, s, at, s->s.n));
}

jvalue jstr_split(jrun *r, const jstr *s, jvalue sep, int64_t max, bool from_right) {
    const bool is_space = sep.kind == JV_ABSENT || sep.kind == JV_NONE;
    const jstr *by = is_space ? NULL : jneed_str(r, sep, "the separator");
    jlist *l = jlist_new(r, SEQ_LIST, 4);

    if (!l) return jnone();
    if (by && !by->s.n) return jfail(r, EW_EINVAL, "empty separator");
    if (from_right)
        split_right(r, s, by, max, l);
    else
        split_left(r, s, by, max, l);
    return jlist_value(l);
}

/* The length of the line end at p, 0: none. */
static size_t line_end(const char *p, size_t n) {
    uint32_t cp;
    const size_t len = jchar_at(p, n, &cp);

    if (cp == '\r') return n > 1 && p[1] == '\n' ? 2 : 1;
    if ((cp >= 10 && cp <= 12) || (cp >= 0x1c && cp <= 0x1e) || cp == 0x85 || cp == 0x2028 ||
        cp == 0x2029)
        return len;
    return 0;
}

jvalue jstr_lines(jrun *r, const jstr *s) {
    jlist *l = jlist_new(r, SEQ_LIST, 4);
    size_t from = 0;

    for (size_t i = 0; l && i < s->s.n && !r->rc;) {
        const size_t n = line_end(s->s.p + i, s->s.n - i);

        if (n) {
            jlist_add(r, l, jstr_part(r, s, from, i));
            from = i + n;
        }
        i += n ? n : 1;
    }
    if (l && from < s->s.n) jlist_add(r, l, jstr_part(r, s, from, s->s.n));
    return jlist_value(l);
}
