/* SPDX-License-Identifier: MIT
 *
 * The stream: bytes wait in a buffer until they can't be the beginning of a mark. What is waiting
 * is text, a thought, the body of a call, or the header of a section, and each has its own marks.
 */
#include "text/reply.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/jinja_chars.h"

enum {
    BUFFER_MAX = 64 << 20 /* bytes that may wait: one call, at most */
};

typedef enum {
    AT_START, /* nothing but white space so far */
    IN_TEXT,
    IN_THOUGHT,
    IN_CALL,
    IN_BARE_CALL, /* of a reply that is a call without marks */
    IN_HEADER,    /* before "<|message|>" or the name's newline */
    IN_SECTION    /* the body after a header */
} place;

struct ew_reply {
    reply_form form;
    json_t *tools; /* NULL: none */
    ew_part_fn fn;
    void *ctx;
    place at;
    strbuf wait;
    ew_part part;     /* what a section's body is; EW_PART_CALL: its arguments */
    strbuf space;     /* white space after text or a thought, until more of it comes */
    ew_part last;     /* what `space` belongs to */
    bool may_reopen;  /* nothing has come of a thought that the prompt opened */
    bool drops_space; /* white space at the beginning of what follows a thought or a call */
    char name[128];   /* whom a section calls */
    bool failed;
};

static ew_status read_tools(reply *r, const char *tools, ew_error *err) {
    json_t *v = tools ? json_loads(tools, 0, NULL) : NULL;

    if (tools && !json_is_array(v)) {
        json_decref(v);
        return fail(err, EW_EINVAL, "the tools are no JSON array");
    }
    if (json_array_size(v))
        r->tools = v;
    else
        json_decref(v);
    return EW_OK;
}

ew_status reply_new(reply **out, const reply_form *f, const char *tools, bool in_thought,
                    ew_part_fn fn, void *ctx, ew_error *err) {
    reply *r = mem_array(1, sizeof *r);
    ew_status rc;

    *out = NULL;
    if (!r) return fail(err, EW_ENOMEM, "out of memory");
    *r = (reply){.form = *f, .fn = fn, .ctx = ctx, .at = in_thought ? IN_THOUGHT : AT_START};
    if (f->kind == REPLY_RECIPIENTS) r->at = IN_HEADER; /* the prompt ends with ">>>" */
    r->drops_space = r->may_reopen = in_thought;
    strbuf_init(&r->wait, BUFFER_MAX);
    strbuf_init(&r->space, BUFFER_MAX);
    rc = read_tools(r, tools, err);
    if (rc)
        reply_free(r);
    else
        *out = r;
    return rc;
}

void reply_free(reply *r) {
    if (!r) return;
    strbuf_fini(&r->wait);
    strbuf_fini(&r->space);
    json_decref(r->tools);
    mem_free(r);
}

/* ---- giving out ----------------------------------------------------------------------------- */

static void give(reply *r, ew_part part, str s) {
    if (s.n) r->fn(r->ctx, part, s.p, s.n);
}

static void give_space(reply *r) {
    give(r, r->last, (str){r->space.p, r->space.n});
    strbuf_clear(&r->space);
}

/* Text or a thought, but for white space at its end, which stays until it is known whether more
 * comes: before a call and around thoughts it means nothing. */
static void say(reply *r, ew_part part, str s) {
    str body;

    if (r->drops_space) s = jchar_trim(s, true, false);
    if (!s.n) return;
    body = jchar_trim(s, false, true);
    if (body.n) {
        if (r->last == part) give_space(r);
        strbuf_clear(&r->space);
        give(r, part, body);
    }
    r->drops_space = false;
    r->last = part;
    strbuf_add(&r->space, s.p + body.n, s.n - body.n);
    r->failed |= r->space.failed;
}

/* Something else follows: the white space before it and after it goes. */
static void change(reply *r, place to) {
    strbuf_clear(&r->space);
    r->drops_space = true;
    r->at = to;
}

static void give_calls(reply *r, const json_t *calls) {
    size_t i;
    json_t *call;

    json_array_foreach(calls, i, call) {
        size_t n;
        char *text = json_dump_text(call, JSON_COMPACT, &n);

        if (!text) {
            r->failed = true;
            return;
        }
        give(r, EW_PART_CALL, (str){text, n});
        mem_free(text);
    }
}

/* A body that has come to its end. One that is no call is text, with its marks. */
static void end_call(reply *r, str body, bool is_closed) {
    json_t *calls = reply_calls(r->form.calls, body, r->tools);

    if (calls) {
        strbuf_clear(&r->space);
        give_calls(r, calls);
        json_decref(calls);
        change(r, IN_TEXT);
        return;
    }
    r->drops_space = false;
    if (r->at == IN_CALL) say(r, EW_PART_TEXT, str_of(r->form.call_open));
    say(r, EW_PART_TEXT, body);
    if (is_closed && r->form.call_close) say(r, EW_PART_TEXT, str_of(r->form.call_close));
    r->at = IN_TEXT;
}

/* ---- marks ---------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    int what;
} mark;

typedef struct {
    mark v[8];
    size_t n;
} mark_list;

enum {
    M_THINK_OPEN,
    M_THINK_CLOSE,
    M_CALL_OPEN,
    M_CALL_CLOSE,
    M_SKIP,
    M_HEADER, /* a section's header begins */
    M_BODY,   /* and its body */
    M_END     /* and ends */
};

static void add(mark_list *l, const char *text, int what) {
    if (text) l->v[l->n++] = (mark){text, what};
}

static void plain_marks(const reply *r, mark_list *l) {
    const reply_form *f = &r->form;

    if (r->at == IN_THOUGHT) {
        add(l, f->think_close, M_THINK_CLOSE);
        return;
    }
    if (r->at == IN_CALL) {
        add(l, f->call_close, M_CALL_CLOSE);
        return;
    }
    if (r->at == AT_START || f->thinks_anywhere) add(l, f->think_open, M_THINK_OPEN);
    if (r->tools) add(l, f->call_open, M_CALL_OPEN);
    add(l, f->skip[0], M_SKIP);
    add(l, f->skip[1], M_SKIP);
}

static void marks_here(const reply *r, mark_list *l) {
    l->n = 0;
    switch (r->form.kind) {
    case REPLY_PLAIN:
        plain_marks(r, l);
        break;
    case REPLY_HARMONY:
        if (r->at == IN_HEADER) {
            add(l, "<|message|>", M_BODY);
            break;
        }
        add(l, "<|start|>", M_HEADER);
        add(l, "<|channel|>", M_HEADER);
        add(l, "<|end|>", M_END);
        add(l, "<|call|>", M_END);
        add(l, "<|return|>", M_END);
        break;
    case REPLY_RECIPIENTS:
        if (r->at == IN_HEADER)
            add(l, "\n", M_BODY);
        else
            add(l, ">>>", M_HEADER);
        break;
    }
}

/* The first mark in s: where it is (s.n: there is none) and which. Of two at one place the longer
 * one counts. */
static size_t first_mark(const mark_list *l, str s, mark *which) {
    size_t best = s.n;

    for (size_t i = 0; i < l->n; i++) {
        const size_t at = reply_find(s, l->v[i].text, 0);

        if (at > best || at >= s.n) continue;
        if (at == best && strlen(which->text) >= strlen(l->v[i].text)) continue;
        best = at;
        *which = l->v[i];
    }
    return best;
}

/* Bytes at the end of s that may be the beginning of a mark. */
static size_t may_begin(const mark_list *l, str s) {
    size_t best = 0;

    for (size_t i = 0; i < l->n; i++) {
        const size_t n = strlen(l->v[i].text);
        size_t k = n - 1 < s.n ? n - 1 : s.n;

        while (k > best && memcmp(s.p + s.n - k, l->v[i].text, k) != 0) k--;
        if (k > best) best = k;
    }
    return best;
}

static void drop(strbuf *b, size_t n) {
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
    b->p[b->n] = 0;
}

/* ---- sections ------------------------------------------------------------------------------- */

/* Harmony: "analysis", "final", "commentary to=functions.NAME <|constrain|>json". */
static void harmony_header(reply *r, str h) {
    const size_t to = reply_find(h, "to=", 0);
    str name = {h.p + to + 3, 0};

    r->part = reply_find(h, "analysis", 0) <= h.n ? EW_PART_REASONING : EW_PART_TEXT;
    if (to > h.n) return;
    if (str_starts((str){name.p, h.n - to - 3}, str_of("functions."))) name.p += 10;
    while (name.p + name.n < h.p + h.n && name.p[name.n] > ' ' && name.p[name.n] != '<') name.n++;
    if (!name.n || name.n >= sizeof r->name) return;
    memcpy(r->name, name.p, name.n);
    r->name[name.n] = 0;
    r->part = EW_PART_CALL;
}

static void recipient_header(reply *r, str h) {
    const str name = reply_trim(h);

    r->part = EW_PART_TEXT;
    if (str_is(name, "all") || !name.n || name.n >= sizeof r->name) return;
    memcpy(r->name, name.p, name.n);
    r->name[name.n] = 0;
    r->part = EW_PART_CALL;
}

/* A header is complete. */
static void begin_section(reply *r, str header) {
    if (r->form.kind == REPLY_HARMONY)
        harmony_header(r, header);
    else
        recipient_header(r, header);
    change(r, IN_SECTION);
}

static void end_section(reply *r, str body) {
    json_t *call = r->part == EW_PART_CALL ? reply_named_call(str_of(r->name), body) : NULL;
    json_t *calls = call ? json_pack("[o]", call) : NULL;

    if (calls)
        give_calls(r, calls);
    else
        say(r, r->part == EW_PART_CALL ? EW_PART_TEXT : r->part, body);
    json_decref(calls);
    r->part = EW_PART_TEXT;
}

/* ---- the stream ----------------------------------------------------------------------------- */

/* Where what waits goes, up to n bytes of it. */
static void pass(reply *r, size_t n) {
    const str s = {r->wait.p, n};

    if (r->at == IN_SECTION)
        say(r, r->part, s);
    else
        say(r, r->at == IN_THOUGHT ? EW_PART_REASONING : EW_PART_TEXT, s);
}

/* Is what waits kept until its end is there? */
static bool collects(const reply *r) {
    return r->at == IN_CALL || r->at == IN_BARE_CALL || r->at == IN_HEADER ||
           (r->at == IN_SECTION && r->part == EW_PART_CALL);
}

/* A mark at `at` in what waits. */
static void on_mark(reply *r, const mark *m, size_t at) {
    const str before = {r->wait.p, at};

    switch (m->what) {
    case M_THINK_OPEN:
        pass(r, at);
        change(r, IN_THOUGHT);
        break;
    case M_THINK_CLOSE:
        pass(r, at);
        change(r, IN_TEXT);
        break;
    case M_CALL_OPEN:
        pass(r, at);
        r->at = IN_CALL;
        break;
    case M_CALL_CLOSE:
        end_call(r, before, true);
        break;
    case M_SKIP:
        pass(r, at);
        change(r, IN_TEXT);
        break;
    case M_BODY:
        begin_section(r, before);
        break;
    default: /* M_HEADER, M_END */
        if (r->at == IN_SECTION && r->part == EW_PART_CALL)
            end_section(r, before);
        else
            pass(r, at);
        change(r, m->what == M_HEADER ? IN_HEADER : IN_TEXT);
        break;
    }
    drop(&r->wait, at + strlen(m->text));
}

/* At the start: may `s`, which is not white space alone, be the beginning of a bare call or of a
 * header without its mark? */
static bool begins(str s, const char *what) {
    const size_t n = strlen(what);

    return memcmp(s.p, what, s.n < n ? s.n : n) == 0;
}

/* Leaves AT_START when the first bytes tell where; false: more are needed. */
static bool leave_start(reply *r) {
    const str s = jchar_trim((str){r->wait.p, r->wait.n}, true, false);

    if (!s.n) return false;
    if (r->form.kind == REPLY_HARMONY && begins(s, "to=")) {
        if (s.n < 3) return false;
        r->at = IN_HEADER;
        return true;
    }
    if (r->form.kind == REPLY_PLAIN) {
        if (r->tools && r->form.may_be_bare && (s.p[0] == '{' || s.p[0] == '[')) {
            r->at = IN_BARE_CALL;
            return true;
        }
        if (begins(s, r->form.think_open)) return s.n >= strlen(r->form.think_open);
    }
    r->at = IN_TEXT;
    return true;
}

/* A thought that the prompt has opened may be opened again by the model, once. True: more bytes are
 * needed to tell. */
static bool waits_for_reopening(reply *r) {
    const char *open = r->form.think_open;
    const str s = jchar_trim((str){r->wait.p, r->wait.n}, true, false);

    if (!r->may_reopen) return false;
    if (s.n < strlen(open) && begins(s, open)) return true;
    r->may_reopen = false;
    if (begins(s, open)) drop(&r->wait, r->wait.n - s.n + strlen(open));
    return false;
}

/* One step; false: more bytes are needed. */
static bool step(reply *r) {
    mark_list l;
    mark m = {0};
    size_t at;

    if (r->at == AT_START && !leave_start(r)) return false;
    if (r->at == IN_BARE_CALL || waits_for_reopening(r)) return false;
    marks_here(r, &l);
    at = first_mark(&l, (str){r->wait.p, r->wait.n}, &m);
    if (at < r->wait.n) {
        on_mark(r, &m, at);
        return r->wait.n != 0;
    }
    if (collects(r)) return false;
    at = r->wait.n - may_begin(&l, (str){r->wait.p, r->wait.n});
    at = utf8_whole(r->wait.p, at);
    pass(r, at);
    drop(&r->wait, at);
    return false;
}

static ew_status result(reply *r, ew_error *err) {
    if (!r->failed && !r->wait.failed) return EW_OK;
    return fail(err, EW_ENOMEM, "an answer with more than %d MiB to wait for, or out of memory",
                BUFFER_MAX >> 20);
}

ew_status reply_push(reply *r, const char *text, size_t n, ew_error *err) {
    strbuf_add(&r->wait, text, n);
    while (r->wait.n && !r->wait.failed && step(r)) continue;
    return result(r, err);
}

ew_status reply_end(reply *r, ew_error *err) {
    const str rest = {r->wait.p, r->wait.n};

    if (r->at == IN_CALL || r->at == IN_BARE_CALL)
        end_call(r, rest, false);
    else if (r->at == IN_SECTION && r->part == EW_PART_CALL)
        end_section(r, rest);
    else
        pass(r, rest.n);
    if (r->last == EW_PART_TEXT) give_space(r);
    strbuf_clear(&r->wait);
    return result(r, err);
}
