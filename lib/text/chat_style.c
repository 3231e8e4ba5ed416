/* SPDX-License-Identifier: MIT
 *
 * Recognising a chat form and its details. Templates are programs; here they are only searched for
 * the marks that give a form away and for the literals in which models of one form differ. */
#include "text/chat.h"

static bool is_at(str s, size_t i, const char *mark, size_t n) {
    return n <= s.n - i && memcmp(s.p + i, mark, n) == 0;
}

/* Where mark first stands in s from `from` on; s.n: nowhere. */
static size_t find(str s, size_t from, const char *mark) {
    const size_t n = strlen(mark);

    for (size_t i = from; i < s.n; i++) {
        const char *p = memchr(s.p + i, mark[0], s.n - i);

        if (!p) break;
        i = (size_t)(p - s.p);
        if (is_at(s, i, mark, n)) return i;
    }
    return s.n;
}

static bool has(str s, const char *mark) {
    return find(s, 0, mark) < s.n;
}

static bool has_token(const tokenizer *t, const char *name) {
    const int32_t id = tok_find(t, str_of(name));

    return id >= 0 && (tok_kind(t, id) == TOKEN_CONTROL || tok_kind(t, id) == TOKEN_USER_DEFINED);
}

/* Without a template only tokens that exist for one form are proof. */
static ew_chat_form by_vocabulary(const tokenizer *t) {
    static const struct {
        ew_chat_form form;
        const char *open, *close;
    } known[] = {{EW_CHAT_CHATML, "<|im_start|>", "<|im_end|>"},
                 {EW_CHAT_LLAMA3, "<|start_header_id|>", "<|eot_id|>"},
                 {EW_CHAT_MISTRAL, "[INST]", "[/INST]"},
                 {EW_CHAT_GEMMA, "<start_of_turn>", "<end_of_turn>"}};
    ew_chat_form form = EW_CHAT_NONE;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!has_token(t, known[i].open) || !has_token(t, known[i].close)) continue;
        if (form != EW_CHAT_NONE) return EW_CHAT_NONE;
        form = known[i].form;
    }
    return form;
}

ew_chat_form chat_recognise(str chat_template, const tokenizer *t) {
    if (chat_template.n == 0) return by_vocabulary(t);
    if (has(chat_template, "<|start_header_id|>")) return EW_CHAT_LLAMA3;
    if (has(chat_template, "<|im_start|>")) return EW_CHAT_CHATML;
    if (has(chat_template, "<start_of_turn>")) return EW_CHAT_GEMMA;
    if (has(chat_template, "<<SYS>>")) return EW_CHAT_LLAMA2;
    if (has(chat_template, "[INST]")) return EW_CHAT_MISTRAL;
    return EW_CHAT_NONE;
}

/* A system turn written out in the template is what the model gets when a conversation has none:
 * "<|im_start|>system\nYou are ...<|im_end|>". One that is put together from parts is not read. */
static str default_system(str tmpl) {
    static const char open[] = "<|im_start|>system", close[] = "<|im_end|>";

    for (size_t i = 0; (i = find(tmpl, i, open)) < tmpl.n;) {
        size_t end;

        i += sizeof open - 1;
        if (is_at(tmpl, i, "\\n", 2))
            i += 2; /* as two characters in a string of the template */
        else if (is_at(tmpl, i, "\n", 1))
            i++;
        else
            continue;
        end = find(tmpl, i, close);
        if (end == tmpl.n || end == i) continue;
        for (size_t k = i; k < end; k++)
            if (strchr("'\"\\{}", tmpl.p[k])) end = i;
        if (end > i) return (str){tmpl.p + i, end - i};
    }
    return (str){"", 0};
}

static bool trims(str tmpl) {
    return has(tmpl, "content'] | trim") || has(tmpl, "content']|trim") ||
           has(tmpl, "content\"] | trim") || has(tmpl, "content\"]|trim") ||
           has(tmpl, "content | trim") || has(tmpl, "content|trim") || has(tmpl, ")|trim");
}

static void read_chatml(chat_style *s, str tmpl) {
    s->user = (chat_turn){str_of("<|im_start|>user\n"), str_of("<|im_end|>\n")};
    s->assistant = (chat_turn){str_of("<|im_start|>assistant\n"), s->user.close};
    s->system = (chat_turn){str_of("<|im_start|>system\n"), s->user.close};
    s->reply = s->assistant.open;
    s->trims = trims(tmpl);
    s->default_system = default_system(tmpl);
}

#define HEADER(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"
/* Llama 3.1 and 3.2 begin every system turn with two dates, present also without a system message.
 * The second is today's where a program offers it; this is the one the templates fall back to,
 * which keeps prompts the same from day to day. */
#define DATES "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"

static void read_llama3(chat_style *s, str tmpl) {
    const bool has_dates = has(tmpl, "Cutting Knowledge Date: December 2023");

    s->user = (chat_turn){str_of(HEADER("user")), str_of("<|eot_id|>")};
    s->assistant = (chat_turn){str_of(HEADER("assistant")), s->user.close};
    s->system =
        (chat_turn){str_of(has_dates ? HEADER("system") DATES : HEADER("system")), s->user.close};
    s->has_bare_system = has_dates;
    s->reply = s->assistant.open;
    s->trims = tmpl.n == 0 || trims(tmpl);
}

static void read_gemma(chat_style *s) {
    s->user = (chat_turn){str_of("<start_of_turn>user\n"), str_of("<end_of_turn>\n")};
    s->assistant = (chat_turn){str_of("<start_of_turn>model\n"), s->user.close};
    s->system = (chat_turn){{"", 0}, str_of("\n\n")};
    s->place = SYSTEM_FIRST;
    s->reply = s->assistant.open;
    s->trims = true;
}

static void read_llama2(chat_style *s, const tokenizer *t) {
    s->user = (chat_turn){str_of("[INST] "), str_of(" [/INST]")};
    s->assistant = (chat_turn){str_of(" "), str_of(" </s>")};
    s->system = (chat_turn){str_of("<<SYS>>\n"), str_of("\n<</SYS>>\n\n")};
    s->place = SYSTEM_FIRST;
    s->again = tok_name(t, tok_bos(t));
    s->trims = s->trims_whole = true;
}

/* Mistral's templates agree on the marks and differ in the spaces around them and in where the
 * system message goes; those are read from the literals. Without a template: the tokens tell. */
static void read_mistral(chat_style *s, str tmpl, const tokenizer *t) {
    const bool is_spm = strncmp(tok_model_name(t), "BPE", 3) != 0;
    const bool spaced = tmpl.n ? has(tmpl, "[INST] ") : is_spm;
    const bool before = has(tmpl, " [INST]");
    const bool after = has(tmpl, " [/INST]");
    const bool answer = tmpl.n ? has(tmpl, "\" \" + message") || has(tmpl, "' ' + message") ||
                                     has(tmpl, "\" \" ~ message") || has(tmpl, "' ' ~ message")
                               : is_spm;
    const bool own = tmpl.n ? has(tmpl, "[SYSTEM_PROMPT]") : has_token(t, "[SYSTEM_PROMPT]");

    s->user.open = str_of(before ? spaced ? " [INST] " : " [INST]" : spaced ? "[INST] " : "[INST]");
    s->user.close = str_of(after ? " [/INST]" : "[/INST]");
    s->assistant.open = str_of(answer ? " " : "");
    s->assistant.close = tok_eos(t) >= 0 ? tok_name(t, tok_eos(t)) : str_of("</s>");
    if (own) {
        s->system.open =
            str_of(has(tmpl, "[SYSTEM_PROMPT] ") ? "[SYSTEM_PROMPT] " : "[SYSTEM_PROMPT]");
        s->system.close = str_of("[/SYSTEM_PROMPT]");
    } else {
        s->system.close = str_of("\n\n");
        s->place = has(tmpl, "loop.last and system_message") ? SYSTEM_LAST : SYSTEM_FIRST;
    }
}

void chat_style_read(chat_style *s, ew_chat_form f, str chat_template, const tokenizer *t) {
    if (chat_recognise(chat_template, t) != f) chat_template.n = 0;
    *s = (chat_style){.form = f};
    switch (f) {
    case EW_CHAT_CHATML:
        read_chatml(s, chat_template);
        break;
    case EW_CHAT_LLAMA2:
        read_llama2(s, t);
        break;
    case EW_CHAT_LLAMA3:
        read_llama3(s, chat_template);
        break;
    case EW_CHAT_MISTRAL:
        read_mistral(s, chat_template, t);
        break;
    case EW_CHAT_GEMMA:
        read_gemma(s);
        break;
    case EW_CHAT_NONE:
        break;
    }
    if (has(chat_template, "bos_token") && !tok_adds_bos(t) && tok_bos(t) >= 0)
        s->bos = tok_name(t, tok_bos(t));
}
