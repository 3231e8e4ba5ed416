/* SPDX-License-Identifier: MIT
 *
 * Opening a GGUF file, or the set of files that it is a part of. Each part is a complete GGUF file
 * with its own tensor table; the first one holds the metadata. All are parsed alone and then their
 * tables are joined. Parts are found by name (PREFIX-00002-of-00003.gguf) and believed by what they
 * say of themselves (split.no, split.count, split.tensors.count). */
#include "format/gguf.h"

#include "base/mem.h"
#include "format/gguf_impl.h"

#include <stdio.h>
#include <unistd.h>

enum {
    PARTS_MAX = 99999, /* five digits */
    SUFFIX_BYTES = sizeof "-00001-of-00001.gguf" - 1
};

/* What a file says of its set; n_part 1 when it is alone. */
typedef struct {
    uint64_t no, n_part, n_tensor;
} split_info;

static ew_status read_split(split_info *out, const gguf *g, const char *path, ew_error *err) {
    *out = (split_info){.n_part = 1};
    if (!gguf_kv_uint(gguf_find(g, "split.count"), 0, &out->n_part) || out->n_part <= 1) {
        out->n_part = 1;
        return EW_OK;
    }
    if (!gguf_kv_uint(gguf_find(g, "split.no"), 0, &out->no) ||
        !gguf_kv_uint(gguf_find(g, "split.tensors.count"), 0, &out->n_tensor))
        return fail(err, EW_EFORMAT,
                    "%s: is part of a split set but lacks split.no or split.tensors.count", path);
    if (out->n_part > PARTS_MAX || out->no >= out->n_part)
        return fail(err, EW_EFORMAT, "%s: claims to be part %llu of %llu", path,
                    (unsigned long long)out->no + 1, (unsigned long long)out->n_part);
    return EW_OK;
}

/* PREFIX-%05d-of-%05d.gguf (mem_free); i from 0. */
static char *part_path(str prefix, uint64_t i, uint64_t n) {
    strbuf b;

    strbuf_init(&b, 1 << 16);
    strbuf_str(&b, prefix);
    strbuf_printf(&b, "-%05u-of-%05u.gguf", (unsigned)i + 1, (unsigned)n);
    return strbuf_take(&b, NULL);
}

static ew_status check_name(const char *path, const split_info *s, str *prefix, ew_error *err) {
    char want[SUFFIX_BYTES + 1];
    const str whole = str_of(path);

    snprintf(want, sizeof want, "-%05u-of-%05u.gguf", (unsigned)s->no + 1, (unsigned)s->n_part);
    if (whole.n < SUFFIX_BYTES || strcmp(path + whole.n - SUFFIX_BYTES, want) != 0)
        return fail(err, EW_EFORMAT,
                    "%s: is part %u of %u of a split set, but its name doesn't end in %s, so the "
                    "other parts can't be found",
                    path, (unsigned)s->no + 1, (unsigned)s->n_part, want);
    *prefix = (str){path, whole.n - SUFFIX_BYTES};
    return EW_OK;
}

static void close_parts(gguf *part, size_t n) {
    for (size_t i = 0; part && i < n; i++) gguf_close(&part[i]);
    mem_free(part);
}

/* One file with its mapping and path, whatever it is part of. */
static ew_status open_one(gguf *out, const char *path, bool is_copy, ew_error *err) {
    file_map map = {0};
    ew_status rc;

    *out = (gguf){0};
    rc = file_map_open(&map, path, is_copy, err);
    if (rc) return rc;
    rc = gguf_parse(out, map.data, map.size, path, err);
    if (rc) {
        file_map_close(&map);
        return rc;
    }
    out->map = mem_array(1, sizeof *out->map);
    out->path = mem_array(1, sizeof *out->path);
    if (out->map && out->path) {
        out->map[0] = map;
        out->path[0] = mem_copy_str(path, strlen(path));
        out->n_part = 1;
    } else {
        file_map_close(&map);
    }
    if (out->path && out->path[0]) return EW_OK;
    gguf_close(out);
    return fail(err, EW_ENOMEM, "%s: out of memory", path);
}

/* All that are missing in one sentence, so that they can be fetched in one go. */
static ew_status check_present(str prefix, const split_info *s, ew_error *err) {
    strbuf list;
    unsigned n_missing = 0;
    ew_status rc = EW_OK;

    strbuf_init(&list, 256);
    for (uint64_t i = 0; i < s->n_part && !rc; i++) {
        char *path = part_path(prefix, i, s->n_part);

        if (!path)
            rc = fail(err, EW_ENOMEM, "%.*s: out of memory", (int)prefix.n, prefix.p);
        else if (access(path, F_OK) != 0 && n_missing++ < 16)
            strbuf_printf(&list, "%s%u", list.n ? ", " : "", (unsigned)i + 1);
        mem_free(path);
    }
    if (!rc && n_missing)
        rc = fail(err, EW_EIO, "%.*s-*.gguf: missing part %s%s of the set of %u", (int)prefix.n,
                  prefix.p, list.p ? list.p : "?", n_missing > 16 ? ", ..." : "",
                  (unsigned)s->n_part);
    strbuf_fini(&list);
    return rc;
}

/* Does the file belong at place i of the set? */
static ew_status check_member(const gguf *g, const gguf *first, uint64_t i, const split_info *set,
                              ew_error *err) {
    const char *path = g->path[0];
    split_info s;
    str a, b;
    ew_status rc = read_split(&s, g, path, err);

    if (rc) return rc;
    if (s.n_part == set->n_part && s.no != i)
        return fail(err, EW_EFORMAT, "%s: holds part %llu, which makes it a duplicate", path,
                    (unsigned long long)s.no + 1);
    if (s.n_part != set->n_part || s.n_tensor != set->n_tensor)
        return fail(err, EW_EFORMAT,
                    "%s: belongs to another set (%llu parts with %llu tensors, the others say "
                    "%llu with %llu)",
                    path, (unsigned long long)s.n_part, (unsigned long long)s.n_tensor,
                    (unsigned long long)set->n_part, (unsigned long long)set->n_tensor);
    if (gguf_kv_str(gguf_find(g, "general.architecture"), 0, &a) &&
        gguf_kv_str(gguf_find(first, "general.architecture"), 0, &b) && !str_eq(a, b))
        return fail(err, EW_EFORMAT, "%s: belongs to another set: its architecture differs", path);
    return EW_OK;
}

/* Moves the tensors, mappings and paths of all parts into the first one. */
static ew_status join(gguf *part, const split_info *set, ew_error *err) {
    gguf *g = &part[0];
    const size_t n_part = (size_t)set->n_part;
    const char *path = g->path[0];
    size_t n_tensor = 0, at = g->n_tensor;
    gguf_tensor *tensor;
    file_map *map;
    char **paths;

    for (size_t i = 0; i < n_part; i++) n_tensor += part[i].n_tensor;
    if (n_tensor != set->n_tensor)
        return fail(err, EW_EFORMAT,
                    "%s: the %zu parts have %zu tensors, split.tensors.count says "
                    "%llu",
                    path, n_part, n_tensor, (unsigned long long)set->n_tensor);
    tensor = mem_resize(g->tensor, n_tensor, sizeof *tensor);
    if (tensor) g->tensor = tensor;
    map = mem_resize(g->map, n_part, sizeof *map);
    if (map) g->map = map;
    paths = mem_resize(g->path, n_part, sizeof *paths);
    if (paths) g->path = paths;
    if (!tensor || !map || !paths) return fail(err, EW_ENOMEM, "%s: out of memory", path);
    for (size_t i = 1; i < n_part; i++) {
        for (size_t k = 0; k < part[i].n_tensor; k++) {
            tensor[at] = part[i].tensor[k];
            tensor[at++].part = (uint32_t)i;
        }
        map[i] = part[i].map[0];
        paths[i] = part[i].path[0];
        part[i].n_part = 0; /* its mapping and path have moved */
        g->n_part++;
    }
    g->n_tensor = n_tensor;
    return gguf_index_tensors(g, path, err);
}

/* `given` is the member that was opened; it is moved into the set. */
static ew_status open_set(gguf *out, gguf *given, const split_info *set, bool is_copy,
                          ew_error *err) {
    const size_t n = (size_t)set->n_part;
    gguf *part = NULL;
    str prefix;
    ew_status rc = check_name(given->path[0], set, &prefix, err);

    if (!rc) rc = check_present(prefix, set, err);
    if (rc) return rc;
    part = mem_array(n, sizeof *part);
    if (!part) return fail(err, EW_ENOMEM, "%s: out of memory", given->path[0]);
    part[set->no] = *given;
    *given = (gguf){0};
    prefix.p = part[set->no].path[0]; /* where it was: the path's memory has not moved */
    for (size_t i = 0; i < n && !rc; i++) {
        char *path = i == set->no ? NULL : part_path(prefix, i, set->n_part);

        if (i != set->no && !path) rc = fail(err, EW_ENOMEM, "out of memory");
        if (path) rc = open_one(&part[i], path, is_copy, err);
        mem_free(path);
        if (!rc) rc = check_member(&part[i], &part[0], i, set, err);
    }
    if (!rc) rc = join(part, set, err);
    if (!rc) {
        *out = part[0];
        part[0] = (gguf){0};
    }
    close_parts(part, n);
    return rc;
}

ew_status gguf_open(gguf *out, const char *path, bool is_copy, ew_error *err) {
    gguf given = {0};
    split_info s;
    ew_status rc;

    *out = (gguf){0};
    rc = open_one(&given, path, is_copy, err);
    if (!rc) rc = read_split(&s, &given, path, err);
    if (!rc && s.n_part > 1) {
        rc = open_set(out, &given, &s, is_copy, err);
    } else if (!rc) {
        *out = given;
        given = (gguf){0};
    }
    gguf_close(&given);
    return rc;
}

void gguf_close(gguf *g) {
    for (size_t i = 0; i < g->n_part; i++) {
        file_map_close(&g->map[i]);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): open_one() gave it one */
        mem_free(g->path[i]);
    }
    mem_free(g->map);
    mem_free(g->path);
    mem_free(g->kv);
    mem_free(g->tensor);
    mem_free(g->str_at);
    mem_free(g->kv_by_key);
    mem_free(g->tensor_by_name);
    *g = (gguf){0};
}
