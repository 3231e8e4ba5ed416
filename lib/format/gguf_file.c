/* SPDX-License-Identifier: MIT */
#include "format/gguf_file.h"

#include "base/mem.h"

/* Appends the name and its NUL at *at. */
static const char *copy(char **at, str name) {
    char *p = *at;

    memcpy(p, name.p, name.n);
    p[name.n] = 0;
    *at += name.n + 1;
    return p;
}

static ew_status copy_names(ew_file *f, const char *path, ew_error *err) {
    const gguf *g = &f->g;
    size_t n = 0;
    char *at;

    for (size_t i = 0; i < g->n_kv; i++) n += g->kv[i].key.n + 1;
    for (size_t i = 0; i < g->n_tensor; i++) n += g->tensor[i].name.n + 1;
    f->names = at = mem_array(n, 1);
    f->key = mem_array(g->n_kv, sizeof *f->key);
    f->tensor_name = mem_array(g->n_tensor, sizeof *f->tensor_name);
    if (!f->names || !f->key || !f->tensor_name)
        return fail(err, EW_ENOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < g->n_kv; i++) f->key[i] = copy(&at, g->kv[i].key);
    for (size_t i = 0; i < g->n_tensor; i++) f->tensor_name[i] = copy(&at, g->tensor[i].name);
    return EW_OK;
}

ew_status gguf_file_open(ew_file *f, const char *path, bool is_copy, ew_error *err) {
    ew_status rc;

    *f = (ew_file){0};
    rc = gguf_open(&f->g, path, is_copy, err);
    if (!rc) rc = copy_names(f, path, err);
    if (rc) gguf_file_close(f);
    return rc;
}

void gguf_file_close(ew_file *f) {
    gguf_close(&f->g);
    mem_free(f->names);
    mem_free(f->key);
    mem_free(f->tensor_name);
    *f = (ew_file){0};
}
