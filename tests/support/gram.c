/* SPDX-License-Identifier: MIT */
#include "tests/support/gram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

const char *const gram_texts[] = {
    "{\"",  "\":",  "\",\"", "\": ", "\"}",   "\"\n",  "  ",     "\n\n",   "    ",
    "ab",   "abc",  "12",    "123",  "true",  "false", "null",   "name",   "e4",
    "e5 ",  "\xC3", "\xA9t", "é",    "日本",  "本",    "},\n",   "]}",     "[]",
    "\\\"", "\\u",  "0.",    "-1",   "world", " the",  "\t\t\t", "aaaaaa", NULL};

static token_trie *trie;

static int32_t count(void) {
    int32_t n = 258;

    while (gram_texts[n - 258]) n++;
    return n;
}

static str bytes_of(const void *ctx, int32_t id) {
    static char byte[256];

    (void)ctx;
    if (id >= 258) return str_of(gram_texts[id - 258]);
    if (id >= 256) return (str){"", 0};
    byte[id] = (char)id;
    return (str){&byte[id], 1};
}

static bool is_eog(const void *ctx, int32_t id) {
    (void)ctx;
    return id == GRAM_EOG;
}

static bool is_used(const void *ctx, int32_t id) {
    (void)ctx;
    return id != GRAM_EOG;
}

static int32_t find(const void *ctx, str name) {
    (void)ctx;
    if (str_is(name, "<mark>")) return GRAM_MARK;
    return str_is(name, "</s>") ? GRAM_EOG : -1;
}

const token_trie *gram_trie(void) {
    const trie_vocab v = {count(), bytes_of, is_eog, is_used, NULL};

    if (!trie) assert_int_equal(trie_new(&trie, &v, NULL), EW_OK);
    return trie;
}

const grammar_tokens *gram_tokens(void) {
    static grammar_tokens t;

    t = (grammar_tokens){count(), find, NULL};
    return &t;
}

void gram_fini(void) {
    trie_free(trie);
    trie = NULL;
}

grammar *gram_gbnf(const char *text) {
    ew_error err = {EW_OK, ""};
    grammar *g = NULL;

    if (grammar_from_gbnf(&g, str_of(text), gram_tokens(), &err)) fail_msg("%s", err.text);
    return g;
}

matcher *gram_matcher(const grammar *g) {
    ew_error err = {EW_OK, ""};
    matcher *m = NULL;

    if (matcher_new(&m, g, gram_trie(), NULL, false, &err)) fail_msg("%s", err.text);
    return m;
}

gram_verdict gram_holds(const grammar *g, const char *text, size_t n) {
    matcher *m = gram_matcher(g);
    gram_verdict v = GRAM_NO;

    if (matcher_feed(m, (str){text, n})) v = matcher_can_end(m) ? GRAM_YES : GRAM_PREFIX;
    assert_int_equal(matcher_status(m, NULL), EW_OK);
    matcher_free(m);
    return v;
}

grammar *gram_schema(const char *json) {
    ew_error err = {EW_OK, ""};
    grammar *g = NULL;

    if (grammar_from_schema(&g, str_of(json), &err)) fail_msg("%s", err.text);
    return g;
}
