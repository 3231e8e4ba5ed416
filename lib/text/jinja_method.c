/* SPDX-License-Identifier: MIT
 *
 * Methods of strings, dicts, lists and loops. Those that would change an object are refused, as
 * Transformers' sandbox does. */
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

#include <utf8proc.h>

#define METHOD(name) static jvalue name(jrun *r, jvalue self, const jargs *a)
#define NO_ARGS      (void)a

/* ---- case ----------------------------------------------------------------------------------- */

static uint32_t upper(uint32_t cp) {
    return (uint32_t)utf8proc_toupper((utf8proc_int32_t)cp);
}

static uint32_t lower(uint32_t cp) {
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
}

static uint32_t title(uint32_t cp) {
    return (uint32_t)utf8proc_totitle((utf8proc_int32_t)cp);
}

static uint32_t swap(uint32_t cp) {
    return lower(cp) != cp ? lower(cp) : upper(cp);
}

static bool is_cased(uint32_t cp) {
    return lower(cp) != cp || upper(cp) != cp;
}

/* What the character becomes, after one that was a letter or not. */
static uint32_t change(char how, uint32_t cp, bool is_first, bool after_letter) {
    switch (how) {
    case 'u':
        return upper(cp);
    case 'l':
        return lower(cp);
    case 's':
        return swap(cp);
    case 'c':
        return is_first ? title(cp) : lower(cp);
    default:
        return after_letter ? lower(cp) : title(cp);
    }
}

jvalue jstr_case(jrun *r, const jstr *s, const char *how) {
    bool after_letter = false;
    jbuf b = {0};

    for (size_t i = 0; i < s->s.n && !r->rc;) {
        uint32_t cp;
        const size_t n = jchar_at(s->s.p + i, s->s.n - i, &cp);

        if (cp == 0xDF &&
            (*how == 'u' || (*how == 'c' && i == 0) || (*how == 't' && !after_letter)))
            jbuf_puts(r, &b, *how == 'u' ? "SS" : "Ss"); /* the one letter that becomes two */
        else
            jbuf_char(r, &b, change(*how, cp, i == 0, after_letter), jstr_marked(s, i));
        after_letter = is_cased(cp);
        i += n;
    }
    return jbuf_value(r, &b);
}

METHOD(str_upper) {
    NO_ARGS;
    return jstr_case(r, self.u.s, "upper");
}
METHOD(str_lower) {
    NO_ARGS;
    return jstr_case(r, self.u.s, "lower");
}
METHOD(str_title) {
    NO_ARGS;
    return jstr_case(r, self.u.s, "title");
}
METHOD(str_capitalize) {
    NO_ARGS;
    return jstr_case(r, self.u.s, "capitalize");
}
METHOD(str_swapcase) {
    NO_ARGS;
    return jstr_case(r, self.u.s, "swapcase");
}

/* ---- strings -------------------------------------------------------------------------------- */

METHOD(str_strip) {
    return jstr_strip(r, self.u.s, a->v[0], true, true);
}
METHOD(str_lstrip) {
    return jstr_strip(r, self.u.s, a->v[0], true, false);
}
METHOD(str_rstrip) {
    return jstr_strip(r, self.u.s, a->v[0], false, true);
}
METHOD(str_split) {
    return jstr_split(r, self.u.s, a->v[0], jarg_int(r, a->v[1], -1), false);
}
METHOD(str_rsplit) {
    return jstr_split(r, self.u.s, a->v[0], jarg_int(r, a->v[1], -1), true);
}
METHOD(str_splitlines) {
    if (jarg_bool(a->v[0], false))
        return jfail(r, EW_EUNSUPPORTED, "splitlines(keepends=true) is not supported");
    return jstr_lines(r, self.u.s);
}
METHOD(str_replace) {
    return jstr_replace(r, self.u.s, jneed_str(r, a->v[0], "replace() argument 1"),
                        jneed_str(r, a->v[1], "replace() argument 2"), jarg_int(r, a->v[2], -1));
}
METHOD(str_join) {
    jlist items;

    return jiterate(r, a->v[0], &items) ? jstr_join(r, self.u.s, &items) : jnone();
}

static bool is_at_end(const jstr *s, const jstr *part, bool at_start) {
    if (part->s.n > s->s.n) return false;
    if (at_start) return str_starts(s->s, part->s);
    return str_eq((str){s->s.p + (s->s.n - part->s.n), part->s.n}, part->s);
}

/* One string, or a tuple of them. */
static jvalue has_end(jrun *r, const jstr *s, jvalue part, bool at_start) {
    jlist parts;

    if (part.kind == JV_STR) return jbool(is_at_end(s, part.u.s, at_start));
    if (part.kind != JV_LIST || part.u.list->kind != SEQ_TUPLE)
        return jfail(r, EW_EINVAL, "%s first arg must be str or a tuple of str, not %s",
                     at_start ? "startswith" : "endswith", jtype(part));
    if (!jiterate(r, part, &parts)) return jnone();
    for (size_t i = 0; i < parts.n && !r->rc; i++)
        if (is_at_end(s, jneed_str(r, parts.v[i], "a part"), at_start)) return jbool(true);
    return jbool(false);
}
METHOD(str_startswith) {
    return has_end(r, self.u.s, a->v[0], true);
}
METHOD(str_endswith) {
    return has_end(r, self.u.s, a->v[0], false);
}
METHOD(str_removeprefix) {
    const jstr *part = jneed_str(r, a->v[0], "the prefix");

    return is_at_end(self.u.s, part, true) ? jstr_part(r, self.u.s, part->s.n, self.u.s->s.n)
                                           : self;
}
METHOD(str_removesuffix) {
    const jstr *part = jneed_str(r, a->v[0], "the suffix");

    return is_at_end(self.u.s, part, false) ? jstr_part(r, self.u.s, 0, self.u.s->s.n - part->s.n)
                                            : self;
}

static jvalue find(jrun *r, const jstr *s, jvalue part, bool last, bool must) {
    const str needle = jneed_str(r, part, "what to find")->s;
    const size_t at = last ? jchar_find_last(s->s, needle) : jchar_find(s->s, needle, 0);

    if (at <= s->s.n) return jint((int64_t)jchar_count((str){s->s.p, at}));
    return must ? jfail(r, EW_EINVAL, "substring not found") : jint(-1);
}
METHOD(str_find) {
    return find(r, self.u.s, a->v[0], false, false);
}
METHOD(str_rfind) {
    return find(r, self.u.s, a->v[0], true, false);
}
METHOD(str_index) {
    return find(r, self.u.s, a->v[0], false, true);
}
METHOD(str_count) {
    const str needle = jneed_str(r, a->v[0], "what to count")->s;
    int64_t n = 0;

    if (!needle.n) return jint((int64_t)jchar_count(self.u.s->s) + 1);
    for (size_t at = 0; (at = jchar_find(self.u.s->s, needle, at)) <= self.u.s->s.n; n++)
        at += needle.n;
    return jint(n);
}

static jvalue partition(jrun *r, const jstr *s, jvalue sep, bool last) {
    const jstr *by = jneed_str(r, sep, "the separator");
    const size_t found = last ? jchar_find_last(s->s, by->s) : jchar_find(s->s, by->s, 0);
    const bool is_there = found <= s->s.n;
    const size_t at = is_there ? found : last ? 0 : s->s.n;
    const size_t end = is_there ? at + by->s.n : at;
    jlist *l = jlist_new(r, SEQ_TUPLE, 3);

    if (!by->s.n) return jfail(r, EW_EINVAL, "empty separator");
    jlist_add(r, l, jstr_part(r, s, 0, at));
    jlist_add(r, l, jstr_part(r, s, at, end));
    jlist_add(r, l, jstr_part(r, s, end, s->s.n));
    return jlist_value(l);
}
METHOD(str_partition) {
    return partition(r, self.u.s, a->v[0], false);
}
METHOD(str_rpartition) {
    return partition(r, self.u.s, a->v[0], true);
}

METHOD(str_format) {
    return jstr_format(r, self.u.s, a);
}

/* Every character is of a kind, and there is one. */
static jvalue all_are(const jstr *s, bool (*is)(uint32_t cp)) {
    for (size_t i = 0; i < s->s.n;) {
        uint32_t cp;

        i += jchar_at(s->s.p + i, s->s.n - i, &cp);
        if (!is(cp)) return jbool(false);
    }
    return jbool(s->s.n != 0);
}
static bool is_digit(uint32_t cp) {
    return utf8proc_category((utf8proc_int32_t)cp) == UTF8PROC_CATEGORY_ND;
}
static bool is_alpha(uint32_t cp) {
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);

    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}
static bool is_alnum(uint32_t cp) {
    return is_alpha(cp) || is_digit(cp);
}
METHOD(str_isdigit) {
    (void)r, NO_ARGS;
    return all_are(self.u.s, is_digit);
}
METHOD(str_isalpha) {
    (void)r, NO_ARGS;
    return all_are(self.u.s, is_alpha);
}
METHOD(str_isalnum) {
    (void)r, NO_ARGS;
    return all_are(self.u.s, is_alnum);
}
METHOD(str_isspace) {
    (void)r, NO_ARGS;
    return all_are(self.u.s, jchar_is_space);
}
METHOD(str_islower) {
    NO_ARGS;
    return jbool(jtest(r, str_of("lower"), self, &(jargs){0}));
}
METHOD(str_isupper) {
    NO_ARGS;
    return jbool(jtest(r, str_of("upper"), self, &(jargs){0}));
}

static void fill(jrun *r, jbuf *b, const jstr *with, int64_t n) {
    for (; n > 0 && !r->rc; n--) jbuf_str(r, b, with);
}

/* The string in a field of `width`: side -1 to its left, 1 to its right, 0 in the middle. */
static jvalue justify(jrun *r, const jstr *s, const jargs *a, int side) {
    static const jstr space = {.s = {" ", 1}};
    const jstr *with = a->v[1].kind == JV_ABSENT ? &space : jneed_str(r, a->v[1], "the fill");
    const int64_t width = jarg_int(r, a->v[0], 0);
    const int64_t more = width - (int64_t)jchar_count(s->s);
    /* As Python rounds: an odd blank goes left when the width is odd, too. */
    const int64_t left = side < 0 ? 0 : side > 0 ? more : more / 2 + (more & width & 1);
    jbuf b = {0};

    if (jchar_count(with->s) != 1)
        return jfail(r, EW_EINVAL, "the fill character must be exactly one character long");
    fill(r, &b, with, more > 0 ? left : 0);
    jbuf_str(r, &b, s);
    fill(r, &b, with, more > 0 ? more - left : 0);
    return jbuf_value(r, &b);
}
METHOD(str_ljust) {
    return justify(r, self.u.s, a, -1);
}
METHOD(str_rjust) {
    return justify(r, self.u.s, a, 1);
}
METHOD(str_center) {
    return justify(r, self.u.s, a, 0);
}
METHOD(str_zfill) {
    static const jstr zero = {.s = {"0", 1}};
    const jstr *s = self.u.s;
    const size_t sign = s->s.n && (s->s.p[0] == '-' || s->s.p[0] == '+');
    jbuf b = {0};

    jbuf_part(r, &b, s, 0, sign);
    fill(r, &b, &zero, jarg_int(r, a->v[0], 0) - (int64_t)jchar_count(s->s));
    jbuf_part(r, &b, s, sign, s->s.n);
    return jbuf_value(r, &b);
}

static const jbuiltin str_methods[] = {
    {"strip", "chars", str_strip, {0}},
    {"lstrip", "chars", str_lstrip, {0}},
    {"rstrip", "chars", str_rstrip, {0}},
    {"split", "sep maxsplit", str_split, {0}},
    {"rsplit", "sep maxsplit", str_rsplit, {0}},
    {"splitlines", "keepends", str_splitlines, {0}},
    {"replace", "!old !new count", str_replace, {0}},
    {"join", "!iterable", str_join, {0}},
    {"startswith", "!prefix", str_startswith, {0}},
    {"endswith", "!suffix", str_endswith, {0}},
    {"removeprefix", "!prefix", str_removeprefix, {0}},
    {"removesuffix", "!suffix", str_removesuffix, {0}},
    {"upper", "", str_upper, {0}},
    {"lower", "", str_lower, {0}},
    {"casefold", "", str_lower, {0}},
    {"title", "", str_title, {0}},
    {"capitalize", "", str_capitalize, {0}},
    {"swapcase", "", str_swapcase, {0}},
    {"find", "!sub", str_find, {0}},
    {"rfind", "!sub", str_rfind, {0}},
    {"index", "!sub", str_index, {0}},
    {"count", "!sub", str_count, {0}},
    {"partition", "!sep", str_partition, {0}},
    {"rpartition", "!sep", str_rpartition, {0}},
    {"format", "*", str_format, {0}},
    {"isdigit", "", str_isdigit, {0}},
    {"isdecimal", "", str_isdigit, {0}},
    {"isnumeric", "", str_isdigit, {0}},
    {"isalpha", "", str_isalpha, {0}},
    {"isalnum", "", str_isalnum, {0}},
    {"isspace", "", str_isspace, {0}},
    {"islower", "", str_islower, {0}},
    {"isupper", "", str_isupper, {0}},
    {"ljust", "!width fillchar", str_ljust, {0}},
    {"rjust", "!width fillchar", str_rjust, {0}},
    {"center", "!width fillchar", str_center, {0}},
    {"zfill", "!width", str_zfill, {0}},
};

/* ---- dicts and lists ------------------------------------------------------------------------ */

METHOD(dict_get) {
    const jvalue *found = jdict_find(r, self.u.dict, a->v[0]);

    if (found) return *found;
    return a->v[1].kind == JV_ABSENT ? jnone() : a->v[1];
}

static jvalue pair(jrun *r, const jpair *p) {
    jlist *l = jlist_new(r, SEQ_TUPLE, 2);

    jlist_add(r, l, p->key);
    jlist_add(r, l, p->value);
    return jlist_value(l);
}

METHOD(dict_items) {
    jlist *l = jlist_new(r, SEQ_ITEMS, self.u.dict->n);

    NO_ARGS;
    for (size_t i = 0; i < self.u.dict->n && !r->rc; i++)
        jlist_add(r, l, pair(r, &self.u.dict->v[i]));
    return jlist_value(l);
}
METHOD(dict_keys) {
    jlist *l = jlist_new(r, SEQ_KEYS, self.u.dict->n);

    NO_ARGS;
    for (size_t i = 0; i < self.u.dict->n && !r->rc; i++) jlist_add(r, l, self.u.dict->v[i].key);
    return jlist_value(l);
}
METHOD(dict_values) {
    jlist *l = jlist_new(r, SEQ_VALUES, self.u.dict->n);

    NO_ARGS;
    for (size_t i = 0; i < self.u.dict->n && !r->rc; i++) jlist_add(r, l, self.u.dict->v[i].value);
    return jlist_value(l);
}
METHOD(copy) { /* what can't be changed is its own copy */
    (void)r, NO_ARGS;
    return self;
}
METHOD(list_index) {
    for (size_t i = 0; i < self.u.list->n && jstep(r, 1); i++)
        if (jequal(r, self.u.list->v[i], a->v[0])) return jint((int64_t)i);
    return jfail(r, EW_EINVAL, "the value is not in the list");
}
METHOD(list_count) {
    int64_t n = 0;

    for (size_t i = 0; i < self.u.list->n && jstep(r, 1); i++)
        n += jequal(r, self.u.list->v[i], a->v[0]);
    return jint(n);
}

static const jbuiltin dict_methods[] = {
    {"get", "!key default", dict_get, {0}},
    {"items", "", dict_items, {0}},
    {"keys", "", dict_keys, {0}},
    {"values", "", dict_values, {0}},
    {"copy", "", copy, {0}},
};
static const jbuiltin list_methods[] = {
    {"index", "!value", list_index, {0}},
    {"count", "!value", list_count, {0}},
    {"copy", "", copy, {0}},
};

/* ---- loops ---------------------------------------------------------------------------------- */

METHOD(loop_cycle) {
    if (!a->n) return jfail(r, EW_EINVAL, "no items for cycling given");
    return a->v[self.u.loop->i % a->n];
}
METHOD(loop_changed) {
    jlist *l = jlist_new(r, SEQ_TUPLE, a->n);
    jvalue now;
    bool is_same;

    for (size_t i = 0; i < a->n && !r->rc; i++) jlist_add(r, l, a->v[i]);
    now = jlist_value(l);
    is_same = self.u.loop->last.kind != JV_ABSENT && jequal(r, self.u.loop->last, now);
    self.u.loop->last = now;
    return jbool(!is_same);
}

static const jbuiltin loop_methods[] = {
    {"cycle", "*", loop_cycle, {0}},
    {"changed", "*", loop_changed, {0}},
};

/* ---- finding one ---------------------------------------------------------------------------- */

static bool is_change(jkind kind, str name) {
    static const char *const of_dict[] = {"clear", "pop", "popitem", "setdefault", "update"};
    static const char *const of_list[] = {"append", "clear",  "extend",  "insert",
                                          "pop",    "remove", "reverse", "sort"};
    const bool is_dict = kind == JV_DICT;
    const char *const *names = is_dict ? of_dict : of_list;
    const size_t n = is_dict ? sizeof of_dict / sizeof *of_dict : sizeof of_list / sizeof *of_list;

    for (size_t i = 0; i < n; i++)
        if (str_is(name, names[i])) return true;
    return false;
}

static const jbuiltin *method_of(jvalue of, str name) {
    switch (of.kind) {
    case JV_STR:
        return jbuiltin_find(str_methods, sizeof str_methods / sizeof *str_methods, name);
    case JV_DICT:
        return jbuiltin_find(dict_methods, sizeof dict_methods / sizeof *dict_methods, name);
    case JV_LIST:
        if (of.u.list->kind > SEQ_TUPLE) return NULL;
        return jbuiltin_find(list_methods, sizeof list_methods / sizeof *list_methods, name);
    case JV_LOOP:
        return jbuiltin_find(loop_methods, sizeof loop_methods / sizeof *loop_methods, name);
    default:
        return NULL;
    }
}

jvalue jmethod(jrun *r, jvalue of, str name) {
    const jbuiltin *known = method_of(of, name);
    jbuiltin *bound;

    if (!known) {
        if (of.kind == JV_DICT || (of.kind == JV_LIST && of.u.list->kind == SEQ_LIST))
            if (is_change(of.kind, name))
                return jundef(r, "access to attribute '%.*s' of '%s' object is unsafe", (int)name.n,
                              name.p, jtype(of));
        return (jvalue){.kind = JV_ABSENT};
    }
    bound = jget(r, 1, sizeof *bound);
    if (!bound) return jnone();
    *bound = *known;
    bound->self = of;
    return (jvalue){.kind = JV_BUILTIN, .u.fn = bound};
}
