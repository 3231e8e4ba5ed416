/* SPDX-License-Identifier: MIT
 *
 * Models that are on this machine already: GGUF files in the folders where people and other
 * programs keep them. Nothing is copied, moved or written. */
#ifndef EW_STORE_FIND_H
#define EW_STORE_FIND_H

#include "base/error.h"

/* The folders looked at. Strings are borrowed; NULL ones are skipped. */
typedef struct {
    const char *here;         /* "models": GGUF files in the working directory's folder */
    const char *ollama[4];    /* stores: manifests/ and blobs/ */
    const char *lm_studio[2]; /* PUBLISHER/REPOSITORY/FILE.gguf */
    const char *hugging_face; /* hub: models--OWNER--NAME/snapshots/REVISION/FILE.gguf */
    const char *llama_cpp;    /* FILE.gguf */
    char *owned[8];           /* private: what find_places_init made */
    size_t n_owned;
} find_places;

/* The usual places, from HOME, OLLAMA_MODELS, HF_HOME, HF_HUB_CACHE, XDG_CACHE_HOME, LLAMA_CACHE.
 */
void find_places_init(find_places *p);
void find_places_fini(find_places *p);

typedef struct {
    char *path;             /* the file to open; of a split set the first part */
    char *name;             /* "qwen2.5:7b" of Ollama's, otherwise the file's without ".gguf" */
    const char *source;     /* "Ollama", static storage */
    uint64_t bytes;         /* of all parts */
    int64_t t_modified;     /* seconds since 1970 */
    uint64_t device, inode; /* tells links to one file apart from copies */
} found_model;

/* Most recently modified first. denied: a folder that exists and can't be read, "" if none. */
typedef struct {
    found_model *v;
    size_t n;
    char denied[256];
} found_list;

ew_status find_models(found_list *out, const find_places *p, ew_error *err);
void found_list_fini(found_list *l);

/* The model of this name: Ollama's with or without ":latest", a file's with or without ".gguf";
 * letter case does not matter. NULL when there is none. */
const found_model *find_by_name(const found_list *l, const char *name);

#endif
