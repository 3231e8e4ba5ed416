/* SPDX-License-Identifier: MIT
 *
 * Jinja's tokens. White space around the marks goes as trim_blocks and lstrip_blocks say: the
 * newline right after a block is dropped, so are blanks between the beginning of a line and a
 * block; "-" in a mark drops all white space on its side, "+" keeps it all. */
#include "text/jinja_ast.h"

#include "base/utf8.h"
#include "text/jinja_chars.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TOKENS_MAX = 1 << 20,
    NESTED_MAX = 256 /* open brackets in one expression */
};

typedef struct {
    arena *mem;
    const char *name;
    str s;
    size_t at;
    uint32_t line;
    bool is_line_start; /* what comes next begins a line */
    jtoken *v;
    size_t n, cap;
    char open[NESTED_MAX];
    size_t n_open;
    ew_status rc;
    ew_error *err;
} lexer;

static void wrong(lexer *l, ew_status code, const char *what) {
    if (!l->rc) l->rc = fail(l->err, code, "%s:%u: %s", l->name, l->line, what);
}

static void no_memory(lexer *l) {
    wrong(l, EW_ENOMEM, "out of memory");
}

static bool is_at(const lexer *l, size_t at, const char *mark) {
    const size_t n = strlen(mark);

    return at <= l->s.n && n <= l->s.n - at && memcmp(l->s.p + at, mark, n) == 0;
}

static char char_at(const lexer *l, size_t at) {
    return at < l->s.n ? l->s.p[at] : 0;
}

/* Moves on to `to`, counting lines. */
static void go(lexer *l, size_t to) {
    for (; l->at < to; l->at++) l->line += l->s.p[l->at] == '\n';
}

static jtoken *push(lexer *l, jtoken_kind kind) {
    if (l->rc) return NULL;
    if (l->n == l->cap) {
        const size_t cap = l->cap ? l->cap * 2 : 64;
        jtoken *v = cap > TOKENS_MAX ? NULL : arena_get(l->mem, cap, sizeof *v);

        if (!v) {
            no_memory(l);
            return NULL;
        }
        if (l->n) memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n] = (jtoken){.kind = kind, .line = l->line};
    return &l->v[l->n++];
}

static void push_data(lexer *l, str text) {
    jtoken *t = text.n ? push(l, T_DATA) : NULL;

    if (t) t->text = text;
}

/* What is left of the text before a mark with this sign. */
static str strip_before(const lexer *l, str text, char sign, bool is_block) {
    size_t at = text.n;

    if (sign == '-') return jchar_trim(text, false, true);
    if (sign == '+' || !is_block) return text;
    while (at && text.p[at - 1] != '\n') at--;
    if (at == 0 && !l->is_line_start) return text;
    if (jchar_trim((str){text.p + at, text.n - at}, true, false).n == 0) text.n = at;
    return text;
}

/* Goes over what a closing mark of n bytes takes with it. */
static void close_mark(lexer *l, size_t n, char sign, bool is_block) {
    size_t to = l->at + n;

    if (sign == '-') {
        const str rest = {l->s.p + to, l->s.n - to};

        to += rest.n - jchar_trim(rest, true, false).n;
    } else if (sign != '+' && is_block && char_at(l, to) == '\n') {
        to++;
    }
    l->is_line_start = l->s.p[to - 1] == '\n';
    go(l, to);
}

/* The sign of the opening mark at `at`, 0: none. */
static char sign_of(const lexer *l, size_t at) {
    const char c = char_at(l, at + 2);

    return c == '-' || c == '+' ? c : 0;
}

static size_t skip_space(const lexer *l, size_t at) {
    const str rest = {l->s.p + at, l->s.n - at};

    return l->s.n - jchar_trim(rest, true, false).n;
}

/* Is there a block "{% WORD %}" at `at`? Then end is where its closing mark begins. */
static bool is_word_block(const lexer *l, size_t at, const char *word, size_t *end) {
    if (!is_at(l, at, "{%")) return false;
    at = skip_space(l, at + 2 + (sign_of(l, at) != 0));
    if (!is_at(l, at, word)) return false;
    *end = skip_space(l, at + strlen(word));
    return is_at(l, *end, "%}") || is_at(l, *end, "-%}") || is_at(l, *end, "+%}");
}

static void close_block(lexer *l) {
    const char c = char_at(l, l->at), sign = c == '-' || c == '+' ? c : 0;

    close_mark(l, sign ? 3 : 2, sign, true);
}

/* {% raw %} ... {% endraw %}; `end` is where the first mark closes. */
static void lex_raw(lexer *l, size_t end) {
    const char sign = char_at(l, end) == '-' ? '-' : '+'; /* no newline goes after {% raw %} */
    size_t at, close;

    go(l, end);
    close_mark(l, char_at(l, end) == '%' ? 2 : 3, sign, true);
    for (at = l->at; at < l->s.n; at++)
        if (is_word_block(l, at, "endraw", &close)) break;
    if (at >= l->s.n) {
        wrong(l, EW_EFORMAT, "{% raw %} without {% endraw %}");
        return;
    }
    push_data(l, strip_before(l, (str){l->s.p + l->at, at - l->at}, sign_of(l, at), true));
    go(l, close);
    close_block(l);
}

static void lex_comment(lexer *l) {
    const size_t from = l->at + 2 + (sign_of(l, l->at) != 0);
    const size_t end = jchar_find(l->s, str_of("#}"), from);
    char sign;

    if (end > l->s.n) {
        wrong(l, EW_EFORMAT, "a comment without its end, #}");
        return;
    }
    sign = end > from ? l->s.p[end - 1] : 0;
    go(l, end);
    close_mark(l, 2, sign, true);
}

/* ---- inside the marks ----------------------------------------------------------------------- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           (uint8_t)c >= 0x80;
}

static size_t skip_digits(const lexer *l, size_t at) {
    while (is_digit(char_at(l, at)) || (char_at(l, at) == '_' && is_digit(char_at(l, at + 1))))
        at++;
    return at;
}

/* Where the number at l->at ends. */
static size_t number_end(const lexer *l, bool *is_float) {
    size_t at = skip_digits(l, l->at), e;

    *is_float = false;
    if (l->at && l->s.p[l->at - 1] == '.') return at; /* x.0.1: places, no fraction */
    if (char_at(l, at) == '.' && is_digit(char_at(l, at + 1))) {
        *is_float = true;
        at = skip_digits(l, at + 1);
    }
    if (char_at(l, at) != 'e' && char_at(l, at) != 'E') return at;
    e = at + 1 + (char_at(l, at + 1) == '-' || char_at(l, at + 1) == '+');
    if (!is_digit(char_at(l, e))) return at;
    *is_float = true;
    return skip_digits(l, e);
}

static int number_base(const lexer *l) {
    const char c = l->s.p[l->at] == '0' ? char_at(l, l->at + 1) : 0;

    return c == 'x' || c == 'X' ? 16 : c == 'o' || c == 'O' ? 8 : c == 'b' || c == 'B' ? 2 : 10;
}

static bool digit_value(char c, int base, int *out) {
    *out = is_digit(c) ? c - '0' : c >= 'a' ? c - 'a' + 10 : c >= 'A' ? c - 'A' + 10 : 99;
    return *out < base;
}

static void lex_integer(lexer *l) {
    const int base = number_base(l);
    jtoken *t = push(l, T_INT);
    size_t at = l->at + (base == 10 ? 0 : 2);
    int digit;

    for (; digit_value(char_at(l, at), base, &digit) || char_at(l, at) == '_'; at++) {
        if (char_at(l, at) == '_' || !t) continue;
        if (t->i > (INT64_MAX - digit) / base) {
            wrong(l, EW_EUNSUPPORTED, "an integer beyond 64 bits");
            return;
        }
        t->i = t->i * base + digit;
    }
    l->at = at;
}

static void lex_number(lexer *l) {
    bool is_float;
    const size_t end = number_end(l, &is_float);
    char text[64];
    size_t n = 0;
    jtoken *t;

    if (!is_float) {
        lex_integer(l);
        return;
    }
    for (size_t i = l->at; i < end && n + 1 < sizeof text; i++)
        if (l->s.p[i] != '_') text[n++] = l->s.p[i];
    text[n] = 0;
    t = push(l, T_FLOAT);
    if (t) t->f = strtod(text, NULL);
    l->at = end;
}

/* The n hexadecimal digits at `at`; false when there are fewer. */
static bool hex(const lexer *l, size_t at, size_t n, uint32_t *out) {
    int digit;

    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (!digit_value(char_at(l, at + i), 16, &digit)) return false;
        *out = *out * 16 + (uint32_t)digit;
    }
    return true;
}

static size_t octal(const lexer *l, size_t at, uint32_t *out) {
    size_t n = 0;

    for (*out = 0; n < 3 && char_at(l, at + n) >= '0' && char_at(l, at + n) <= '7'; n++)
        *out = *out * 8 + (uint32_t)(l->s.p[at + n] - '0');
    return n;
}

/* The escape at `at` (a backslash) as text in out; returns its length in the source, 0: none that
 * Python knows, and the backslash stands for itself. */
static size_t escape(const lexer *l, size_t at, char out[4], size_t *n_out) {
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char c = char_at(l, at + 1);
    const char *known = c ? strchr(from, c) : NULL;
    const size_t n_hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t cp;
    size_t n = 0;

    *n_out = 1;
    if (known) {
        out[0] = to[known - from];
        return 2;
    }
    if (c == '\n') {
        *n_out = 0;
        return 2;
    }
    if (n_hex && hex(l, at + 2, n_hex, &cp)) n = n_hex + 1;
    if (!n && c >= '0' && c <= '7') n = octal(l, at + 1, &cp);
    if (n) *n_out = utf8_encode(cp, out);
    return n && *n_out ? n + 1 : 0;
}

static void lex_string(lexer *l) {
    const char quote = l->s.p[l->at];
    size_t end = l->at + 1, n = 0;
    jtoken *t;
    char *p;

    while (end < l->s.n && l->s.p[end] != quote) end += l->s.p[end] == '\\' ? 2 : 1;
    if (end >= l->s.n) {
        wrong(l, EW_EFORMAT, "a string without its end");
        return;
    }
    p = arena_get(l->mem, end - l->at, 1);
    t = push(l, T_STRING);
    if (!p || !t) {
        no_memory(l);
        return;
    }
    for (size_t i = l->at + 1; i < end;) {
        size_t n_out = 1, taken = 0;

        if (l->s.p[i] == '\\') taken = escape(l, i, p + n, &n_out);
        if (!taken) {
            p[n] = l->s.p[i];
            taken = n_out = 1;
        }
        n += n_out;
        i += taken;
    }
    t->text = (str){p, n};
    go(l, end + 1);
}

static void lex_word(lexer *l) {
    size_t end = l->at;
    jtoken *t = push(l, T_NAME);

    while (is_word(char_at(l, end))) end++;
    if (t) t->text = (str){l->s.p + l->at, end - l->at};
    l->at = end;
}

static void balance(lexer *l, char c) {
    if (strchr("([{", c)) {
        if (l->n_open == NESTED_MAX)
            wrong(l, EW_EFORMAT, "brackets nested too deeply");
        else
            l->open[l->n_open++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (strchr(")]}", c)) {
        if (!l->n_open || l->open[--l->n_open] != c)
            wrong(l, EW_EFORMAT, "a closing bracket that nothing opened");
    }
}

static void lex_operator(lexer *l) {
    static const struct {
        char text[3];
        uint8_t op;
    } two[] = {{"==", OP_EQ}, {"!=", OP_NE},       {"<=", OP_LE},
               {">=", OP_GE}, {"//", OP_FLOORDIV}, {"**", OP_POW}};
    const char c = l->s.p[l->at];
    jtoken *t;

    if (!strchr("+-/*%~[](){}<>=.:|,;!", c) || !c) {
        char what[48];

        snprintf(what, sizeof what, c >= ' ' ? "unexpected character '%c'" : "unexpected byte %d",
                 c);
        wrong(l, EW_EFORMAT, what);
        return;
    }
    balance(l, c);
    t = push(l, T_OP);
    if (!t) return;
    t->op = (uint8_t)c;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (is_at(l, l->at, two[i].text)) t->op = two[i].op;
    l->at += t->op >= OP_EQ ? 2 : 1;
}

/* The closing mark at l->at, if it is one: with its sign when is_at(sign). */
static bool lex_close(lexer *l, const char *mark, bool is_block) {
    const char c = char_at(l, l->at);
    const bool has_sign = c == '-' || (c == '+' && is_block);

    if (l->n_open || !is_at(l, l->at + has_sign, mark)) return false;
    push(l, is_block ? T_BLOCK_END : T_VAR_END);
    close_mark(l, has_sign ? 3 : 2, has_sign ? c : 0, is_block);
    return true;
}

static void lex_inside(lexer *l, bool is_block) {
    const char *mark = is_block ? "%}" : "}}";

    push(l, is_block ? T_BLOCK_BEGIN : T_VAR_BEGIN);
    l->n_open = 0;
    while (!l->rc) {
        char c;

        go(l, skip_space(l, l->at));
        if (l->at >= l->s.n) {
            wrong(l, EW_EFORMAT,
                  is_block ? "a block without its end, %}" : "an expression without its end, }}");
            return;
        }
        if (lex_close(l, mark, is_block)) return;
        c = l->s.p[l->at];
        if (is_digit(c))
            lex_number(l);
        else if (is_word(c))
            lex_word(l);
        else if (c == '\'' || c == '"')
            lex_string(l);
        else
            lex_operator(l);
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static size_t next_mark(const lexer *l) {
    for (size_t i = l->at; i + 1 < l->s.n; i++)
        if (l->s.p[i] == '{' && l->s.p[i + 1] && strchr("{%#", l->s.p[i + 1])) return i;
    return l->s.n;
}

/* The text up to the next mark, and what the mark begins. */
static void lex_piece(lexer *l) {
    const size_t at = next_mark(l);
    const str text = {l->s.p + l->at, at - l->at};
    const char sign = at < l->s.n ? sign_of(l, at) : 0;
    const bool is_block = at < l->s.n && l->s.p[at + 1] != '{';
    size_t end;

    push_data(l, at < l->s.n ? strip_before(l, text, sign, is_block) : text);
    go(l, at);
    if (at >= l->s.n) return;
    if (is_word_block(l, at, "raw", &end) && char_at(l, end) != '+') {
        lex_raw(l, end);
    } else if (l->s.p[at + 1] == '#') {
        lex_comment(l);
    } else {
        l->at += 2 + (sign != 0);
        lex_inside(l, is_block);
    }
}

/* Newlines of any system as "\n", and without the last one, as Jinja reads templates. */
static str normalise(arena *mem, str s) {
    char *p = arena_get(mem, s.n + 1, 1);
    size_t n = 0;

    if (!p) return (str){NULL, 0};
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n') continue;
        p[n++] = s.p[i] == '\r' ? '\n' : s.p[i];
    }
    if (n && p[n - 1] == '\n') n--;
    return (str){p, n};
}

ew_status jlex(arena *mem, str text, const char *name, jtoken **out, ew_error *err) {
    lexer l = {.mem = mem, .name = name, .line = 1, .is_line_start = true, .err = err};

    l.s = normalise(mem, text);
    if (!l.s.p) no_memory(&l);
    while (!l.rc && l.at < l.s.n) lex_piece(&l);
    push(&l, T_END);
    *out = l.v;
    return l.rc;
}
