/* SPDX-License-Identifier: MIT
 *
 * Answers taken apart: each sample cut in two at every byte, given byte by byte, and in random
 * pieces must give the same parts. */
#include "text/reply.h"

#include "base/mem.h"
#include "tests/support/rng.h"
#include "tests/support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"parameters\": "
    "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}, \"days\": "
    "{\"type\": \"integer\"}, \"zip\": {\"type\": \"string\"}}}}},"
    "{\"type\": \"function\", \"function\": {\"name\": \"add\"}}]";

#define PARIS   "{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}"
#define PARIS_2 "{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\",\"days\":2}}"
#define ADD     "{\"name\":\"add\",\"arguments\":{\"a\":2,\"b\":3.5}}"

/* Signs that a template of the model shows, as far as they matter here. */
#define QWEN3     "<think> </think> <tool_call>"
#define QWEN_XML  "<think> </think> <tool_call> <function="
#define GLM       "<think> </think> <tool_call> <arg_key>"
#define LLAMA     "<|python_tag|>"
#define MISTRAL   "[TOOL_CALLS] [THINK] [/THINK]"
#define DEEPSEEK  "<think> </think> <｜tool▁calls▁begin｜>"
#define DSML      "<think> </think> DSML function_calls"
#define KIMI      "<|tool_calls_section_begin|>"
#define HARMONY   "<|channel|> <|message|>"
#define GEMMA     "<|channel>thought <channel|> <|tool_call> <tool_call|>"
#define GRANITE   "<think> </think> <response> <|tool_call|>"
#define FUNC31    "<function= <|python_tag|>"
#define FUNC32    ">>> recipient"
#define APERTUS   "<|inner_prefix|> <|inner_suffix|> <|tools_prefix|>"
#define COMMAND_R "<|START_THINKING|> <|END_THINKING|> <|START_ACTION|> <|START_RESPONSE|>"
#define LFM2      "<|tool_call_start|>"
#define SEED      "<seed:think> </seed:think> <seed:tool_call>"

typedef struct {
    const char *signs;
    bool in_thought;
    const char *in, *text, *reasoning;
    const char *calls; /* one after the other */
} sample;

static const sample samples[] = {
    /* no format at all */
    {"", false, "Hello, world.\n\n", "Hello, world.\n\n", "", ""},
    {"", false, " a <b> < c <think x", " a <b> < c <think x", "", ""},
    {"", false, "<think>hm</think>\n\nYes.", "Yes.", "hm", ""},
    {"", false, "Tags like <think>this</think> are text later on.",
     "Tags like <think>this</think> are text later on.", "", ""},
    {"", false, "{\"name\": \"add\", \"parameters\": {\"a\": 2, \"b\": 3.5}}", "", "", ADD},
    {"", false, "{\"colour\": \"blue\", \"n\": 3}", "{\"colour\": \"blue\", \"n\": 3}", "", ""},
    {"", false, "[1, 2, 3]\n", "[1, 2, 3]\n", "", ""},
    {"", false, "", "", "", ""},
    {"", false, "  \n ", "  \n ", "", ""},
    {"", false, "中文，没有标记。", "中文，没有标记。", "", ""},
    /* Qwen, Hermes */
    {QWEN3, false, "<think>\nLet me see.\n\nYes.\n</think>\n\n17 is prime.\n", "17 is prime.\n",
     "Let me see.\n\nYes.", ""},
    {QWEN3, true, "I see.\n</think>\n\nDone.", "Done.", "I see.", ""},
    {QWEN3, true, "\n<think>\nagain\n</think>\nDone.", "Done.", "again", ""},
    {QWEN3, true, "never closed", "", "never closed", ""},
    {QWEN3, false, "<think>\n\n</think>\n\nHi", "Hi", "", ""},
    {QWEN3, false,
     "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n"
     "</tool_call>\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, "
     "\"b\": 3.5}}\n</tool_call>",
     "", "", PARIS ADD},
    {QWEN3, false,
     "<think>a</think>\n\nI call:\n\n<tool_call>{\"name\":\"add\",\"arguments\":\"{"
     "\\\"a\\\":2,\\\"b\\\":3.5}\"}</tool_call>\n",
     "I call:", "a", ADD},
    {QWEN3, false, "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3.5}}", "",
     "", ADD},
    {QWEN3, false, "<tool_call>not JSON</tool_call> so", "<tool_call>not JSON</tool_call> so", "",
     ""},
    {QWEN3, false, "<tool_call>{\"name\": \"add\", \"argu", "<tool_call>{\"name\": \"add\", \"argu",
     "", ""},
    {QWEN3, false, "a < b, <tool and <tool_calls", "a < b, <tool and <tool_calls", "", ""},
    /* Qwen3-Coder and Qwen 3.5 */
    {QWEN_XML, true,
     "Rain?\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
     "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
     "", "Rain?", PARIS_2},
    {QWEN_XML, false,
     "<tool_call>\n<function=get_weather>\n<parameter=zip>\n75001\n</parameter>\n</function>\n"
     "</tool_call>",
     "", "", "{\"name\":\"get_weather\",\"arguments\":{\"zip\":\"75001\"}}"},
    {QWEN_XML, false,
     "<tool_call><function=add><parameter=a>2</parameter><parameter=b>3</function></tool_call>",
     "<tool_call><function=add><parameter=a>2</parameter><parameter=b>3</function></tool_call>", "",
     ""},
    {SEED, false,
     "<seed:think>two</seed:think><seed:tool_call>\n<function=add>\n<parameter=a>2</parameter>\n"
     "<parameter=b>3.5</parameter>\n</function>\n</seed:tool_call>",
     "", "two", ADD},
    /* GLM */
    {GLM, false,
     "<think>x</think>\nSo:\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris"
     "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
     "So:", "x", PARIS_2},
    {GLM, false, "<tool_call>add<arg_key>a</arg_key><arg_value>2</arg_value><arg_key>b</tool_call>",
     "<tool_call>add<arg_key>a</arg_key><arg_value>2</arg_value><arg_key>b</tool_call>", "", ""},
    /* Llama 3 */
    {LLAMA, false, "<|python_tag|>{\"name\": \"add\", \"parameters\": {\"a\": 2, \"b\": 3.5}}", "",
     "", ADD},
    {LLAMA, false,
     "{\"name\": \"add\", \"parameters\": {\"a\": 2, \"b\": 3.5}}; {\"name\": "
     "\"get_weather\", \"parameters\": {\"city\": \"Paris\"}}",
     "", "", ADD PARIS},
    {LLAMA, false, "Two and three is five.", "Two and three is five.", "", ""},
    /* Mistral */
    {MISTRAL, false,
     "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}, "
     "\"id\": \"abc\"}, {\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3.5}}]",
     "", "", PARIS ADD},
    {MISTRAL, false,
     "[THINK]hm[/THINK]OK.[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Paris\"}"
     "[TOOL_CALLS]add[CALL_ID]x1[ARGS]{\"a\": 2, \"b\": 3.5}",
     "OK.", "hm", PARIS ADD},
    {MISTRAL, false, "[TOOL] is no mark", "[TOOL] is no mark", "", ""},
    /* DeepSeek, Kimi */
    {DEEPSEEK, true,
     "hm</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
     "```json\n{\"city\": \"Paris\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function"
     "<｜tool▁sep｜>add\n```json\n{\"a\": 2, \"b\": 3.5}\n```<｜tool▁call▁end｜>"
     "<｜tool▁calls▁end｜>",
     "", "hm", PARIS ADD},
    {DEEPSEEK, false,
     "Now <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{\"a\": 2, \"b\": 3.5}"
     "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "Now", "", ADD},
    {DSML, false,
     "<think>y</think>\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n"
     "<｜DSML｜parameter name=\"city\" string=\"true\">Paris</｜DSML｜parameter>\n"
     "<｜DSML｜parameter name=\"days\" string=\"false\">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n"
     "</｜DSML｜function_calls>",
     "", "y", PARIS_2},
    {DSML, false,
     "<｜DSML｜function_calls><｜DSML｜invoke name=\"add\"><｜DSML｜parameter name=\"a\" "
     "string=\"false\">two</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
     "<｜DSML｜function_calls><｜DSML｜invoke name=\"add\"><｜DSML｜parameter name=\"a\" "
     "string=\"false\">two</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
     "", ""},
    {KIMI, false,
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>"
     "{\"a\": 2, \"b\": 3.5}<|tool_call_end|><|tool_calls_section_end|>",
     "", "", ADD},
    /* gpt-oss */
    {HARMONY, false,
     "<|channel|>analysis<|message|>The user asks.\n<|end|><|start|>assistant<|channel|>final"
     "<|message|>Five.",
     "Five.", "The user asks.", ""},
    {HARMONY, false,
     "<|channel|>analysis<|message|>Need it.<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>",
     "", "Need it.", PARIS},
    {HARMONY, false, " to=functions.add<|channel|>commentary json<|message|>{\"a\": 2, \"b\": 3.5}",
     "", "", ADD},
    {HARMONY, false, "<|channel|>commentary<|message|>I will call.<|end|>", "I will call.", "", ""},
    {HARMONY, false, "today it said no channel", "today it said no channel", "", ""},
    /* Gemma 4 */
    {GEMMA, false,
     "<|channel>thought\nIn Paris.\n<channel|>Let us see.\n<|tool_call>call:get_weather{city:<|\"|>"
     "Paris<|\"|>,days:2}<tool_call|><|tool_call>call:add{a:2,b:3.5}<tool_call|>",
     "Let us see.", "In Paris.", PARIS_2 ADD},
    {GEMMA, false,
     "<|tool_call>call:f{l:[1,true,null,<|\"|>x, {y}<|\"|>],o:{k:<|\"|>v<|\"|>},e:[]}<tool_call|>",
     "", "",
     "{\"name\":\"f\",\"arguments\":{\"l\":[1,true,null,\"x, {y}\"],\"o\":{\"k\":\"v\"},\"e\":[]}}"},
    {GEMMA, false, "<|tool_call>call:f{a:1}}<tool_call|>", "<|tool_call>call:f{a:1}}<tool_call|>",
     "", ""},
    /* Granite, Functionary, Apertus */
    {GRANITE, false, "<think>So.</think><response>Here.</response>", "Here.", "So.", ""},
    {GRANITE, false, "<|tool_call|>[{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3.5}}]",
     "", "", ADD},
    {FUNC31, false,
     "<function=get_weather>{\"city\": \"Paris\"}</function><function=add>{\"a\": 2, \"b\": 3.5}"
     "</function>",
     "", "", PARIS ADD},
    {FUNC32, false,
     "all\nI look.\n>>>get_weather\n{\"city\": \"Paris\"}>>>add\n{\"a\": 2, \"b\": 3.5}", "I look.",
     "", PARIS ADD},
    {COMMAND_R, false,
     "<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": "
     "\"add\", \"parameters\": {\"a\": 2, \"b\": 3.5}}]<|END_ACTION|>",
     "", "hm", ADD},
    {COMMAND_R, false, "<|START_RESPONSE|>Five.<|END_RESPONSE|>", "Five.", "", ""},
    {LFM2, false,
     "<|tool_call_start|>[get_weather(city=\"Paris\", days=2), add(a=2, b=3.5)]<|tool_call_end|>So.",
     "So.", "", PARIS_2 ADD},
    {LFM2, false,
     "<|tool_call_start|>[f(l=[1, 'it\\'s', None], d={'k': True}, e=[])]<|tool_call_end|>", "", "",
     "{\"name\":\"f\",\"arguments\":{\"l\":[1,\"it's\",null],\"d\":{\"k\":true},\"e\":[]}}"},
    {LFM2, false, "<|tool_call_start|>[f(a=]<|tool_call_end|>",
     "<|tool_call_start|>[f(a=]<|tool_call_end|>", "", ""},
    {APERTUS, false,
     "<|inner_prefix|>hm<|inner_suffix|><|tools_prefix|>[{\"get_weather\": {\"city\": \"Paris\"}}, "
     "{\"add\": {\"a\": 2, \"b\": 3.5}}]<|tools_suffix|>",
     "", "hm", PARIS ADD},
};

typedef struct {
    strbuf part[3];
} parts;

static void take(void *ctx, ew_part part, const char *text, size_t n) {
    strbuf_add(&((parts *)ctx)->part[part], text, n);
}

static void open_parts(parts *p) {
    for (int i = 0; i < 3; i++) strbuf_init(&p->part[i], 1 << 20);
}

static void close_parts(parts *p) {
    for (int i = 0; i < 3; i++) strbuf_fini(&p->part[i]);
}

static bool is_part(const parts *p, ew_part part, const char *want) {
    return strcmp(p->part[part].p ? p->part[part].p : "", want) == 0;
}

/* How pieces are made: next(n_left) bytes at a time. */
static bool run(const sample *s, size_t first, size_t size, rng *random) {
    const size_t n = strlen(s->in);
    reply_form f;
    parts p;
    reply *r;
    bool same;

    open_parts(&p);
    reply_form_of(&f, str_of(s->signs));
    assert_int_equal(reply_new(&r, &f, tools, s->in_thought, take, &p, NULL), EW_OK);
    for (size_t at = 0; at < n;) {
        size_t k = at == 0 && first ? first : random ? 1 + rng_below(random, (uint32_t)size) : size;

        if (k > n - at) k = n - at;
        assert_int_equal(reply_push(r, s->in + at, k, NULL), EW_OK);
        at += k;
    }
    assert_int_equal(reply_end(r, NULL), EW_OK);
    same = is_part(&p, EW_PART_TEXT, s->text) && is_part(&p, EW_PART_REASONING, s->reasoning) &&
           is_part(&p, EW_PART_CALL, s->calls);
    if (!same)
        print_message(
            "%s\nfirst %zu, then %zu:\n text      [%s]\n reasoning [%s]\n calls     [%s]\n", s->in,
            first, size, p.part[0].p, p.part[1].p, p.part[2].p);
    reply_free(r);
    close_parts(&p);
    return same;
}

static void test_samples_whole_and_in_every_piece(void **state) {
    size_t n_wrong = 0;
    rng random = {.state = 7};

    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        const size_t n = strlen(s->in);
        bool ok = run(s, 0, n ? n : 1, NULL) && run(s, 0, 1, NULL);

        for (size_t cut = 1; ok && cut < n; cut++) ok = run(s, cut, n, NULL);
        for (int k = 0; ok && k < 50; k++) ok = run(s, 0, 12, &random);
        n_wrong += !ok;
    }
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_whole_and_in_every_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
