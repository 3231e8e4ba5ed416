/* SPDX-License-Identifier: MIT
 *
 * edgewise: run language models on the machine you have.
 *
 * An engine owns threads and the memory budget. A model is a GGUF file opened by an engine: weights
 * and vocabulary, immutable, shared by any number of sessions. A session is one timeline of tokens
 * with its KV cache. A sampler chooses tokens from logits.
 *
 *   ew_engine_new -> ew_model_open -> ew_session_new + ew_sampler_new -> ew_generate
 *
 * Conventions. A function that can fail returns ew_status and, when err is not NULL, writes one
 * sentence there. A constructor writes *out last and sets it NULL on failure; a destructor takes
 * NULL. An options struct may be NULL (all defaults); otherwise fill it with its _defaults function
 * and change members. Memory that the library hands over is freed with ew_free. Sizes are bytes
 * unless the name says otherwise. Strings are UTF-8 and need not be terminated where a length is
 * given.
 *
 * Threads. Models may be used from any thread. A session, a sampler and a detokenizer belong to one
 * thread at a time; only ew_session_cancel may come from another. Sessions of one engine take turns
 * on its threads. */
#ifndef EDGEWISE_H
#define EDGEWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
# define EW_API __attribute__((visibility("default")))
#else
# define EW_API
#endif

#define EW_VERSION "0.1.0"

/* ---- errors --------------------------------------------------------------------------------- */

typedef enum ew_status {
    EW_OK = 0,
    EW_EINVAL,       /* an argument is out of range or contradicts another */
    EW_EIO,          /* the system refused: missing file, full disk, ... */
    EW_EFORMAT,      /* the bytes are not what they should be */
    EW_EUNSUPPORTED, /* well formed, but nothing here can do it (named) */
    EW_ENOMEM,       /* out of memory, or over the engine's budget */
    EW_EFULL,        /* the context is full */
    EW_EMISMATCH,    /* belongs to another model or another version */
    EW_ECANCEL       /* ended by ew_session_cancel or by a callback */
} ew_status;

typedef struct ew_error {
    ew_status status;
    char text[512]; /* one sentence without a full stop, terminated */
} ew_error;

EW_API const char *ew_version(void);
EW_API const char *ew_status_name(ew_status s); /* "EW_EIO", static storage */
EW_API void ew_free(void *p);                   /* what the library handed over; NULL is fine */

/* ---- engine --------------------------------------------------------------------------------- */

/* Accounts of the memory budget: every large allocation is charged to one of them. */
typedef enum ew_account {
    EW_MEM_WEIGHTS,  /* the model file's tensors, mapped or read */
    EW_MEM_PACKED,   /* weights rewritten for a fast kernel */
    EW_MEM_KV,       /* key/value cache pages in use */
    EW_MEM_SCRATCH,  /* activations of one step, logits */
    EW_MEM_ADAPTERS, /* LoRA */
    EW_MEM_DRAFT,    /* speculative decoding */
    EW_MEM_FIXED,    /* vocabulary, file header, tables */
    EW_MEM_COUNT
} ew_account;

typedef enum ew_log_level {
    EW_LOG_INFO,
    EW_LOG_WARN
} ew_log_level;

typedef void (*ew_log_fn)(void *ctx, ew_log_level level, const char *text);

typedef struct ew_engine ew_engine;

typedef struct ew_engine_options {
    size_t size;           /* sizeof(ew_engine_options) */
    int32_t n_threads;     /* 0: ew_machine's n_core_usable */
    uint64_t memory_limit; /* bytes for all accounts together; 0: no limit */
    uint32_t cpu_mask;     /* EW_CPU_* features that may be used; 0: all this machine has */
    ew_log_fn log;         /* told of warnings; NULL: nobody */
    void *log_ctx;         /* passed to log */
} ew_engine_options;

/* CPU features a kernel may need; in ew_engine_options.cpu_mask the ones allowed. */
enum {
    EW_CPU_GENERIC = 1u << 0, /* plain C, always there */
    EW_CPU_AVX2 = 1u << 1,    /* AVX2 + FMA + F16C */
    EW_CPU_AVX512 = 1u << 2   /* AVX-512 F, BW, DQ, VL and VNNI; needs EW_CPU_AVX2 too */
};

EW_API void ew_engine_defaults(ew_engine_options *o);
EW_API ew_status ew_engine_new(ew_engine **out, const ew_engine_options *o, ew_error *err);
/* Models and sessions of the engine must be gone. */
EW_API void ew_engine_free(ew_engine *e);
EW_API int32_t ew_engine_threads(const ew_engine *e);
EW_API uint32_t ew_engine_cpu(const ew_engine *e);            /* EW_CPU_* in use */
EW_API uint64_t ew_engine_memory(ew_engine *e, ew_account a); /* bytes charged now */
EW_API uint64_t ew_engine_memory_peak(ew_engine *e);          /* largest sum of accounts so far */
EW_API uint64_t ew_engine_memory_limit(const ew_engine *e);   /* bytes; 0: no limit */
EW_API const char *ew_account_name(ew_account a);             /* "kv"; static storage */
EW_API ew_status ew_cpu_mask_parse(const char *s, uint32_t *out,
                                   ew_error *err); /* "generic,avx2,avx512" */

/* What the machine offers, read from the system at each call. 0 where it can't be told. */
typedef struct ew_machine {
    size_t size;              /* sizeof(ew_machine), set by the caller */
    int32_t n_core_usable;    /* physical (performance) cores that affinity and a CPU quota leave */
    uint64_t memory_physical; /* bytes */
    uint64_t memory_available; /* bytes: free + reclaimable, within a cgroup's limit */
    uint64_t swap_used;        /* bytes */
    char cpu_name[64];
} ew_machine;

EW_API void ew_machine_read(ew_machine *out);

/* Sequential read bandwidth with the engine's threads over n_bytes of memory, in bytes a second:
 * the best of n_round passes. EW_ENOMEM when n_bytes can't be had. */
EW_API ew_status ew_engine_read_bandwidth(ew_engine *e, uint64_t n_bytes, int32_t n_round,
                                          double *out, ew_error *err);

/* ---- files ---------------------------------------------------------------------------------- */

/* The header of a GGUF file (all parts of a split set): metadata and tensor table. Opens files of
 * any architecture. Views stay valid until the file is closed. */
typedef struct ew_file ew_file;

typedef enum ew_meta_kind {
    EW_META_UINT,
    EW_META_INT,
    EW_META_FLOAT,
    EW_META_BOOL,
    EW_META_STRING,
    EW_META_ARRAY
} ew_meta_kind;

typedef struct ew_meta {
    const char *key; /* terminated */
    ew_meta_kind kind;
    const char *type; /* the file's name for it: "u32", "string", "array of f32" */
    uint64_t u;       /* UINT, BOOL */
    int64_t i;        /* INT */
    double f;         /* FLOAT */
    const char *text; /* STRING: not terminated, text_n bytes */
    size_t text_n;
    uint64_t n_elem;        /* ARRAY */
    ew_meta_kind elem_kind; /* ARRAY */
} ew_meta;

typedef struct ew_tensor_info {
    const char *name;  /* terminated */
    const char *type;  /* "Q4_K" */
    uint32_t n_dims;   /* 1..4 */
    uint64_t shape[4]; /* fastest-varying first, missing ones 1 */
    uint64_t n_bytes;
    uint64_t off_bytes; /* from the start of its file */
    uint32_t part;      /* which file of a split set, from 0 */
} ew_tensor_info;

/* Opens a GGUF file, or the whole set when path is any member of a split one. */
EW_API ew_status ew_file_open(ew_file **out, const char *path, ew_error *err);
EW_API void ew_file_close(ew_file *f);
EW_API uint32_t ew_file_version(const ew_file *f); /* 2 or 3 */
EW_API uint32_t ew_file_n_part(const ew_file *f);  /* 1 unless split */
EW_API uint64_t ew_file_bytes(const ew_file *f);   /* all parts */
EW_API size_t ew_file_n_meta(const ew_file *f);
EW_API size_t ew_file_n_tensor(const ew_file *f);
EW_API void ew_file_meta(const ew_file *f, size_t i, ew_meta *out);
EW_API bool ew_file_find_meta(const ew_file *f, const char *key, ew_meta *out);
/* Element i of the array value with this key; false when there is none. */
EW_API bool ew_file_meta_elem(const ew_file *f, const char *key, uint64_t i, ew_meta *out);
EW_API void ew_file_tensor(const ew_file *f, size_t i, ew_tensor_info *out);

/* ---- model ---------------------------------------------------------------------------------- */

typedef struct ew_model ew_model;

typedef struct ew_model_options {
    size_t size;
    bool no_mmap;           /* read the file into memory instead of mapping it */
    bool lock;              /* keep it from being swapped out (mlock); failing is a warning */
    bool vocab_only;        /* tokenizer and metadata, no weights: no session can be made of it */
    bool no_pack;           /* run from the mapped file instead of rewriting the weights in the
                             * order the kernels read them best: loads at once and shares memory
                             * with other processes, decodes slower; same results to the bit */
    bool float_activations; /* dequantise weights and multiply in float: slow, for comparison */
    /* Called while loading with a share from 0 to 1; false ends it with EW_ECANCEL. */
    bool (*progress)(void *ctx, float share);
    void *progress_ctx;
} ew_model_options;

typedef struct ew_model_info {
    size_t size;                     /* sizeof(ew_model_info), set by the caller */
    const char *architecture, *name; /* terminated; name may be "" */
    const char *file_type;           /* the recipe: "Q4_K_M"; "" when not told */
    uint64_t n_param, n_bytes;       /* of all tensors */
    uint32_t n_layer, n_embd, n_ff, n_head, n_head_kv, head_dim, n_vocab;
    uint32_t ctx_train; /* tokens */
    /* What loading with the options given takes, or took, of EW_MEM_WEIGHTS and EW_MEM_PACKED. */
    uint64_t load_weights, load_packed;
    /* Mixtures of experts: n_ff is an expert's. n_expert 0: dense, and all parameters are active.
     */
    uint32_t n_expert, n_expert_used;
    uint64_t n_param_active; /* that a token uses */
    uint64_t active_bytes; /* of weights that a token reads, in the form that they are loaded to */
} ew_model_info;

EW_API void ew_model_defaults(ew_model_options *o);
EW_API ew_status ew_model_open(ew_model **out, ew_engine *e, const char *path,
                               const ew_model_options *o, ew_error *err);
EW_API void ew_model_close(ew_model *m); /* its sessions must be gone */
EW_API void ew_model_info_get(const ew_model *m, ew_model_info *out);
EW_API const ew_file *ew_model_file(const ew_model *m); /* owned by m */
/* Can a file be run here? EW_OK, or EW_EUNSUPPORTED / EW_EFORMAT with the tensor or key at fault.
 */
EW_API ew_status ew_file_check(const ew_file *f, ew_error *err);

/* ---- text ----------------------------------------------------------------------------------- */

enum {
    EW_TOK_ADD_SPECIAL = 1,  /* bos and eos as the model's metadata say */
    EW_TOK_PARSE_SPECIAL = 2 /* "<|im_end|>" in the text is that token, not its letters */
};

/* *out: n ids (ew_free). Any bytes are accepted; invalid UTF-8 is tokenized byte by byte where the
 * vocabulary can. */
EW_API ew_status ew_tokenize(const ew_model *m, const char *text, size_t text_n, unsigned flags,
                             int32_t **out, size_t *n, ew_error *err);
/* The text of n ids (ew_free), terminated, *out_n bytes. with_special: control tokens are written
 * out as their names, otherwise they give nothing. EW_EINVAL names an id out of range. */
EW_API ew_status ew_detokenize(const ew_model *m, const int32_t *ids, size_t n, bool with_special,
                               char **out, size_t *out_n, ew_error *err);
EW_API int32_t ew_n_vocab(const ew_model *m);
/* The bytes one token adds to a text ("" for control tokens); borrowed. NULL when out of range. */
EW_API const char *ew_token_bytes(const ew_model *m, int32_t id, size_t *n);
/* Its name in the vocabulary as the file has it; borrowed. NULL when out of range. */
EW_API const char *ew_token_name(const ew_model *m, int32_t id, size_t *n);
EW_API bool ew_token_is_control(const ew_model *m, int32_t id);
EW_API bool ew_token_is_eog(const ew_model *m, int32_t id); /* ends a generation */
EW_API int32_t ew_token_bos(const ew_model *m);             /* -1: none */
EW_API int32_t ew_token_eos(const ew_model *m);
EW_API bool ew_model_adds_bos(const ew_model *m);
EW_API const char *ew_tokenizer_name(const ew_model *m); /* "BPE (qwen2)" */

/* Streaming: pushes tokens, gives text that never ends inside a UTF-8 sequence. */
typedef struct ew_detok ew_detok;
EW_API ew_status ew_detok_new(ew_detok **out, const ew_model *m, ew_error *err);
EW_API void ew_detok_free(ew_detok *d);
/* *text: n bytes ready to be shown, borrowed until the next call; may be empty. */
EW_API ew_status ew_detok_push(ew_detok *d, int32_t id, const char **text, size_t *n,
                               ew_error *err);
/* What is left at the end (an incomplete sequence comes out as it is). Starts anew. */
EW_API void ew_detok_flush(ew_detok *d, const char **text, size_t *n);

/* A Jinja template, as models carry one to put a conversation into a prompt. It is a stranger's
 * program: it sees its context and nothing else, and what it may use is bounded. Immutable: any
 * number of threads may render it. */
typedef struct ew_template ew_template;
/* name stands in errors, which have the form "NAME:LINE: ...". EW_EFORMAT when text is no Jinja. */
EW_API ew_status ew_template_new(ew_template **out, const char *text, size_t n, const char *name,
                                 ew_error *err);
EW_API void ew_template_free(ew_template *t);
/* context: a JSON object with the template's variables ("messages", "tools",
 * "add_generation_prompt", "bos_token", ...). clock_s: what strftime_now tells, in seconds since
 * 1970 by the clock on the wall (that is, with the time zone added). *out: out_n bytes, terminated
 * (ew_free). EW_EINVAL when the template raises an error, EW_EUNSUPPORTED names what is missing
 * here. */
EW_API ew_status ew_template_render(const ew_template *t, const char *context, size_t context_n,
                                    int64_t clock_s, char **out, size_t *out_n, ew_error *err);

/* ---- chat ----------------------------------------------------------------------------------- */

/* How a model is talked to: by the template in its file or, where there is none, in a form that its
 * tokens give away. Immutable: any number of threads may use it. Its model must outlive it. */
typedef struct ew_chat ew_chat;

typedef struct ew_message {
    const char *role;       /* "system", "user", "assistant", "tool", or what the template knows */
    const char *text;       /* terminated; NULL: "" */
    const char *reasoning;  /* what an assistant thought before it answered; NULL: nothing */
    const char *tool_calls; /* an assistant's, as a JSON array of {"name", "arguments"}, or as
                             * OpenAI's requests have them; NULL: none */
    const char *tool_call_id; /* of a tool's message: the call it answers; NULL: not said */
    const char *tool_name;    /* of a tool's message; NULL: not said */
} ew_message;

typedef enum ew_think {
    EW_THINK_AUTO, /* as the template does by itself */
    EW_THINK_ON,
    EW_THINK_OFF
} ew_think;

typedef struct ew_chat_options {
    size_t size;
    bool no_reply;         /* the prompt ends with the last message, no answer is opened */
    ew_think think;        /* whether the model is to reason before it answers */
    const char *tools;     /* JSON array of tools as OpenAI's requests have it; NULL: none */
    const char *variables; /* JSON object of more variables for the template; NULL: none */
    int64_t clock_s;       /* see ew_template_render */
} ew_chat_options;

EW_API void ew_chat_defaults(ew_chat_options *o);
/* text: another template than the model's; NULL: its own. EW_EFORMAT or EW_EUNSUPPORTED names what
 * is wrong with a template and where, or says that there is none and no form is known. */
EW_API ew_status ew_chat_new(ew_chat **out, const ew_model *m, const char *text, ew_error *err);
EW_API void ew_chat_free(ew_chat *c);
EW_API const char *ew_chat_name(const ew_chat *c); /* "the model's template", "the ChatML form" */
EW_API bool ew_chat_thinks(const ew_chat *c);      /* the template has a place for reasoning */
/* The prompt of a conversation as ids (ew_free), bos included where the model wants it. Special
 * tokens are recognised where the template writes them and never in a message's text. EW_EINVAL
 * with the template's own words when it refuses the conversation. */
EW_API ew_status ew_chat_tokenize(const ew_chat *c, const ew_message *messages, size_t n_message,
                                  const ew_chat_options *o, int32_t **out, size_t *n,
                                  ew_error *err);

/* An answer taken apart while it comes, by the marks of the model's own format. */
typedef enum ew_part {
    EW_PART_TEXT,
    EW_PART_REASONING,
    EW_PART_CALL /* of a tool, whole: {"name": ..., "arguments": {...}} */
} ew_part;

typedef void (*ew_part_fn)(void *ctx, ew_part part, const char *text, size_t n);

typedef struct ew_reply ew_reply;
/* prompt: what the answer follows, as ew_chat_tokenize gave it (it may have opened a thought). o:
 * the options it was made with; without tools nothing is taken for a call. */
EW_API ew_status ew_reply_new(ew_reply **out, const ew_chat *c, const int32_t *prompt, size_t n,
                              const ew_chat_options *o, ew_part_fn fn, void *ctx, ew_error *err);
EW_API void ew_reply_free(ew_reply *r);
/* Text as it comes from ew_generate with this chat. Calls fn any number of times. */
EW_API ew_status ew_reply_push(ew_reply *r, const char *text, size_t n, ew_error *err);
EW_API ew_status ew_reply_end(ew_reply *r, ew_error *err); /* what is left */

/* ---- session -------------------------------------------------------------------------------- */

typedef struct ew_session ew_session;

typedef enum ew_kv_type {
    EW_KV_F16,
    EW_KV_Q8_0,
    EW_KV_F32
} ew_kv_type;

typedef struct ew_session_options {
    size_t size;
    uint32_t ctx_tokens;   /* 0: the smaller of 8192 and what the model was trained for */
    uint32_t chunk_tokens; /* tokens of a prompt evaluated together; 0: 512 */
    uint32_t page_tokens;  /* KV cache granularity; 0: 64 */
    ew_kv_type type_k, type_v;
} ew_session_options;

/* Bytes a session takes, by account; the same functions that allocate them. */
typedef struct ew_session_cost {
    uint64_t kv_full;  /* KV cache when the context is full */
    uint64_t kv_token; /* KV cache bytes that one token adds (pages are larger) */
    uint64_t scratch;
    uint64_t sampler; /* scratch as well: of a sampler with the default options */
} ew_session_cost;

EW_API void ew_session_defaults(ew_session_options *o);
EW_API const char *ew_kv_type_name(ew_kv_type t); /* "f16" */
EW_API bool ew_kv_type_parse(const char *name, ew_kv_type *out);
/* EW_EINVAL when the options don't fit the model. Does not need the weights. */
EW_API ew_status ew_session_estimate(const ew_model *m, const ew_session_options *o,
                                     ew_session_cost *out, ew_error *err);
/* EW_ENOMEM when the full context, and a sampler, would not fit the budget: the text has the sum
 * and the largest context that does. */
EW_API ew_status ew_session_new(ew_session **out, ew_model *m, const ew_session_options *o,
                                ew_error *err);
EW_API void ew_session_free(ew_session *s);
EW_API uint32_t ew_session_ctx(const ew_session *s);          /* the window, in tokens */
EW_API size_t ew_session_n(const ew_session *s);              /* tokens evaluated */
EW_API const int32_t *ew_session_tokens(const ew_session *s); /* borrowed, ew_session_n of them */
/* Brings the session to exactly these tokens, evaluating only what follows the longest prefix it
 * already holds; the last token is always evaluated so that there are logits. n_cached (may be
 * NULL) gets the length of the prefix kept. EW_EFULL, before any work, when n exceeds the window.
 * On EW_ECANCEL the session keeps the part that was evaluated. */
EW_API ew_status ew_session_sync(ew_session *s, const int32_t *tokens, size_t n, size_t *n_cached,
                                 ew_error *err);
/* Appends and evaluates n tokens. EW_EFULL, before any work, when they don't fit. */
EW_API ew_status ew_session_eval(ew_session *s, const int32_t *tokens, size_t n, ew_error *err);
/* The same, handing over the logits after each token: row i of n, n_vocab floats, borrowed for the
 * call. The callback returns false to end with EW_ECANCEL. */
typedef bool (*ew_logits_fn)(void *ctx, size_t i, const float *logits);
EW_API ew_status ew_session_eval_all(ew_session *s, const int32_t *tokens, size_t n,
                                     ew_logits_fn fn, void *ctx, ew_error *err);
/* Forgets tokens from n_keep on. Where layers see windows, what lies behind them is given back:
 * after a long way back the next evaluation does all tokens anew, and ew_session_sync() says 0
 * cached. */
EW_API void ew_session_rewind(ew_session *s, size_t n_keep);
/* Logits after the last token evaluated, ew_n_vocab floats; NULL before the first and after a
 * rewind. Valid until the session is used again. */
EW_API const float *ew_session_logits(const ew_session *s);
/* From any thread: what is being evaluated ends with EW_ECANCEL within one layer. If nothing is,
 * the next evaluation does, unless ew_session_cancel_clear comes first. */
EW_API void ew_session_cancel(ew_session *s);
EW_API void ew_session_cancel_clear(ew_session *s);
/* A session file holds tokens and KV cache. Loading refuses another model or version
 * (EW_EMISMATCH) and damage (EW_EFORMAT); on failure the session is as before. */
EW_API ew_status ew_session_save(const ew_session *s, const char *path, ew_error *err);
EW_API ew_status ew_session_load(ew_session *s, const char *path, ew_error *err);
/* Bytes of weights and KV cache that one decoded token reads with n_past tokens before it. */
EW_API uint64_t ew_session_bytes_per_token(const ew_session *s, size_t n_past);

/* ---- sampling ------------------------------------------------------------------------------- */

typedef struct ew_sampler ew_sampler;

typedef struct ew_logit_bias {
    int32_t id;
    float bias; /* added to the logit; -INFINITY forbids the token */
} ew_logit_bias;

/* Applied in this order: logit bias, penalties, DRY, temperature, top-k, typical, top-p, min-p,
 * XTC, choice; with mirostat 2, temperature is followed by mirostat alone. */
typedef struct ew_sampler_options {
    size_t size;
    float temperature;     /* 0.8; 0: always the most likely token */
    int32_t top_k;         /* 40; 0: off */
    float top_p;           /* 0.9; 1: off */
    float min_p;           /* 0: off */
    float typical_p;       /* 1: off */
    int32_t repeat_last_n; /* 64 tokens looked at by the penalties; 0: none, -1: all */
    float repeat_penalty;  /* 1: off */
    float frequency_penalty, presence_penalty; /* 0: off */
    float dry_multiplier;                      /* 0: off */
    float dry_base;                            /* 1.75 */
    int32_t dry_allowed_length;                /* 2 */
    int32_t dry_last_n;                        /* -1: all */
    const char *const *dry_breakers;           /* NULL: "\n" ":" "\"" "*" */
    size_t n_dry_breaker;
    float xtc_probability;     /* 0: off */
    float xtc_threshold;       /* 0.1 */
    int32_t mirostat;          /* 0: off, 2: version 2 */
    float mirostat_tau;        /* 5 */
    float mirostat_eta;        /* 0.1 */
    const ew_logit_bias *bias; /* copied */
    size_t n_bias;
    bool ignore_eos; /* end-of-generation tokens are never chosen */
    uint64_t seed;   /* 0: from the clock; ew_sampler_seed tells which */
} ew_sampler_options;

EW_API void ew_sampler_defaults(ew_sampler_options *o);
/* EW_EINVAL names an option out of range. m must outlive the sampler. */
EW_API ew_status ew_sampler_new(ew_sampler **out, const ew_model *m, const ew_sampler_options *o,
                                ew_error *err);
EW_API void ew_sampler_free(ew_sampler *s);
EW_API uint64_t ew_sampler_seed(const ew_sampler *s);
/* Forgets accepted tokens and starts the random numbers again. */
EW_API void ew_sampler_reset(ew_sampler *s);
/* Chooses a token. logits: ew_n_vocab floats, borrowed, not changed. Does not accept it.
 * EW_EFORMAT when no logit is a finite number, EW_EINVAL when bias, ignore_eos and a grammar forbid
 * all that are. Allocates nothing, unless a grammar is set. */
EW_API ew_status ew_sampler_sample(ew_sampler *s, const float *logits, int32_t *out, ew_error *err);
EW_API void ew_sampler_accept(ew_sampler *s, int32_t id); /* joins the penalties' history */

/* A grammar: what a text may be, for the vocabulary of one model. Immutable: any number of samplers
 * and threads may use one, which must outlive them; m must outlive the grammar. docs/grammars.md
 * has both notations. */
typedef struct ew_grammar ew_grammar;

/* GBNF, as llama.cpp reads it. EW_EFORMAT with line and column. */
EW_API ew_status ew_grammar_new_gbnf(ew_grammar **out, ew_model *m, const char *text, size_t n,
                                     ew_error *err);
/* JSON that a JSON Schema accepts; the schema {} is any value, {"type": "object"} any object.
 * EW_EFORMAT when it is no schema; EW_EUNSUPPORTED names the keyword that can't be promised and
 * where it stands: none is ignored. */
EW_API ew_status ew_grammar_new_json_schema(ew_grammar **out, ew_model *m, const char *text,
                                            size_t n, ew_error *err);
EW_API void ew_grammar_free(ew_grammar *g);

/* From here on what the sampler chooses follows the grammar, from its beginning: tokens accepted
 * before don't count, tokens accepted later do. NULL: no grammar. after (may be NULL, copied):
 * choices stay free until the tokens accepted have this text in them ("</think>"); up to four
 * blanks may then come first. The mask is applied after logit bias, penalties and DRY and before
 * every cut, so that something is always left; end-of-generation tokens are allowed where the text
 * may end, control tokens only where the grammar names them. Accepting a token that the grammar
 * forbids makes the next ew_sampler_sample fail. To go back: call it again and accept what is kept.
 * ew_sampler_reset starts the grammar again. Its cache grows while sampling, up to a bound.
 * EW_EMISMATCH when the grammar is for another vocabulary. */
EW_API ew_status ew_sampler_set_grammar(ew_sampler *s, const ew_grammar *g, const char *after,
                                        ew_error *err);
/* The text is complete and the grammar lets nothing follow: there is no need to go on to an
 * end-of-generation token. False without a grammar. */
EW_API bool ew_sampler_is_complete(const ew_sampler *s);

/* ---- generation ----------------------------------------------------------------------------- */

typedef enum ew_stop_reason {
    EW_STOP_EOG,     /* the model ended its answer (the token is not part of the text), or the
                      * answer is all that the grammar allows */
    EW_STOP_STRING,  /* a stop string came up (not part of the text) */
    EW_STOP_LENGTH,  /* n_predict tokens */
    EW_STOP_CONTEXT, /* the window is full */
    EW_STOP_CANCEL   /* ew_session_cancel, or on_text returned false */
} ew_stop_reason;

typedef struct ew_generate_options {
    size_t size;
    int64_t n_predict; /* most tokens to generate; -1: until the model ends or the window is full */
    const char *const *stop; /* n_stop strings that end the text */
    size_t n_stop;
    bool ignore_eos; /* goes on after an end-of-generation token (use the sampler's option too) */
    bool (*on_text)(void *ctx, const char *text, size_t n); /* whole UTF-8 sequences; may be NULL */
    void *ctx;
    const ew_grammar *grammar; /* what the generated text may be; NULL: anything */
    const char *grammar_after; /* holds only after this text, as in ew_sampler_set_grammar; NULL: at
                                * once, or in a chat when the thought that the prompt opens ends */
    /* The answer is one in this chat: the template's own ends end it, and tokens that are marks of
     * its format are part of the text, for ew_reply_push. NULL: just text. */
    const ew_chat *chat;
} ew_generate_options;

/* Counts and times of one generation, in microseconds of a monotonic clock.
 * wall rate = n_generated / t_wall; decode rate = (n_generated - 1) / t_decode;
 * prefill rate = n_evaluated / t_prefill. */
typedef struct ew_generate_result {
    ew_stop_reason reason;
    size_t n_prompt;       /* tokens of the prompt */
    size_t n_cached;       /* of them kept from before */
    size_t n_evaluated;    /* of them evaluated now */
    size_t n_generated;    /* tokens chosen, an end-of-generation token included */
    uint64_t t_prefill_us; /* evaluating the prompt */
    uint64_t t_first_us;   /* from the call to the first token */
    uint64_t t_decode_us;  /* from the first token to the last */
    uint64_t t_wall_us;    /* the whole call */
} ew_generate_result;

EW_API void ew_generate_defaults(ew_generate_options *o);
/* "stop" (EOG), "string", "length", "context", "cancel" */
EW_API const char *ew_stop_reason_name(ew_stop_reason r);
/* Syncs the session to the prompt, then samples and evaluates until something ends it. The session
 * then holds the prompt and the generated tokens that were evaluated. With n 0 it goes on from what
 * the session holds, whose logits must be there (EW_EINVAL otherwise).
 * A stop for any ew_stop_reason is EW_OK; a prompt that exceeds the window is EW_EFULL, before any
 * work. out (may be NULL) and the text so far are complete on failure, too.
 * The sampler's history becomes the prompt, then its own tokens join; its random numbers go on. A
 * grammar that was set in the sampler before is dropped; the options' one holds for this call. */
EW_API ew_status ew_generate(ew_session *s, ew_sampler *sampler, const int32_t *prompt, size_t n,
                             const ew_generate_options *o, ew_generate_result *out, ew_error *err);

#ifdef __cplusplus
}
#endif
#endif
