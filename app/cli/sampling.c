/* SPDX-License-Identifier: MIT */
#include "cli/sampling.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* llama.cpp's form, "15043+1.5", "15043-2" or "15043-inf": the sign separates id and value. */
static ew_status parse_bias(void *at, const char *value, ew_error *err) {
    bias_list *l = at;
    const size_t digits = strspn(value, "0123456789");
    const char *sign = value + digits;
    ew_logit_bias *v;
    double bias;
    char *end;
    long id;

    id = strtol(value, NULL, 10);
    bias = strtod(sign, &end);
    if (digits == 0 || digits > 9 || (*sign != '+' && *sign != '-') || *end || end == sign ||
        isnan(bias) || bias == (double)INFINITY)
        return fail(err, EW_EINVAL, "expected a token id and a signed number, such as 15043+1.5");
    v = mem_resize(l->v, l->n + 1, sizeof *v);
    if (!v) return fail(err, EW_ENOMEM, "out of memory");
    l->v = v;
    l->v[l->n++] = (ew_logit_bias){(int32_t)id, (float)bias};
    return EW_OK;
}

static ew_status check_mirostat(void *at, const char *value, ew_error *err) {
    int64_t v;

    (void)at;
    if (!parse_int(value, &v) || v != 1) return EW_OK; /* what else is wrong is said elsewhere */
    return fail(err, EW_EINVAL, "expected 0 or 2");
}

static ew_status check_text(void *at, const char *value, ew_error *err) {
    (void)at;
    return *value ? EW_OK : fail(err, EW_EINVAL, "expected a text that is not empty");
}

enum {
    LAST_N_MAX = 1 << 20 /* the engine's, as are the other bounds that are not for good sense */
};

#define AT(member) offsetof(sampling_args, member)

static const option sampling_table[] = {
    {"-n --n-predict --predict --num-predict", "N",
     "most tokens to generate; -1: until the model ends its answer or\n"
     "the context is full (-1)",
     OPT_INT, AT(n_predict), -1, 9e15, NULL},
    {"--stop", "TEXT", "ends the answer where TEXT comes up; repeatable", OPT_LIST, AT(stop), 0, 0,
     check_text},
    {"--temp --temperature", "T", "0: always the most likely token (0.8)", OPT_REAL, AT(temp), 0,
     1000, NULL},
    {"--top-k", "N", "choose among the N most likely; 0: off (40)", OPT_INT, AT(top_k), 0,
     2147483647, NULL},
    {"--top-p", "P", "choose among the likeliest with this total; 1: off (0.9)", OPT_REAL,
     AT(top_p), 0, 1, NULL},
    {"--min-p", "P", "drop tokens below P times the likeliest; 0: off (0)", OPT_REAL, AT(min_p), 0,
     1, NULL},
    {"--typical --typical-p", "P", "locally typical sampling; 1: off (1)", OPT_REAL, AT(typical_p),
     0, 1, NULL},
    {"--repeat-penalty", "X", "divide the logits of repeated tokens; 1: off (1)", OPT_REAL,
     AT(repeat_penalty), 0.001, 1000, NULL},
    {"--repeat-last-n", "N", "tokens the penalties look at; 0: none, -1: all (64)", OPT_INT,
     AT(repeat_last_n), -1, LAST_N_MAX, NULL},
    {"--presence-penalty", "X", "subtract from tokens that occurred (0)", OPT_REAL,
     AT(presence_penalty), -100, 100, NULL},
    {"--frequency-penalty", "X", "subtract for each occurrence (0)", OPT_REAL,
     AT(frequency_penalty), -100, 100, NULL},
    {"--dry-multiplier", "X", "penalty on repeated sequences (DRY); 0: off (0)", OPT_REAL,
     AT(dry_multiplier), 0, 1000, NULL},
    {"--dry-base", "X", "its growth with each repeated token (1.75)", OPT_REAL, AT(dry_base), 1,
     1000, NULL},
    {"--dry-allowed-length", "N", "longest repetition without penalty (2)", OPT_INT,
     AT(dry_allowed_length), 0, 2147483647, NULL},
    {"--dry-penalty-last-n", "N", "tokens DRY looks at; -1: all (-1)", OPT_INT, AT(dry_last_n), -1,
     LAST_N_MAX, NULL},
    {"--dry-sequence-breaker", "TEXT", "text that ends a sequence; repeatable (\\n : \" *)",
     OPT_LIST, AT(dry_breakers), 0, 0, check_text},
    {"--xtc-probability", "P", "chance of leaving out the likeliest (XTC); 0: off (0)", OPT_REAL,
     AT(xtc_probability), 0, 1, NULL},
    {"--xtc-threshold", "P", "those with at least this probability (0.1)", OPT_REAL,
     AT(xtc_threshold), 0, 1, NULL},
    {"--mirostat", "N", "0: off, 2: version 2, in place of the cut-offs above (0)", OPT_INT,
     AT(mirostat), 0, 2, check_mirostat},
    {"--mirostat-ent --mirostat-tau", "X", "its target entropy (5)", OPT_REAL, AT(mirostat_tau), 0,
     1000, NULL},
    {"--mirostat-lr --mirostat-eta", "X", "its learning rate (0.1)", OPT_REAL, AT(mirostat_eta), 0,
     1000, NULL},
    {"-s --seed", "N", "the same seed gives the same text; below 1: another each time (-1)",
     OPT_INT, AT(seed), -1, 9e15, NULL},
    {"--logit-bias", "ID(+|-)BIAS", "add to a token's logit: 15043+1.5, 15043-inf; repeatable",
     OPT_CALL, AT(bias), 0, 0, parse_bias},
    {"--ignore-eos", NULL, "never end the answer before -n tokens or a full context", OPT_FLAG,
     AT(ignore_eos), 0, 0, NULL},
};

/* What the engine takes by default, so that it is written down in one place only. */
void sampling_args_init(sampling_args *a) {
    ew_sampler_options o;

    ew_sampler_defaults(&o);
    *a = (sampling_args){.temp = (double)o.temperature,
                         .top_k = o.top_k,
                         .top_p = (double)o.top_p,
                         .min_p = (double)o.min_p,
                         .typical_p = (double)o.typical_p,
                         .repeat_last_n = o.repeat_last_n,
                         .repeat_penalty = (double)o.repeat_penalty,
                         .frequency_penalty = (double)o.frequency_penalty,
                         .presence_penalty = (double)o.presence_penalty,
                         .dry_multiplier = (double)o.dry_multiplier,
                         .dry_base = (double)o.dry_base,
                         .dry_allowed_length = o.dry_allowed_length,
                         .dry_last_n = o.dry_last_n,
                         .xtc_probability = (double)o.xtc_probability,
                         .xtc_threshold = (double)o.xtc_threshold,
                         .mirostat = o.mirostat,
                         .mirostat_tau = (double)o.mirostat_tau,
                         .mirostat_eta = (double)o.mirostat_eta,
                         .seed = -1,
                         .n_predict = -1};
}

void sampling_args_fini(sampling_args *a) {
    text_list_fini(&a->stop);
    text_list_fini(&a->dry_breakers);
    mem_free(a->bias.v);
    a->bias = (bias_list){0};
}

option_group sampling_args_group(sampling_args *a) {
    return (option_group){"Sampling", sampling_table,
                          sizeof sampling_table / sizeof sampling_table[0], a};
}

ew_status sampling_check(const sampling_args *a, int32_t n_vocab, ew_error *err) {
    for (size_t i = 0; i < a->bias.n; i++)
        if (a->bias.v[i].id >= n_vocab)
            return fail(err, EW_EINVAL, "option --logit-bias: token %d: the vocabulary has %d",
                        (int)a->bias.v[i].id, (int)n_vocab);
    return EW_OK;
}

void sampling_options(const sampling_args *a, ew_sampler_options *out) {
    ew_sampler_defaults(out);
    out->temperature = (float)a->temp;
    out->top_k = (int32_t)a->top_k;
    out->top_p = (float)a->top_p;
    out->min_p = (float)a->min_p;
    out->typical_p = (float)a->typical_p;
    out->repeat_last_n = (int32_t)a->repeat_last_n;
    out->repeat_penalty = (float)a->repeat_penalty;
    out->frequency_penalty = (float)a->frequency_penalty;
    out->presence_penalty = (float)a->presence_penalty;
    out->dry_multiplier = (float)a->dry_multiplier;
    out->dry_base = (float)a->dry_base;
    out->dry_allowed_length = (int32_t)a->dry_allowed_length;
    out->dry_last_n = (int32_t)a->dry_last_n;
    out->dry_breakers = a->dry_breakers.n ? a->dry_breakers.v : NULL;
    out->n_dry_breaker = a->dry_breakers.n;
    out->xtc_probability = (float)a->xtc_probability;
    out->xtc_threshold = (float)a->xtc_threshold;
    out->mirostat = (int32_t)a->mirostat;
    out->mirostat_tau = (float)a->mirostat_tau;
    out->mirostat_eta = (float)a->mirostat_eta;
    out->bias = a->bias.v;
    out->n_bias = a->bias.n;
    out->ignore_eos = a->ignore_eos;
    out->seed = a->seed > 0 ? (uint64_t)a->seed : 0;
}
