/* SPDX-License-Identifier: MIT
 *
 * Runs the passes of a rule one inside the other: each match of a pass, and each gap between two,
 * is handed to the next pass, the last one hands out words; so no list of pieces is kept. Patterns
 * are compiled by PCRE2's JIT where it has one; its interpreter gives the same words, slower. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pretok.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <pcre2.h>
#include <utf8proc.h>

typedef bool word_fn(void *ctx, size_t off, size_t n);
typedef struct runner runner;
typedef bool pass_fn(runner *r, size_t pass, size_t off, size_t n);

struct pretok {
    size_t n_pass;
    pcre2_code *code[PRETOK_PASSES]; /* NULL: split by hand */
    pass_fn *by_hand[PRETOK_PASSES];
    pcre2_general_context *general;
};

struct runner {
    const pretok *p;
    pcre2_match_data *match;
    pcre2_match_context *context;
    const char *text; /* valid UTF-8 */
    word_fn *word;
    void *ctx;
};

static bool run(runner *r, size_t pass, size_t off, size_t n);

/* Gives the piece [off, off + n) to the next pass; an empty one is no word. */
static bool hand(runner *r, size_t pass, size_t off, size_t n) {
    return n == 0 || run(r, pass + 1, off, n);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t digit_run(const char *p, size_t n) {
    size_t i = 0;

    while (i < n && is_digit(p[i])) i++;
    return i;
}

/* Cuts runs of 0-9 into thousands, counted from their right end: 12|345. */
static bool thousands(runner *r, size_t pass, size_t off, size_t n) {
    const char *const p = r->text + off;
    size_t from = 0;

    for (size_t i = 0; i < n;) {
        const size_t len = digit_run(p + i, n - i);

        for (size_t k = len % 3; len && k < len; k += 3) {
            if (i + k == from) continue;
            if (!hand(r, pass, off + from, i + k - from)) return false;
            from = i + k;
        }
        i += len ? len : 1;
    }
    return hand(r, pass, off + from, n - from);
}

/* The same where a run ends at a word boundary, as \d{1,3}(?=(?:\d{3})*\b) does; the groups stand
 * alone. */
static bool thousands_word(runner *r, size_t pass, size_t off, size_t n) {
    const char *const p = r->text + off;
    size_t from = 0;

    for (size_t i = 0; i < n;) {
        const size_t len = digit_run(p + i, n - i), end = i + len;
        const char next = end < n ? p[end] : ' ';
        const bool is_word =
            (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '_';

        if (len == 0 || is_word) {
            i += len ? len : 1;
            continue;
        }
        if (!hand(r, pass, off + from, i - from)) return false;
        for (size_t k = len % 3 ? len % 3 : 3; i < end; k = 3) {
            if (!hand(r, pass, off + i, k)) return false;
            i += k;
        }
        from = end;
    }
    return hand(r, pass, off + from, n - from);
}

/* One number character of any script; its length, 0 for another character. */
static size_t number_at(const char *p, size_t n) {
    uint32_t cp = 0;
    const size_t len = utf8_decode(p, n, &cp);
    const utf8proc_category_t c =
        len ? utf8proc_category((utf8proc_int32_t)cp) : UTF8PROC_CATEGORY_CN;

    return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO ? len
                                                                                               : 0;
}

static size_t char_at(const char *p, size_t n) {
    uint32_t cp;
    const size_t len = utf8_decode(p, n, &cp);

    return len ? len : 1;
}

/* Cuts after each group of a number, so that the first group stays with the text before it. */
static bool thousands_after(runner *r, size_t pass, size_t off, size_t n) {
    const char *const p = r->text + off;
    size_t from = 0;

    for (size_t i = 0; i < n;) {
        size_t count = 0;

        for (size_t j = i, len; (len = number_at(p + j, n - j)); j += len) count++;
        if (count == 0) i += char_at(p + i, n - i);
        while (count) {
            const size_t group = count % 3 ? count % 3 : 3;

            for (size_t k = 0; k < group; k++) i += number_at(p + i, n - i);
            if (!hand(r, pass, off + from, i - from)) return false;
            from = i;
            count -= group;
        }
    }
    return hand(r, pass, off + from, n - from);
}

static pass_fn *find_by_hand(const char *name) {
    static const struct {
        const char *name;
        pass_fn *fn;
    } all[] = {{"@thousands", thousands},
               {"@thousands-word", thousands_word},
               {"@thousands-after", thousands_after}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) return all[i].fn;
    return NULL;
}

/* One match in the piece from `from` on. Returns 1, 0 for none, -1 when out of memory. */
static int match(runner *r, size_t pass, const char *piece, size_t n, size_t from) {
    const pcre2_code *const code = r->p->code[pass];
    const uint32_t flags = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    int rc = pcre2_match(code, (PCRE2_SPTR)piece, n, from, flags, r->match, r->context);

    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(code, (PCRE2_SPTR)piece, n, from, flags | PCRE2_NO_JIT, r->match,
                         r->context);
    if (rc == PCRE2_ERROR_NOMATCH) return 0;
    return rc >= 0 ? 1 : -1;
}

static bool run(runner *r, size_t pass, size_t off, size_t n) {
    const char *const piece = r->text + off;
    size_t at = 0;

    if (pass == r->p->n_pass) return r->word(r->ctx, off, n);
    if (r->p->by_hand[pass]) return r->p->by_hand[pass](r, pass, off, n);
    while (at < n) {
        const int found = match(r, pass, piece, n, at);
        const PCRE2_SIZE *const ends = pcre2_get_ovector_pointer(r->match);
        const size_t begin = found > 0 ? ends[0] : n, end = found > 0 ? ends[1] : n;

        if (found < 0) return false;
        if (!hand(r, pass, off + at, begin - at) || !hand(r, pass, off + begin, end - begin))
            return false;
        at = end;
    }
    return true;
}

static void *pcre_alloc(PCRE2_SIZE n, void *ctx) {
    (void)ctx;
    return mem_array(n, 1);
}

static void pcre_free(void *p, void *ctx) {
    (void)ctx;
    mem_free(p);
}

static ew_status compile(pretok *p, size_t i, const char *pattern, ew_error *err) {
    pcre2_compile_context *context;
    PCRE2_SIZE at = 0;
    int rc = 0;

    if (pattern[0] == '@') {
        p->by_hand[i] = find_by_hand(pattern);
        return EW_OK;
    }
    context = pcre2_compile_context_create(p->general);
    if (context)
        p->code[i] =
            pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_UCP | PCRE2_NO_AUTO_CAPTURE, &rc, &at, context);
    pcre2_compile_context_free(context);
    if (!p->code[i] && context && rc != PCRE2_ERROR_NOMEMORY && rc != PCRE2_ERROR_HEAP_FAILED)
        return fail(err, EW_EINVAL, "pre-tokenizer pattern \"%s\": error %d at %zu", pattern, rc,
                    (size_t)at);
    if (!p->code[i]) return fail(err, EW_ENOMEM, "pre-tokenizer: out of memory");
    pcre2_jit_compile(p->code[i], PCRE2_JIT_COMPLETE); /* where there is none, it is interpreted */
    return EW_OK;
}

ew_status pretok_new(pretok **out, const pretok_rule *rule, ew_error *err) {
    pretok *p = mem_array(1, sizeof *p);
    ew_status rc = EW_OK;

    *out = NULL;
    if (p) p->general = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    if (!p || !p->general) rc = fail(err, EW_ENOMEM, "pre-tokenizer: out of memory");
    while (!rc && p->n_pass < PRETOK_PASSES && rule->pass[p->n_pass]) {
        rc = compile(p, p->n_pass, rule->pass[p->n_pass], err);
        p->n_pass++;
    }
    if (rc) {
        pretok_free(p);
        return rc;
    }
    *out = p;
    return EW_OK;
}

void pretok_free(pretok *p) {
    if (!p) return;
    for (size_t i = 0; i < p->n_pass; i++) pcre2_code_free(p->code[i]);
    pcre2_general_context_free(p->general);
    mem_free(p);
}

void pretok_work_fini(pretok_work *w) {
    pcre2_match_data_free(w->match);
    pcre2_match_context_free(w->context);
    pcre2_jit_stack_free(w->stack);
    pcre2_general_context_free(w->general);
    mem_free(w->copy);
    *w = (pretok_work){0};
}

enum {
    JIT_STACK_MIN = 32 << 10,
    JIT_STACK_MAX = 1 << 20 /* address space, taken as needed; the patterns need little */
};

static bool work_init(pretok_work *w) {
    if (w->stack) return true;
    w->general = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    if (!w->general) return false;
    w->match = pcre2_match_data_create(1, w->general);
    w->context = pcre2_match_context_create(w->general);
    if (!w->match || !w->context) return false;
    /* The number of steps is bounded by the patterns, not by PCRE2, whose counter a text of ten
     * million spaces would reach. */
    pcre2_set_match_limit(w->context, UINT32_MAX);
    w->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, w->general);
    if (!w->stack) return false;
    pcre2_jit_stack_assign(w->context, NULL, w->stack);
    return true;
}

/* text as PCRE2 wants it: itself, or a copy in which every byte that is not UTF-8 is a control
 * character, which all rules take for a symbol. The offsets are the same. NULL: no memory. */
static const char *valid_utf8(pretok_work *w, str text) {
    char *copy = NULL;

    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t cp;

        if ((uint8_t)text.p[i] < 0x80) {
            n = 1;
            continue;
        }
        n = utf8_decode(text.p + i, text.n - i, &cp);
        if (n) continue;
        n = 1;
        if (!copy) {
            copy = mem_resize(w->copy, text.n, 1);
            if (!copy) return NULL;
            w->copy = copy;
            memcpy(copy, text.p, text.n);
        }
        copy[i] = 1;
    }
    return copy ? copy : text.p;
}

bool pretok_split(const pretok *p, pretok_work *w, str text, word_fn *word, void *ctx) {
    runner r = {.p = p, .word = word, .ctx = ctx};

    if (text.n == 0) return true;
    if (!work_init(w)) return false;
    r.text = valid_utf8(w, text);
    r.match = w->match;
    r.context = w->context;
    return r.text && run(&r, 0, 0, text.n);
}
