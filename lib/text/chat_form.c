/* SPDX-License-Identifier: MIT
 *
 * Templates for models whose files have none. Only tokens that exist for one form are proof of it:
 * a guess would give answers that are subtly wrong. */
#include "text/chat.h"

static const char chatml[] =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

static const char llama3[] =
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}";

static const char gemma[] =
    "{% set ns = namespace(system='') %}{% for m in messages %}{% if m.role == 'system' %}"
    "{% set ns.system = ns.system + m.content + '\\n\\n' %}{% else %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    "{{ ns.system }}{{ m.content | trim }}<end_of_turn>\n{% set ns.system = '' %}"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}";

/* The older vocabulary (SentencePiece) was trained with blanks around the marks, the newer without.
 */
#define MISTRAL(blank)                                                                   \
 "{% set ns = namespace(system='') %}{% for m in messages %}{% if m.role == 'system' %}" \
 "{% set ns.system = ns.system + m.content + '\\n\\n' %}{% elif m.role == 'user' %}"     \
 "[INST]" blank "{{ ns.system }}{{ m.content }}" blank "[/INST]{% set ns.system = '' %}" \
 "{% else %}" blank "{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"

static const char mistral[] = MISTRAL(""), mistral_spm[] = MISTRAL(" ");

static bool has_token(const tokenizer *t, const char *name) {
    const int32_t id = tok_find(t, str_of(name));

    return id >= 0 && (tok_kind(t, id) == TOKEN_CONTROL || tok_kind(t, id) == TOKEN_USER_DEFINED);
}

const char *chat_form_text(const tokenizer *t, const char **form) {
    const bool is_spm = strncmp(tok_model_name(t), "BPE", 3) != 0;
    const struct {
        const char *form, *open, *close, *text;
    } known[] = {{"ChatML", "<|im_start|>", "<|im_end|>", chatml},
                 {"Llama 3", "<|start_header_id|>", "<|eot_id|>", llama3},
                 {"Mistral", "[INST]", "[/INST]", is_spm ? mistral_spm : mistral},
                 {"Gemma", "<start_of_turn>", "<end_of_turn>", gemma}};
    const char *text = NULL;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!has_token(t, known[i].open) || !has_token(t, known[i].close)) continue;
        if (text) return NULL; /* could be either */
        text = known[i].text;
        *form = known[i].form;
    }
    return text;
}
