/* SPDX-License-Identifier: MIT
 *
 * The prompt of a conversation: the marks of the form are markup, in which special tokens are
 * recognised; what people and models wrote is not. */
#include "text/chat.h"

#include "base/mem.h"

typedef enum {
    ROLE_SYSTEM,
    ROLE_USER,
    ROLE_ASSISTANT,
    ROLE_UNKNOWN
} role;

static role role_of(const ew_message *m) {
    if (strcmp(m->role, "system") == 0) return ROLE_SYSTEM;
    if (strcmp(m->role, "user") == 0) return ROLE_USER;
    if (strcmp(m->role, "assistant") == 0) return ROLE_ASSISTANT;
    return ROLE_UNKNOWN;
}

typedef struct {
    tok_piece *p;
    size_t n;
} piece_list;

static void add(piece_list *l, str text, bool is_markup) {
    if (text.n) l->p[l->n++] = (tok_piece){text, is_markup};
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static str trim(str s, bool left, bool right) {
    while (left && s.n && is_space(s.p[0])) s = (str){s.p + 1, s.n - 1};
    while (right && s.n && is_space(s.p[s.n - 1])) s.n--;
    return s;
}

/* The system messages in [from, to) as part of a user's message; true when there were any. */
static bool add_systems(piece_list *l, const chat_style *s, const ew_message *m, size_t from,
                        size_t to) {
    bool any = false;

    for (size_t i = from; i < to; i++) {
        if (role_of(m + i) != ROLE_SYSTEM) continue;
        add(l, s->system.open, true);
        add(l, str_of(m[i].text), false);
        add(l, s->system.close, true);
        any = true;
    }
    return any;
}

static void add_turn(piece_list *l, const chat_turn *turn, str text) {
    add(l, turn->open, true);
    add(l, text, false);
    add(l, turn->close, true);
}

static size_t last_user(const ew_message *m, size_t n) {
    while (n && role_of(m + n - 1) != ROLE_USER) n--;
    return n; /* the number after it; 0: none */
}

/* Roles are known, and each system message has a place. */
static ew_status check(const chat_style *s, const ew_message *m, size_t n, ew_error *err) {
    const size_t end = last_user(m, n);

    if (s->form == EW_CHAT_NONE)
        return fail(err, EW_EINVAL, "the model has no chat form that is known by name");
    for (size_t i = 0; i < n; i++) {
        const role r = role_of(m + i);

        if (r == ROLE_UNKNOWN)
            return fail(err, EW_EINVAL,
                        "message %zu: role \"%.40s\" is not system, user or assistant", i,
                        m[i].role);
        if (r == ROLE_SYSTEM && s->place != SYSTEM_TURN && i >= end)
            return fail(
                err, EW_EINVAL,
                "message %zu: a system message needs a user message after it in the %s form", i,
                ew_chat_form_name(s->form));
    }
    return EW_OK;
}

static void add_messages(piece_list *l, const chat_style *s, const ew_message *m, size_t n) {
    const size_t last = last_user(m, n);
    size_t seen = 0; /* messages whose system texts are written */
    bool is_first = true;

    for (size_t i = 0; i < n; i++) {
        const str text = str_of(m[i].text);
        bool folded = false;

        switch (role_of(m + i)) {
        case ROLE_SYSTEM:
            if (s->place == SYSTEM_TURN) add_turn(l, &s->system, trim(text, s->trims, s->trims));
            break;
        case ROLE_ASSISTANT:
            add_turn(l, &s->assistant, trim(text, s->trims, s->trims));
            break;
        case ROLE_USER:
            if (!is_first) add(l, s->again, true);
            is_first = false;
            add(l, s->user.open, true);
            if (s->place == SYSTEM_FIRST || (s->place == SYSTEM_LAST && i + 1 == last)) {
                folded = add_systems(l, s, m, seen, i);
                seen = i;
            }
            add(l, trim(text, s->trims && !(folded && s->trims_whole), s->trims), false);
            add(l, s->user.close, true);
            break;
        case ROLE_UNKNOWN:
            break;
        }
    }
}

ew_status chat_pieces(const chat_style *s, const ew_message *messages, size_t n_message,
                      bool add_reply, tok_piece **pieces, size_t *n_piece, ew_error *err) {
    const bool has_system = n_message && role_of(messages) == ROLE_SYSTEM;
    ew_status rc = check(s, messages, n_message, err);
    piece_list l = {0};

    *pieces = NULL;
    *n_piece = 0;
    if (rc) return rc;
    /* At most four pieces a message, four more for what is said without one. */
    l.p = n_message < SIZE_MAX / 8 ? mem_array(n_message * 4 + 8, sizeof *l.p) : NULL;
    if (!l.p) return fail(err, EW_ENOMEM, "a prompt of %zu messages: out of memory", n_message);
    add(&l, s->bos, true);
    if (!has_system && n_message && (s->default_system.n || s->has_bare_system)) {
        add(&l, s->system.open, true);
        add(&l, s->default_system, false);
        add(&l, s->system.close, true);
    }
    add_messages(&l, s, messages, n_message);
    if (add_reply) add(&l, s->reply, true);
    *pieces = l.p;
    *n_piece = l.n;
    return EW_OK;
}

const char *ew_chat_form_name(ew_chat_form f) {
    switch (f) {
    case EW_CHAT_NONE:
        return "none";
    case EW_CHAT_CHATML:
        return "ChatML";
    case EW_CHAT_LLAMA2:
        return "Llama 2";
    case EW_CHAT_LLAMA3:
        return "Llama 3";
    case EW_CHAT_MISTRAL:
        return "Mistral";
    case EW_CHAT_GEMMA:
        return "Gemma";
    }
    return "none";
}
