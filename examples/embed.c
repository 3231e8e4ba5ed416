/* SPDX-License-Identifier: MIT
 *
 * Generates text with libedgewise: embed MODEL.gguf "Once upon a time"
 *   cc -Iinclude examples/embed.c libedgewise.a -ljansson -lpcre2-8 -lutf8proc -lm -lpthread */
#include "edgewise.h"

#include <stdio.h>
#include <string.h>

static bool print_text(void *ctx, const char *text, size_t n) {
    (void)ctx;
    fwrite(text, 1, n, stdout);
    fflush(stdout);
    return true; /* false would end the generation */
}

int main(int argc, char **argv) {
    ew_engine *engine = NULL;
    ew_model *model = NULL;
    ew_session *session = NULL;
    ew_sampler *sampler = NULL;
    int32_t *prompt = NULL;
    size_t n = 0;
    ew_generate_options options;
    ew_generate_result result;
    ew_error err;
    ew_status rc;

    if (argc != 3) {
        fprintf(stderr, "usage: embed MODEL.gguf PROMPT\n");
        return 2;
    }
    rc = ew_engine_new(&engine, NULL, &err);
    if (!rc) rc = ew_model_open(&model, engine, argv[1], NULL, &err);
    if (!rc) rc = ew_session_new(&session, model, NULL, &err);
    if (!rc) rc = ew_sampler_new(&sampler, model, NULL, &err);
    if (!rc)
        rc = ew_tokenize(model, argv[2], strlen(argv[2]), EW_TOK_ADD_SPECIAL, &prompt, &n, &err);
    ew_generate_defaults(&options);
    options.n_predict = 64;
    options.on_text = print_text;
    if (!rc) rc = ew_generate(session, sampler, prompt, n, &options, &result, &err);
    if (rc) fprintf(stderr, "embed: %s\n", err.text);
    ew_free(prompt);
    ew_sampler_free(sampler);
    ew_session_free(session);
    ew_model_close(model);
    ew_engine_free(engine);
    return rc ? 1 : 0;
}
