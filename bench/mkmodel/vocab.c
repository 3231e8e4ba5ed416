/* SPDX-License-Identifier: MIT
 *
 * Made-up vocabularies of any size. Pieces grow letter by letter from shorter ones, so every piece
 * can be reached by merges and none is there twice; the most frequent letters come first, so that
 * short vocabularies hold the likeliest pieces. Control tokens stand where the real vocabulary has
 * them when n is its size. */
#include "base/mem.h"
#include "base/utf8.h"
#include "bench/mkmodel/mkmodel.h"

#include <stdio.h>

enum token_type {
    NORMAL = 1,
    UNKNOWN = 2,
    CONTROL = 3,
    USER_DEFINED = 4,
    UNUSED = 5,
    BYTE = 6
};

#define CHATML                                                                              \
 "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" \
 "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
#define LLAMA2                                                                              \
 "{% for m in messages %}{% if m.role == 'system' %}<<SYS>>\n{{ m.content }}\n<</SYS>>\n\n" \
 "{% elif m.role == 'user' %}{{ bos_token }}[INST] {{ m.content }} [/INST]"                 \
 "{% else %} {{ m.content }} {{ eos_token }}{% endif %}{% endfor %}"
#define LLAMA3                                                                                \
 "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n" \
 "{{ m.content }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}"                        \
 "<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
#define MISTRAL                                                                         \
 "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %} {{ m.content }}" \
 "{{ eos_token }}{% else %}[INST] {{ m.content }}[/INST]{% endif %}{% endfor %}"
#define ZEPHYR                                                                           \
 "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{{ eos_token }}\n{% endfor %}" \
 "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
#define DEEPSEEK                                                                               \
 "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{{ m.content }}"  \
 "{% elif m.role == 'assistant' %}<｜Assistant｜>{{ m.content }}<｜end▁of▁sentence｜>" \
 "{% else %}{{ m.content }}{% endif %}{% endfor %}"                                            \
 "{% if add_generation_prompt %}<｜Assistant｜>{% endif %}"

/* Names of control tokens, in order of id. One that begins with '=' is user-defined: ordinary text
 * to the reader, but never split. */
static const char *const llama3_names[] = {"<|begin_of_text|>",
                                           "<|end_of_text|>",
                                           "<|reserved_special_token_0|>",
                                           "<|reserved_special_token_1|>",
                                           "<|finetune_right_pad_id|>",
                                           "<|reserved_special_token_2|>",
                                           "<|start_header_id|>",
                                           "<|end_header_id|>",
                                           "<|eom_id|>",
                                           "<|eot_id|>",
                                           "<|python_tag|>",
                                           NULL};
static const char *const r1_llama_names[] = {"<｜begin▁of▁sentence｜>",
                                             "<｜end▁of▁sentence｜>",
                                             "<|reserved_special_token_0|>",
                                             "<|reserved_special_token_1|>",
                                             "<|finetune_right_pad_id|>",
                                             "<|reserved_special_token_2|>",
                                             "<|start_header_id|>",
                                             "<|end_header_id|>",
                                             "<|eom_id|>",
                                             "<|eot_id|>",
                                             "<|python_tag|>",
                                             "=<｜User｜>",
                                             "=<｜Assistant｜>",
                                             "=<think>",
                                             "=</think>",
                                             "<｜▁pad▁｜>",
                                             NULL};
static const char *const qwen2_names[] = {"<|endoftext|>",
                                          "<|im_start|>",
                                          "<|im_end|>",
                                          "<|object_ref_start|>",
                                          "<|object_ref_end|>",
                                          "<|box_start|>",
                                          "<|box_end|>",
                                          "<|quad_start|>",
                                          "<|quad_end|>",
                                          "<|vision_start|>",
                                          "<|vision_end|>",
                                          "<|vision_pad|>",
                                          "<|image_pad|>",
                                          "<|video_pad|>",
                                          "=<tool_call>",
                                          "=</tool_call>",
                                          "=<|fim_prefix|>",
                                          "=<|fim_middle|>",
                                          "=<|fim_suffix|>",
                                          "=<|fim_pad|>",
                                          "=<|repo_name|>",
                                          "=<|file_sep|>",
                                          NULL};
static const char *const r1_qwen_names[] = {"<｜end▁of▁sentence｜>",
                                            "=<｜User｜>",
                                            "=<｜Assistant｜>",
                                            "<｜begin▁of▁sentence｜>",
                                            "<|EOT|>",
                                            "=<think>",
                                            "=</think>",
                                            "<|quad_start|>",
                                            "<|quad_end|>",
                                            "<|vision_start|>",
                                            "<|vision_end|>",
                                            "<|vision_pad|>",
                                            "<|image_pad|>",
                                            "<|video_pad|>",
                                            "=<tool_call>",
                                            "=</tool_call>",
                                            "=<|fim_prefix|>",
                                            "=<|fim_middle|>",
                                            "=<|fim_suffix|>",
                                            "=<|fim_pad|>",
                                            "=<|repo_name|>",
                                            "=<|file_sep|>",
                                            NULL};
static const char *const smollm_names[] = {"<|endoftext|>",    "<|im_start|>",   "<|im_end|>",
                                           "<repo_name>",      "<reponame>",     "<file_sep>",
                                           "<filename>",       "<gh_stars>",     "<issue_start>",
                                           "<issue_comment>",  "<issue_closed>", "<jupyter_start>",
                                           "<jupyter_text>",   "<jupyter_code>", "<jupyter_output>",
                                           "<jupyter_script>", "<empty_output>", NULL};
static const char *const spm_names[] = {"<unk>", "<s>", "</s>", NULL};
static const char *const mistral_names[] = {"<unk>",
                                            "<s>",
                                            "</s>",
                                            "[INST]",
                                            "[/INST]",
                                            "[TOOL_CALLS]",
                                            "[AVAILABLE_TOOLS]",
                                            "[/AVAILABLE_TOOLS]",
                                            "[TOOL_RESULTS]",
                                            "[/TOOL_RESULTS]",
                                            NULL};

typedef struct {
    const char *name;           /* for the command line */
    const char *model, *pre;    /* tokenizer.ggml.model, .pre; pre NULL: none */
    const char *const *names;   /* control tokens */
    bool names_first;           /* they have the lowest ids; else they follow the text tokens */
    uint32_t n_text;            /* text tokens of the real vocabulary; smaller ones have fewer */
    int filler_type;            /* of the tokens that fill up after the names */
    int32_t bos, eos, eot, pad; /* indexes in names; -1: key absent */
    bool add_bos;
    const char *chat_template;
} vocab;

/* clang-format off */
static const vocab vocabs[MK_VOCAB_COUNT] = {
    /*                name, model, pre, control tokens, first?, text tokens, filler, bos, eos, eot, pad, adds bos, template */
    [MK_SPM] =       {"spm", "llama", NULL, spm_names, true, UINT32_MAX, CONTROL, 1, 2, -1, -1, true, LLAMA2},
    [MK_TINYLLAMA] = {"tinyllama", "llama", NULL, spm_names, true, UINT32_MAX, CONTROL, 1, 2, -1, 2, true, ZEPHYR},
    [MK_MISTRAL] =   {"mistral", "llama", NULL, mistral_names, true, UINT32_MAX, CONTROL, 1, 2, -1, -1, true, MISTRAL},
    [MK_LLAMA3] =    {"llama3", "gpt2", "llama-bpe", llama3_names, false, 128000, CONTROL, 0, 9, 9, 4, true, LLAMA3},
    [MK_QWEN2] =     {"qwen2", "gpt2", "qwen2", qwen2_names, false, 151643, UNUSED, 0, 2, -1, 0, false, CHATML},
    [MK_SMOLLM] =    {"smollm", "gpt2", "smollm", smollm_names, true, UINT32_MAX, CONTROL, 1, 2, -1, 2, false, CHATML},
    [MK_R1_LLAMA] =  {"r1-llama", "gpt2", "llama-bpe", r1_llama_names, false, 128000, CONTROL, 0, 1, -1, 1, true, DEEPSEEK},
    [MK_R1_QWEN] =   {"r1-qwen", "gpt2", "deepseek-r1-qwen", r1_qwen_names, false, 151643, UNUSED, 3, 0, -1, 0, true, DEEPSEEK},
};
/* clang-format on */

const char *mk_vocab_name(mk_vocab v) {
    return vocabs[v].name;
}

static bool is_spm(const vocab *v) {
    return v->pre == NULL;
}

static uint32_t count_names(const vocab *v) {
    uint32_t n = 0;

    while (v->names[n]) n++;
    return n;
}

uint32_t mk_vocab_min(mk_vocab v) {
    return count_names(&vocabs[v]) + 256 + 1;
}

/* The vocabulary while it is made. Texts are kept as offsets: their memory moves as it grows. */
typedef struct {
    const vocab *v;
    uint32_t n;    /* tokens wanted */
    uint32_t used; /* tokens made */
    strbuf text;   /* all tokens' texts */
    size_t *at;    /* n + 1 offsets into text */
    int32_t *type;
    float *score;
    strbuf merge;     /* all merges, BPE only */
    size_t *merge_at; /* n + 1 offsets into merge */
    uint32_t n_merge;
    bool failed;
} maker;

/* The token's text is what was added to m->text since the last one. */
static void end_token(maker *m, int type) {
    m->type[m->used] = type;
    m->at[++m->used] = m->text.n;
}

static void add_names(maker *m) {
    for (uint32_t i = 0; m->v->names[i] && m->used < m->n; i++) {
        const char *name = m->v->names[i];
        const bool is_user = name[0] == '=';

        strbuf_puts(&m->text, name + is_user);
        end_token(m, is_user ? USER_DEFINED : is_spm(m->v) && i == 0 ? UNKNOWN : CONTROL);
    }
}

static void add_filler(maker *m) {
    for (uint32_t i = 3; m->used < m->n; i++) {
        if (m->v->filler_type == UNUSED)
            strbuf_printf(&m->text, "[PAD%u]", m->used);
        else
            strbuf_printf(&m->text, "<|reserved_special_token_%u|>", i);
        end_token(m, m->v->filler_type);
    }
}

static bool is_printable(uint32_t byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* The character that stands for a byte in byte-level vocabularies: itself when printable, the
 * others in increasing order from 256 on. */
static uint32_t stand_in(uint32_t byte) {
    uint32_t cp = 256;

    if (is_printable(byte)) return byte;
    for (uint32_t b = 0; b < byte; b++) cp += !is_printable(b);
    return cp;
}

static void add_code_point(maker *m, uint32_t cp) {
    char utf8[4];

    strbuf_add(&m->text, utf8, utf8_encode(cp, utf8));
}

/* Printable bytes first, as byte-level vocabularies have them. */
static void add_bytes(maker *m) {
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            if (is_printable(byte) != (pass == 0)) continue;
            add_code_point(m, stand_in(byte));
            end_token(m, NORMAL);
        }
    }
}

static void add_spm_bytes(maker *m) {
    for (unsigned byte = 0; byte < 256; byte++) {
        strbuf_printf(&m->text, "<0x%02X>", byte);
        end_token(m, BYTE);
    }
}

static const char letters[] = "etaoinshrdlucmfwypvbgkjqxz";

/* The i-th piece to grow from that is one character long: the space, then letters. */
static bool first_piece(maker *m, uint32_t i, char out[4], size_t *n) {
    if (i == 0)
        *n = utf8_encode(is_spm(m->v) ? 0x2581 : stand_in(' '), out);
    else if (i <= 26)
        *n = utf8_encode((uint32_t)(uint8_t)letters[i - 1], out);
    else if (i <= 52)
        *n = utf8_encode((uint32_t)(uint8_t)letters[i - 27] - 32, out);
    else
        return false;
    return true;
}

/* piece + letter, and the merge that makes it. */
static void grow(maker *m, const char *piece, size_t n, char letter) {
    char copy[64];

    memcpy(copy, piece, n); /* it may lie in m->text, which moves */
    strbuf_add(&m->text, copy, n);
    strbuf_add(&m->text, &letter, 1);
    m->score[m->used] = -(float)m->n_merge;
    end_token(m, NORMAL);
    strbuf_add(&m->merge, copy, n);
    strbuf_add(&m->merge, " ", 1);
    strbuf_add(&m->merge, &letter, 1);
    m->merge_at[++m->n_merge] = m->merge.n;
}

static void add_grown(maker *m, uint32_t end) {
    const uint32_t first = m->used;
    char piece[4];
    size_t n;

    for (uint32_t i = 0; first_piece(m, i, piece, &n); i++)
        for (size_t k = 0; letters[k] && m->used < end; k++) grow(m, piece, n, letters[k]);
    for (uint32_t i = first; m->used < end && !m->text.failed; i++)
        for (size_t k = 0; letters[k] && m->used < end; k++)
            grow(m, m->text.p + m->at[i], m->at[i + 1] - m->at[i], letters[k]);
}

/* SentencePiece has single characters as pieces too. Their scores are the lowest. */
static void add_characters(maker *m, uint32_t end) {
    char piece[4];
    size_t n;

    for (uint32_t i = 0; m->used < end && first_piece(m, i, piece, &n); i++) {
        strbuf_add(&m->text, piece, n);
        m->score[m->used] = -1e6f - (float)i;
        end_token(m, NORMAL);
    }
    for (char c = '!'; c <= '@' && m->used < end; c++) {
        strbuf_add(&m->text, &c, 1);
        m->score[m->used] = -1e6f - 100 - (float)c;
        end_token(m, NORMAL);
    }
}

static void make(maker *m) {
    const uint32_t n_name = count_names(m->v);
    uint32_t end = m->n;

    if (m->v->names_first) {
        add_names(m);
    } else {
        end -= n_name;
        if (end > m->v->n_text) end = m->v->n_text;
    }
    if (is_spm(m->v)) {
        add_spm_bytes(m);
        add_characters(m, end);
    } else {
        add_bytes(m);
    }
    add_grown(m, end);
    if (!m->v->names_first) {
        add_names(m);
        add_filler(m);
    }
}

static void put_strs(maker *m, gguf_writer *w, const char *key, const strbuf *b, const size_t *at,
                     uint32_t n) {
    str *v = mem_array(n, sizeof *v);

    if (!v) {
        m->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++) v[i] = (str){b->p + at[i], at[i + 1] - at[i]};
    gguf_put_strs(w, key, v, n);
    mem_free(v);
}

static void put_id(maker *m, gguf_writer *w, const char *key, int32_t name) {
    const uint32_t first = m->v->names_first ? 0 : m->n_merge + 256;

    if (name >= 0) gguf_put_u32(w, key, first + (uint32_t)name);
}

static void put(maker *m, gguf_writer *w) {
    const vocab *v = m->v;

    gguf_put_str(w, "tokenizer.ggml.model", str_of(v->model));
    if (v->pre) gguf_put_str(w, "tokenizer.ggml.pre", str_of(v->pre));
    put_strs(m, w, "tokenizer.ggml.tokens", &m->text, m->at, m->n);
    if (is_spm(v)) gguf_put_array(w, "tokenizer.ggml.scores", GGUF_F32, m->score, m->n);
    gguf_put_array(w, "tokenizer.ggml.token_type", GGUF_I32, m->type, m->n);
    if (!is_spm(v)) put_strs(m, w, "tokenizer.ggml.merges", &m->merge, m->merge_at, m->n_merge);
    put_id(m, w, "tokenizer.ggml.bos_token_id", v->bos);
    put_id(m, w, "tokenizer.ggml.eos_token_id", v->eos);
    put_id(m, w, "tokenizer.ggml.eot_token_id", v->eot);
    put_id(m, w, "tokenizer.ggml.padding_token_id", v->pad);
    if (is_spm(v)) gguf_put_u32(w, "tokenizer.ggml.unknown_token_id", 0);
    gguf_put_bool(w, "tokenizer.ggml.add_bos_token", v->add_bos);
    if (is_spm(v)) gguf_put_bool(w, "tokenizer.ggml.add_eos_token", false);
    gguf_put_str(w, "tokenizer.chat_template", str_of(v->chat_template));
}

ew_status mk_put_vocab(gguf_writer *w, mk_vocab kind, uint32_t n, const char *chat_template,
                       ew_error *err) {
    vocab v = vocabs[kind];
    maker m = {.v = &v, .n = n};

    if (n < mk_vocab_min(kind))
        return fail(err, EW_EINVAL, "a %s vocabulary has at least %u tokens, not %u",
                    mk_vocab_name(kind), mk_vocab_min(kind), n);
    if (chat_template) v.chat_template = chat_template;
    strbuf_init(&m.text, 1 << 30);
    strbuf_init(&m.merge, 1 << 30);
    m.at = mem_array((size_t)n + 1, sizeof *m.at);
    m.merge_at = mem_array((size_t)n + 1, sizeof *m.merge_at);
    m.type = mem_array(n, sizeof *m.type);
    m.score = mem_array(n, sizeof *m.score);
    m.failed = !m.at || !m.merge_at || !m.type || !m.score;
    if (!m.failed) make(&m);
    if (m.text.failed || m.merge.failed) m.failed = true;
    if (!m.failed) put(&m, w);
    strbuf_fini(&m.text);
    strbuf_fini(&m.merge);
    mem_free(m.at);
    mem_free(m.merge_at);
    mem_free(m.type);
    mem_free(m.score);
    return m.failed ? fail(err, EW_ENOMEM, "out of memory for the vocabulary") : EW_OK;
}
