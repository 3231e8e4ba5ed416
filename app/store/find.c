/* SPDX-License-Identifier: MIT */
#include "store/find.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_DEPTH = 6,          /* folders below a place; Hugging Face's cache needs 4 */
    MAX_ENTRIES = 100000,   /* directory entries looked at in one place */
    MAX_PATH_LEN = 4096,    /* longer ones are skipped */
    MAX_MANIFEST = 1 << 20, /* bytes; real ones have about one KiB */
    DIGEST_LEN = 64         /* hex digits of a sha256 */
};

/* One walk through one place. */
typedef struct {
    found_list *list;
    const char *source;
    size_t n_entry;
    ew_status rc;
} walk;

/* ---- the list ----------------------------------------------------------------------------- */

static void found_model_fini(found_model *m) {
    mem_free(m->path);
    mem_free(m->name);
}

void found_list_fini(found_list *l) {
    for (size_t i = 0; i < l->n; i++) found_model_fini(&l->v[i]);
    mem_free(l->v);
    *l = (found_list){0};
}

static bool is_listed(const found_list *l, const struct stat *st, const char *name) {
    for (size_t i = 0; i < l->n; i++) {
        const found_model *m = &l->v[i];

        if (m->device == (uint64_t)st->st_dev && m->inode == (uint64_t)st->st_ino &&
            strcmp(m->name, name) == 0)
            return true;
    }
    return false;
}

static void add_model(walk *w, const char *path, str name, const struct stat *st, uint64_t bytes,
                      int64_t t_modified) {
    found_list *l = w->list;
    found_model m = {.source = w->source,
                     .bytes = bytes,
                     .t_modified = t_modified,
                     .device = (uint64_t)st->st_dev,
                     .inode = (uint64_t)st->st_ino};
    found_model *v;

    m.path = mem_copy_str(path, strlen(path));
    m.name = mem_copy_str(name.p, name.n);
    v = m.path && m.name ? mem_resize(l->v, l->n + 1, sizeof *v) : NULL;
    if (v) l->v = v;
    if (!v || is_listed(l, st, m.name)) {
        if (!v) w->rc = EW_ENOMEM;
        found_model_fini(&m);
        return;
    }
    l->v[l->n++] = m;
}

/* ---- GGUF files --------------------------------------------------------------------------- */

static bool ends_with(str s, const char *end) {
    const size_t n = strlen(end);

    return s.n >= n && strncasecmp(s.p + s.n - n, end, n) == 0;
}

/* "NAME-00002-of-00003": the part's number, the number of parts, and the length of NAME. */
static bool split_name(str stem, unsigned *part, unsigned *n_part, size_t *base_n) {
    const size_t tail = strlen("-00001-of-00001");
    char copy[16] = {0};
    int used = 0;

    if (stem.n <= tail) return false;
    memcpy(copy, stem.p + stem.n - tail, tail);
    /* NOLINTNEXTLINE(cert-err34-c): five digits fit */
    if (sscanf(copy, "-%5u-of-%5u%n", part, n_part, &used) != 2 || used != (int)tail) return false;
    *base_n = stem.n - tail;
    return *part >= 1 && *n_part >= 1 && *n_part <= 1000;
}

/* Bytes of all parts, found beside the first one. */
static uint64_t split_bytes(const char *first, size_t stem_n, unsigned n_part) {
    uint64_t sum = 0;

    for (unsigned i = 1; i <= n_part; i++) {
        char path[MAX_PATH_LEN];
        struct stat st;

        snprintf(path, sizeof path, "%.*s-%05u-of-%05u.gguf", (int)stem_n, first, i, n_part);
        if (stat(path, &st) == 0) sum += (uint64_t)st.st_size;
    }
    return sum;
}

static bool has_magic(const char *path) {
    char magic[4] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not stop us */
    ssize_t n;

    if (fd < 0) return false;
    n = read(fd, magic, sizeof magic);
    close(fd);
    return n == 4 && memcmp(magic, "GGUF", 4) == 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void consider_file(walk *w, const char *path, const struct stat *st) {
    const char *file = base_name(path);
    str name = str_of(file);
    uint64_t bytes = (uint64_t)st->st_size;
    unsigned part, n_part;
    size_t base_n;

    if (!ends_with(name, ".gguf")) return;
    name.n -= strlen(".gguf");
    /* Vision projectors lie beside models and are none. */
    if (strstr(file, "mmproj") || !has_magic(path)) return;
    if (split_name(name, &part, &n_part, &base_n)) {
        if (part != 1) return;
        bytes = split_bytes(path, strlen(path) - strlen(file) + base_n, n_part);
        name.n = base_n;
    }
    add_model(w, path, name, st, bytes, (int64_t)st->st_mtime);
}

/* ---- walking folders ---------------------------------------------------------------------- */

static DIR *open_folder(walk *w, const char *path) {
    DIR *d = opendir(path);

    if (!d && errno == EACCES && !w->list->denied[0])
        snprintf(w->list->denied, sizeof w->list->denied, "%.*s", (int)sizeof w->list->denied - 1,
                 path);
    return d;
}

/* Calls visit for each file below path. Links are followed (Hugging Face's snapshots are links
 * into its blobs); MAX_DEPTH ends a link that leads back. */
static void walk_folder(walk *w, const char *path, int depth,
                        void (*visit)(walk *w, const char *path, const struct stat *st)) {
    DIR *d = depth < MAX_DEPTH ? open_folder(w, path) : NULL;
    struct dirent *e;

    if (!d) return;
    while (w->rc == EW_OK && w->n_entry < MAX_ENTRIES && (e = readdir(d))) {
        char sub[MAX_PATH_LEN];
        struct stat st;

        w->n_entry++;
        if (e->d_name[0] == '.') continue;
        if ((size_t)snprintf(sub, sizeof sub, "%s/%s", path, e->d_name) >= sizeof sub) continue;
        if (stat(sub, &st) != 0) continue;
        if (S_ISDIR(st.st_mode))
            walk_folder(w, sub, depth + 1, visit);
        else if (S_ISREG(st.st_mode))
            visit(w, sub, &st);
    }
    closedir(d);
}

static ew_status walk_files(found_list *l, const char *path, const char *source) {
    walk w = {.list = l, .source = source};

    if (path) walk_folder(&w, path, 0, consider_file);
    return w.rc;
}

/* ---- Ollama's store ----------------------------------------------------------------------- */

/* "ROOT/manifests/registry.ollama.ai/library/qwen2.5/7b" -> "qwen2.5:7b". What is the default is
 * left out, as Ollama does when it lists. */
static bool manifest_name(const char *path, strbuf *out) {
    static const char host[] = "registry.ollama.ai/", library[] = "library/";
    const char *at = path, *slash, *next;

    /* The last four parts; a host, a namespace or a model never has a slash. */
    for (slash = path + strlen(path), next = NULL; slash > path; slash--) {
        if (*slash != '/') continue;
        at = slash + 1;
        if (next && strncmp(at, "manifests/", 10) == 0) break;
        next = at;
    }
    if (slash == path) return false;
    at += strlen("manifests/");
    if (strncmp(at, host, sizeof host - 1) == 0) {
        at += sizeof host - 1;
        if (strncmp(at, library, sizeof library - 1) == 0) at += sizeof library - 1;
    }
    slash = strrchr(at, '/');
    if (!slash) return false;
    strbuf_add(out, at, (size_t)(slash - at));
    strbuf_printf(out, ":%s", slash + 1);
    return !out->failed;
}

/* The digest comes from a file that strangers may have written: only hex digits are let into a
 * path. */
static bool digest_is_sound(const char *digest) {
    return strncmp(digest, "sha256:", 7) == 0 &&
           strspn(digest + 7, "0123456789abcdef") == DIGEST_LEN && !digest[7 + DIGEST_LEN];
}

/* The digest of the manifest's model layer into out. */
static bool model_digest(const char *manifest, size_t n, char out[DIGEST_LEN + 1]) {
    json_t *root = json_loadb(manifest, n, 0, NULL);
    json_t *layers = json_object_get(root, "layers");
    bool is_found = false;

    for (size_t i = 0; i < json_array_size(layers) && !is_found; i++) {
        json_t *layer = json_array_get(layers, i);
        const char *type = json_string_value(json_object_get(layer, "mediaType"));
        const char *digest = json_string_value(json_object_get(layer, "digest"));

        if (!type || !digest || strcmp(type, "application/vnd.ollama.image.model") != 0) continue;
        if (!digest_is_sound(digest)) break;
        memcpy(out, digest + 7, DIGEST_LEN + 1);
        is_found = true;
    }
    json_decref(root);
    return is_found;
}

static void consider_manifest(walk *w, const char *path, const struct stat *st) {
    const char *end = strstr(path, "/manifests/");
    char digest[DIGEST_LEN + 1] = {0}, blob[MAX_PATH_LEN];
    char *text = NULL;
    struct stat blob_st;
    strbuf name;
    size_t n = 0;

    strbuf_init(&name, MAX_PATH_LEN);
    if (!end || file_read(&text, &n, path, MAX_MANIFEST, NULL)) goto out;
    for (const char *p; (p = strstr(end + 1, "/manifests/"));) end = p;
    if (!model_digest(text, n, digest) || !manifest_name(path, &name)) goto out;
    if ((size_t)snprintf(blob, sizeof blob, "%.*s/blobs/sha256-%s", (int)(end - path), path,
                         digest) >= sizeof blob)
        goto out;
    if (stat(blob, &blob_st) != 0 || !S_ISREG(blob_st.st_mode) || !has_magic(blob)) goto out;
    add_model(w, blob, (str){name.p, name.n}, &blob_st, (uint64_t)blob_st.st_size,
              (int64_t)st->st_mtime);
out:
    strbuf_fini(&name);
    mem_free(text);
}

static ew_status walk_ollama(found_list *l, const char *root) {
    walk w = {.list = l, .source = "Ollama"};
    char path[MAX_PATH_LEN];

    if (!root || (size_t)snprintf(path, sizeof path, "%s/manifests", root) >= sizeof path)
        return EW_OK;
    walk_folder(&w, path, 0, consider_manifest);
    return w.rc;
}

/* ---- all places --------------------------------------------------------------------------- */

static int by_time(const void *pa, const void *pb) {
    const found_model *a = pa, *b = pb;

    if (a->t_modified != b->t_modified) return a->t_modified < b->t_modified ? 1 : -1;
    return strcmp(a->name, b->name);
}

ew_status find_models(found_list *out, const find_places *p, ew_error *err) {
    ew_status rc;

    *out = (found_list){0};
    rc = walk_files(out, p->here, "models/");
    for (size_t i = 0; i < 4 && !rc; i++) rc = walk_ollama(out, p->ollama[i]);
    for (size_t i = 0; i < 2 && !rc; i++) rc = walk_files(out, p->lm_studio[i], "LM Studio");
    if (!rc) rc = walk_files(out, p->hugging_face, "Hugging Face");
    if (!rc) rc = walk_files(out, p->llama_cpp, "llama.cpp");
    if (rc) {
        found_list_fini(out);
        return fail(err, rc, "looking for models: out of memory");
    }
    if (out->n) qsort(out->v, out->n, sizeof *out->v, by_time);
    return EW_OK;
}

const found_model *find_by_name(const found_list *l, const char *name) {
    str want = str_of(name);

    if (ends_with(want, ".gguf")) want.n -= strlen(".gguf");
    for (size_t i = 0; i < l->n; i++) {
        const str have = str_of(l->v[i].name);

        if (have.n < want.n || strncasecmp(have.p, want.p, want.n) != 0) continue;
        if (have.n == want.n || strcmp(have.p + want.n, ":latest") == 0) return &l->v[i];
    }
    return NULL;
}

/* "BASE/REST", kept by the places; NULL where base is not set. */
static const char *place(find_places *p, const char *base, const char *rest) {
    strbuf b;
    char *path;

    if (!base) return NULL;
    strbuf_init(&b, MAX_PATH_LEN);
    strbuf_printf(&b, "%s%s", base, rest);
    path = strbuf_take(&b, NULL); /* a path that long isn't looked at */
    if (path) p->owned[p->n_owned++] = path;
    return path;
}

static const char *env(const char *name) {
    const char *v = getenv(name);

    return v && *v ? v : NULL;
}

void find_places_init(find_places *p) {
    const char *home = env("HOME"), *cache = env("XDG_CACHE_HOME");

    *p = (find_places){.here = "models"};
    p->ollama[0] = env("OLLAMA_MODELS");
    p->ollama[1] = place(p, home, "/.ollama/models");
    p->ollama[2] = "/usr/share/ollama/.ollama/models";
    p->ollama[3] = "/var/lib/ollama/.ollama/models";
    p->lm_studio[0] = place(p, home, "/.lmstudio/models");
    p->lm_studio[1] = place(p, home, "/.cache/lm-studio/models");
    if (!cache) cache = place(p, home, "/.cache");
    p->hugging_face = env("HF_HUB_CACHE");
    if (!p->hugging_face) p->hugging_face = place(p, env("HF_HOME"), "/hub");
    if (!p->hugging_face) p->hugging_face = place(p, cache, "/huggingface/hub");
    p->llama_cpp = env("LLAMA_CACHE");
#ifdef __APPLE__
    if (!p->llama_cpp) p->llama_cpp = place(p, home, "/Library/Caches/llama.cpp");
#endif
    if (!p->llama_cpp) p->llama_cpp = place(p, cache, "/llama.cpp");
}

void find_places_fini(find_places *p) {
    for (size_t i = 0; i < p->n_owned; i++) mem_free(p->owned[i]);
    *p = (find_places){0};
}
