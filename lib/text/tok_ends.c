/* SPDX-License-Identifier: MIT
 *
 * Which tokens end a generation. Metadata names one or two of them and often the wrong one, so the
 * union is taken: the ids that metadata gives and the well-known names of chat and code models.
 * Files also get kinds of tokens wrong; what is set right here follows the reference, because
 * prompts and texts must come out the same. */
#include "text/vocab.h"

static const char *const end_names[] = {
    "</s>", "<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>",
    "<|return|>", "<|call|>", "<|calls|>", "<|flush|>", "<end_of_turn>", "<end_of_utterance>",
    "<eos>", "<turn|>", "<|tool_response>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "[e~[",
    /* DeepSeek: "end of sentence" between full-width bars, with U+2581 */
    "<\xEF\xBD\x9C" /* NOLINT(bugprone-suspicious-missing-comma): one name */
    "end\xE2\x96\x81"
    "of\xE2\x96\x81"
    "sentence\xEF\xBD\x9C>",
    /* fill in the middle: padding and borders of files */
    "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", "<|fim_repo|>", "<|repo_name|>",
    "<fim-repo>", "<REPO>", "<reponame>", "<|file_sep|>"};

static const char *const control_names[] = {"<|fim_prefix|>",
                                            "<fim-prefix>",
                                            "<fim_prefix>",
                                            "<PRE>",
                                            "\xE2\x96\x81<PRE>",
                                            "<|code_prefix|>",
                                            "<|prefix|>",
                                            "<|fim_suffix|>",
                                            "<fim-suffix>",
                                            "<fim_suffix>",
                                            "<SUF>",
                                            "\xE2\x96\x81<SUF>",
                                            "<|code_suffix|>",
                                            "<|suffix|>",
                                            "<|fim_middle|>",
                                            "<fim-middle>",
                                            "<fim_middle>",
                                            "<MID>",
                                            "\xE2\x96\x81<MID>",
                                            "<|code_middle|>",
                                            "<|middle|>"};

/* gpt-oss: part of the text that the program must see. */
static const char *const text_names[] = {"<|channel|>", "<|message|>", "<|start|>",
                                         "<|constrain|>"};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int32_t find(const tokenizer *t, const char *name) {
    return vocab_find(t, str_of(name));
}

static bool ends(const tokenizer *t, const char *name) {
    const int32_t id = find(t, name);

    return id >= 0 && t->flags[id] & TOKEN_EOG;
}

static void set_kind(tokenizer *t, const char *name, token_kind kind) {
    const int32_t id = find(t, name);

    if (id >= 0) t->kind[id] = (uint8_t)kind;
}

static void end_not(tokenizer *t, const char *name, token_kind kind) {
    const int32_t id = find(t, name);

    t->flags[id] &= (uint8_t)~TOKEN_EOG;
    t->kind[id] = (uint8_t)kind;
}

/* Does s have this lower-case word in it, in any case? */
static bool str_has_caseless(str s, const char *word) {
    const size_t n = strlen(word);

    for (size_t i = 0; i + n <= s.n; i++) {
        size_t k = 0;

        while (k < n &&
               (s.p[i + k] >= 'A' && s.p[i + k] <= 'Z' ? s.p[i + k] + 32 : s.p[i + k]) == word[k])
            k++;
        if (k == n) return true;
    }
    return false;
}

/* White space that tokens eat: not in metadata, known by the model's name. */
static void read_strips(tokenizer *t, const gguf *g) {
    static const char *const phi3_keep[] = {"<unk>", "<s>", "<|endoftext|>"};
    const gguf_kv *kv = gguf_find(g, "general.name"), *pre = gguf_find(g, "tokenizer.ggml.pre");
    str name = {"", 0}, rule = {"", 0};
    int32_t id;

    if (kv && kv->type == GGUF_STRING) gguf_kv_str(kv, 0, &name);
    if (pre && pre->type == GGUF_STRING) gguf_kv_str(pre, 0, &rule);
    if (str_starts(rule, str_of("jina-v2-")) && (id = find(t, "<mask>")) >= 0)
        t->flags[id] |= TOKEN_LSTRIP;
    if (str_has_caseless(name, "modern-bert") && (id = find(t, "[MASK]")) >= 0)
        t->flags[id] |= TOKEN_LSTRIP;
    if (!str_has_caseless(name, "phi-3") && !str_has_caseless(name, "phi3")) return;
    for (int32_t i = 0; i < t->n; i++)
        if (t->kind[i] == TOKEN_CONTROL || t->kind[i] == TOKEN_USER_DEFINED ||
            t->kind[i] == TOKEN_UNKNOWN)
            t->flags[i] |= TOKEN_RSTRIP;
    for (size_t i = 0; i < COUNT(phi3_keep); i++)
        if ((id = find(t, phi3_keep[i])) >= 0) t->flags[id] &= (uint8_t)~TOKEN_RSTRIP;
}

ew_status ends_read(tokenizer *t, const gguf *g, const char *name, ew_error *err) {
    static const char *const keys[] = {
        "tokenizer.ggml.eos_token_id",     "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id",     "tokenizer.ggml.fim_pad_token_id",
        "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id"};

    for (size_t i = 0; i < COUNT(control_names); i++) set_kind(t, control_names[i], TOKEN_CONTROL);
    for (size_t i = 0; i < COUNT(end_names); i++) {
        const int32_t id = find(t, end_names[i]);

        if (id < 0) continue;
        t->flags[id] |= TOKEN_EOG;
        t->kind[id] = TOKEN_CONTROL;
    }
    for (size_t i = 0; i < COUNT(keys); i++) {
        int32_t id;
        ew_status rc = meta_id(t, g, name, keys[i], i == 0 ? t->eos : -1, &id, err);

        if (rc) return rc;
        if (id >= 0) t->flags[id] |= TOKEN_EOG;
    }
    for (size_t i = 0; i < COUNT(text_names); i++) set_kind(t, text_names[i], TOKEN_USER_DEFINED);
    /* Where there are tokens for the end of a turn, these only end a part of it. */
    if (ends(t, "<|end|>") &&
        ((ends(t, "<|return|>") && (ends(t, "<|call|>") || ends(t, "<|calls|>"))) ||
         (ends(t, "<|flush|>") && (ends(t, "<|call|>") || ends(t, "<|calls|>")))))
        end_not(t, "<|end|>", TOKEN_USER_DEFINED);
    if (ends(t, "<|tool_response>") && ends(t, "</s>")) end_not(t, "</s>", TOKEN_NORMAL);
    read_strips(t, g);
    return EW_OK;
}
