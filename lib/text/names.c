/* SPDX-License-Identifier: MIT */
#include "text/names.h"

#include "base/mem.h"

void names_fini(names *s) {
    mem_free(s->text);
    mem_free(s->at);
    mem_free(s->slot);
    *s = (names){0};
}

size_t names_bytes(const names *s) {
    return s->cap_text + s->cap * sizeof *s->at + s->n_slot * sizeof *s->slot;
}

/* The slot that holds text, or the free one where it belongs. */
static size_t find_slot(const names *s, str text) {
    const size_t mask = s->n_slot - 1;
    size_t i = (size_t)(str_hash(text) * 0x9E3779B97F4A7C15u >> 20) & mask;

    while (s->slot[i] && !str_eq(names_get(s, s->slot[i] - 1), text)) i = (i + 1) & mask;
    return i;
}

int64_t names_find(const names *s, str text) {
    if (s->n_slot == 0 || text.n == 0 || text.n > s->n_longest) return -1;
    return (int64_t)s->slot[find_slot(s, text)] - 1;
}

/* Room for one string more and n_text bytes. */
static bool reserve(names *s, size_t n_text) {
    if (s->n + 2 > s->cap) {
        const size_t cap = s->cap ? s->cap * 2 : 64;
        uint32_t *at = mem_resize(s->at, cap, sizeof *at);

        if (!at) return false;
        if (!s->at) at[0] = 0;
        s->at = at;
        s->cap = cap;
    }
    if (!s->text || n_text > s->cap_text - s->n_text) {
        const size_t want = s->n_text + n_text, cap = want < 512 ? 1024 : want * 2;
        char *text = mem_resize(s->text, cap, 1);

        if (!text) return false;
        s->text = text;
        s->cap_text = cap;
    }
    return true;
}

/* Keeps the table at most half full. */
static bool reserve_slot(names *s) {
    const size_t n_slot = s->n_slot ? s->n_slot * 2 : 128;
    uint32_t *slot;

    if (s->n * 2 + 2 <= s->n_slot) return true;
    slot = mem_array(n_slot, sizeof *slot);
    if (!slot) return false;
    mem_free(s->slot);
    s->slot = slot;
    s->n_slot = n_slot;
    for (uint32_t i = 0; i < s->n; i++) {
        const str text = names_get(s, i);

        if (text.n) slot[find_slot(s, text)] = i + 1;
    }
    return true;
}

bool names_add(names *s, str text, uint32_t *out, bool *is_new) {
    size_t slot;

    if (text.n > UINT32_MAX - s->n_text || s->n >= UINT32_MAX - 2) return false;
    if (!reserve(s, text.n) || !reserve_slot(s)) return false;
    *is_new = true;
    if (text.n) {
        slot = find_slot(s, text);
        if (s->slot[slot]) {
            *out = s->slot[slot] - 1;
            *is_new = false;
            return true;
        }
        memcpy(s->text + s->n_text, text.p, text.n);
        s->slot[slot] = (uint32_t)s->n + 1;
    }
    s->n_text += text.n;
    s->n++;
    s->at[s->n] = (uint32_t)s->n_text;
    if (text.n > s->n_longest) s->n_longest = text.n;
    *out = (uint32_t)s->n - 1;
    return true;
}
