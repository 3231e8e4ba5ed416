/* SPDX-License-Identifier: MIT
 *
 * The command. */
#include "bench/mkmodel/mkmodel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: mkmodel --model NAME [--type TYPE] [--pure] [--seed N] OUT.gguf\n"
    "       mkmodel --arch NAME [shape] [--type TYPE] [--pure] [--seed N] OUT.gguf\n"
    "       mkmodel --list | --help\n"
    "Writes a GGUF model with random weights.\n"
    "  --type TYPE        a recipe (Q4_K_M, the default; F16, Q8_0, IQ4_XS, ...) or a type (Q4_K)\n"
    "  --pure             that type for all matrices, no mix\n"
    "  --seed N           1 unless given; the same seed gives the same file\n"
    "Shape, with what it is unless given:\n"
    "  --layers 2  --embd 256  --heads 4  --kv-heads HEADS  --head-dim EMBD/HEADS  --ff 2*EMBD\n"
    "  --vocab 512  --ctx 512  --rope-theta 10000  --tied  --rope-factors llama3|long  --rot HEAD-DIM\n"
    "  --experts 0  --experts-used 2  --ff-expert FF  --ff-shared 0\n"
    "  --chat-template TEXT    instead of the vocabulary's own\n"
    "  --set KEY=VALUE    more metadata, without the architecture's prefix; several times\n"
    "  --vocab-kind spm|bpe|llama3|qwen2|smollm|tinyllama|mistral|r1-llama|r1-qwen\n"
    "With --model these change the named shape.\n";

/* Names of options that take a number, with the place for it. */
typedef struct {
    mk_shape shape;
    const char *type, *out, *chat_template;
    bool is_pure, is_list, is_help, has_shape;
    uint64_t seed;
    char set[512]; /* of --set; replaces that of --model */
} options;

static int complain(const char *what, const char *arg) {
    fprintf(stderr, "mkmodel: %s%s%s\n%s", what, arg ? ": " : "", arg ? arg : "", usage);
    return 2;
}

static bool number(const char *s, uint64_t max, uint64_t *out) {
    char *end;

    errno = 0;
    *out = strtoull(s, &end, 10);
    return s[0] >= '0' && s[0] <= '9' && *end == 0 && errno == 0 && *out <= max;
}

static uint32_t *shape_member(mk_shape *s, const char *option) {
    if (strcmp(option, "--layers") == 0) return &s->n_layer;
    if (strcmp(option, "--embd") == 0) return &s->n_embd;
    if (strcmp(option, "--heads") == 0) return &s->n_head;
    if (strcmp(option, "--kv-heads") == 0) return &s->n_head_kv;
    if (strcmp(option, "--head-dim") == 0) return &s->head_dim;
    if (strcmp(option, "--ff") == 0) return &s->n_ff;
    if (strcmp(option, "--vocab") == 0) return &s->n_vocab;
    if (strcmp(option, "--ctx") == 0) return &s->ctx_train;
    if (strcmp(option, "--rope-theta") == 0) return &s->rope_theta;
    if (strcmp(option, "--rot") == 0) return &s->n_rot;
    if (strcmp(option, "--experts") == 0) return &s->n_expert;
    if (strcmp(option, "--experts-used") == 0) return &s->n_expert_used;
    if (strcmp(option, "--ff-expert") == 0) return &s->n_ff_expert;
    if (strcmp(option, "--ff-shared") == 0) return &s->n_ff_shared;
    return NULL;
}

static bool set_vocab(mk_shape *s, const char *name) {
    if (strcmp(name, "bpe") == 0) { /* the architecture's usual one */
        s->vocab = s->arch && strncmp(s->arch, "qwen", 4) == 0 ? MK_QWEN2 : MK_LLAMA3;
        return true;
    }
    for (int v = 0; v < MK_VOCAB_COUNT; v++) {
        if (strcmp(name, mk_vocab_name((mk_vocab)v)) != 0) continue;
        s->vocab = (mk_vocab)v;
        return true;
    }
    return false;
}

static bool add_pair(options *o, const char *pair) {
    const size_t n = strlen(o->set);

    return snprintf(o->set + n, sizeof o->set - n, "%s ", pair) < (int)(sizeof o->set - n);
}

/* An option with a value; 0, or the exit status after saying what is wrong. */
static int set_value(options *o, const char *option, const char *value) {
    uint32_t *member = shape_member(&o->shape, option);
    uint64_t n;

    if (member) {
        if (!number(value, UINT32_MAX, &n)) return complain(option, value);
        *member = (uint32_t)n;
    } else if (strcmp(option, "--seed") == 0) {
        if (!number(value, UINT64_MAX, &o->seed)) return complain(option, value);
    } else if (strcmp(option, "--type") == 0) {
        o->type = value;
    } else if (strcmp(option, "--model") == 0) {
        const mk_shape *s = mk_shape_find(value);

        if (!s) return complain("no such model (see --list)", value);
        o->shape = *s;
        o->has_shape = true;
    } else if (strcmp(option, "--arch") == 0) {
        if (!mk_arch_find(value)) return complain("no such architecture", value);
        o->shape.arch = value;
        o->has_shape = true;
    } else if (strcmp(option, "--rope-factors") == 0) {
        if (strcmp(value, "llama3") != 0 && strcmp(value, "long") != 0)
            return complain(option, value);
        if (value[1] == 'l')
            o->shape.rope_factor = 8;
        else
            o->shape.has_long_factors = true;
    } else if (strcmp(option, "--set") == 0) {
        if (!strchr(value, '=') || !add_pair(o, value)) return complain(option, value);
    } else if (strcmp(option, "--chat-template") == 0) {
        o->chat_template = value;
    } else if (strcmp(option, "--vocab-kind") == 0) {
        if (!set_vocab(&o->shape, value)) return complain(option, value);
    } else {
        return complain("no such option", option);
    }
    return 0;
}

static int parse(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        int rc;

        if (strcmp(a, "--list") == 0)
            o->is_list = true;
        else if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0)
            o->is_help = true;
        else if (strcmp(a, "--pure") == 0)
            o->is_pure = true;
        else if (strcmp(a, "--tied") == 0)
            o->shape.is_tied = true;
        else if (a[0] != '-' && !o->out)
            o->out = a;
        else if (a[0] != '-')
            return complain("one file at a time", a);
        else if (i + 1 == argc)
            return complain("value missing or no such option", a);
        else if ((rc = set_value(o, a, argv[++i])) != 0)
            return rc;
    }
    if (o->is_list || o->is_help) return 0;
    if (!o->has_shape) return complain("--model or --arch is needed", NULL);
    if (!o->out) return complain("where to?", NULL);
    return 0;
}

/* What was not given follows from what was. */
static void complete(mk_shape *s) {
    if (!s->n_head_kv) s->n_head_kv = s->n_head;
    if (!s->head_dim && s->n_head) s->head_dim = s->n_embd / s->n_head;
    if (!s->n_ff) s->n_ff = 2 * s->n_embd;
    if (s->n_expert && !s->n_expert_used) s->n_expert_used = s->n_expert < 2 ? 1 : 2;
}

static void list_all(void) {
    puts("models:");
    for (size_t i = 0; mk_shape_at(i); i++) {
        const mk_shape *s = mk_shape_at(i);
        const mk_type t = {.recipe = recipe_find("Q4_K_M")};

        printf("  %-30s %-10s %2u layers, %5.2f GB as Q4_K_M\n", s->name, s->arch, s->n_layer,
               (double)mk_tensor_bytes(s, t) / 1e9);
    }
    fputs("recipes:", stdout);
    for (size_t i = 0; recipe_at(i); i++) printf(" %s", recipe_name(recipe_at(i)));
    fputs("\ntypes:", stdout);
    for (uint32_t t = 0; t < TYPE_COUNT; t++)
        if (mk_can_fill((elem_type)t)) printf(" %s", type_get(t)->name);
    puts("");
}

int main(int argc, char **argv) {
    options o = {.type = "Q4_K_M", .seed = 1};
    ew_error err = {0};
    mk_type type;
    int rc;

    o.shape = (mk_shape){.name = "random",
                         .n_layer = 2,
                         .n_embd = 256,
                         .n_head = 4,
                         .n_vocab = 512,
                         .ctx_train = 512,
                         .rope_theta = 10000,
                         .vocab = MK_SPM};
    rc = parse(&o, argc, argv);
    if (rc) return rc;
    if (o.is_help) {
        fputs(usage, stdout);
        return 0;
    }
    if (o.is_list) {
        list_all();
        return 0;
    }
    complete(&o.shape);
    if (o.set[0]) o.shape.set = o.set;
    if (mk_type_parse(&type, o.type, o.is_pure, &err) ||
        mk_write(&o.shape, type, o.seed, o.chat_template, o.out, &err)) {
        fprintf(stderr, "mkmodel: %s\n", err.text);
        return err.status == EW_EINVAL ? 2 : 1;
    }
    return 0;
}
