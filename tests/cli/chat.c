/* SPDX-License-Identifier: MIT
 *
 * The chat as somebody sees it who types on a terminal. The model is a small one with random
 * weights: what it says is noise, so the tests wait for what is said around it. */
#include "tests/support/pty.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define PROMPT ">>> "

static char home[64], model[128];
static const char *program;
static pty chat; /* large */

static const char *in_home(const char *name) {
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", home, name);
    return path;
}

static int make_home(void **state) {
    const char *b = getenv("B");
    char command[512];

    (void)state;
    program = getenv("EDGEWISE");
    if (!program) program = "build/release/edgewise";
    snprintf(home, sizeof home, "/tmp/ew-chat-XXXXXX");
    if (!mkdtemp(home)) return -1;
    setenv("HOME", home, 1);
    unsetenv("XDG_STATE_HOME");
    snprintf(model, sizeof model, "%s/model.gguf", home);
    snprintf(command, sizeof command,
             "%s/mkmodel --arch qwen2 --vocab-kind qwen2 --vocab 512 --embd 64 --heads 2 "
             "--ctx 40000 --type Q8_0 '%s' >/dev/null",
             b ? b : "build/release", model);
    return system(command);
}

static int remove_home(void **state) {
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

/* Starts a chat whose answers have n_predict tokens; how: an option more, or NULL. */
static void start_session(const char *n_predict, const char *how, const char *greeting) {
    const char *const argv[] = {
        program, "run",       model,        "-n", n_predict, "-c",
        "40000", "--temp",    "0",          "-t", "1",       "--memory-limit",
        "0",     "--session", in_home("s"), how,  NULL};

    assert_true(pty_start(&chat, argv));
    assert_true(pty_wait(&chat, greeting));
    assert_true(pty_wait(&chat, PROMPT));
    assert_true(pty_wait_editing(&chat, true));
}

static void start(const char *n_predict) {
    unlink(in_home("s"));
    start_session(n_predict, NULL, "model's template");
}

/* Types a line and waits for what it brings about. */
static void say(const char *line, const char *answer) {
    pty_type(&chat, line);
    pty_type(&chat, "\r");
    assert_true(pty_wait(&chat, answer));
    assert_true(pty_wait(&chat, PROMPT));
    assert_true(pty_wait_editing(&chat, true));
}

/* Types a message that is answered with figures; whether some of the prompt was there already. */
static bool is_cached(const char *line) {
    const size_t from = chat.seen;

    pty_type(&chat, line);
    pty_type(&chat, "\r");
    assert_true(pty_wait(&chat, " cached"));
    assert_true(pty_wait(&chat, PROMPT));
    assert_true(pty_wait_editing(&chat, true));
    return !strstr(chat.shown + from, ", 0 cached");
}

/* Keys that end with Ctrl-C while a line is edited. */
static void press_interrupt(const char *keys, const char *answer) {
    pty_type(&chat, keys);
    assert_true(pty_wait(&chat, answer));
    assert_true(pty_wait(&chat, PROMPT));
    assert_true(pty_wait_editing(&chat, true));
}

static void leave(void) {
    pty_type(&chat, "\004");
    assert_true(pty_wait(&chat, "\r\n"));
    assert_int_equal(pty_end(&chat), 0);
}

static void test_answers_reuse_what_is_evaluated(void **state) {
    (void)state;
    start("8");
    say("/set parameter ignore_eos true", "Set parameter");
    say("/set verbose", "on");
    assert_false(is_cached("hello"));
    assert_true(is_cached("and again"));
    leave();
}

static void test_lines_are_edited(void **state) {
    (void)state;
    start("8");
    /* Typed at the end, deleted, and put in at the beginning. */
    say("et system be kindXY\177\177\001/s", "Set system message.");
    say("/show system", "be kind\r\n");
    say("/set system \xE4\xBD\xA0\xE5\xA5\xBDx\177", "Set system message.");
    say("/show system", "\xE4\xBD\xA0\xE5\xA5\xBD\r\n");
    leave();
}

static void test_three_quotes_hold_several_lines(void **state) {
    (void)state;
    start("8");
    pty_type(&chat, "/set system \"\"\"one\r");
    assert_true(pty_wait(&chat, "... "));
    say("two\"\"\"", "Set system message.");
    say("/show system", "one\r\ntwo\r\n");
    pty_type(&chat, "\"\"\"never mind\r");
    assert_true(pty_wait(&chat, "... "));
    assert_true(pty_wait_editing(&chat, true));
    press_interrupt("\003", "^C");
    leave();
}

static void test_interrupt_stops_the_answer_and_nothing_else(void **state) {
    (void)state;
    start("-1");
    press_interrupt("\003", "/bye to leave");
    press_interrupt("half a line\003", "^C");
    say("/set parameter ignore_eos true", "Set parameter");
    say("/set verbose", "on");
    pty_type(&chat, "go on for ever\r");
    assert_true(pty_wait(&chat, "for ever\r\n"));
    assert_true(pty_wait_bytes(&chat, 50));
    pty_type(&chat, "\003");
    assert_true(pty_wait(&chat, "interrupted"));
    assert_true(pty_wait(&chat, PROMPT));
    say("/set parameter num_predict 8", "Set parameter");
    say("still there?", " 8 generated");
    pty_type(&chat, "/bye\r");
    assert_int_equal(pty_end(&chat), 0);
}

static void test_interrupt_outside_a_chat_ends_with_130(void **state) {
    const char *const argv[] = {program, "run",       model, "hello", "--ignore-eos",
                                "-c",    "40000",     "-t",  "1",     "--memory-limit",
                                "0",     "--verbose", NULL};

    (void)state;
    assert_true(pty_start(&chat, argv));
    assert_true(pty_wait(&chat, "model's template"));
    assert_true(pty_wait_bytes(&chat, 50));
    pty_type(&chat, "\003");
    assert_true(pty_wait(&chat, "interrupted"));
    assert_int_equal(pty_end(&chat), 130);
}

static void test_saved_conversations_come_back(void **state) {
    char line[128];
    struct stat st;

    (void)state;
    start("8");
    say("/set parameter ignore_eos true", "Set parameter");
    say("hello", "--n-predict");
    snprintf(line, sizeof line, "/save %s", in_home("talk"));
    say(line, "Saved to");
    say("/clear", "forgotten");
    snprintf(line, sizeof line, "/load %s", in_home("talk"));
    say(line, "2 messages");
    say("/set verbose", "on");
    assert_true(is_cached("go on"));
    say("/load /nonexistent", "No such file");
    leave();
    assert_int_equal(stat(in_home("talk.kv"), &st), 0);
}

static void test_without_a_form_the_text_goes_on_and_is_saved(void **state) {
    (void)state;
    unlink(in_home("s"));
    start_session("8", "--raw", "added to the text so far");
    say("/set parameter ignore_eos true", "Set parameter");
    say("/set verbose", "on");
    assert_false(is_cached("one"));
    assert_true(is_cached(" two"));
    leave();
    start_session("8", "--raw", "added to the text so far");
    say("/set verbose", "on");
    assert_true(is_cached(" three"));
    say("/clear", "forgotten");
    assert_false(is_cached("four"));
    leave();
    start_session("8", "--raw", "added to the text so far");
    say("/load /nonexistent", "No such file");
    leave();
    assert_int_equal(system("grep -q '\"text\": \"four' \"$HOME/s\""), 0);
}

static void test_a_signal_ends_it_and_the_session_is_saved(void **state) {
    struct stat st;

    (void)state;
    start("8");
    say("/set parameter ignore_eos true", "Set parameter");
    say("hello", "--n-predict");
    assert_int_equal(kill(chat.pid, SIGTERM), 0);
    assert_true(pty_wait_editing(&chat, false));
    assert_int_equal(pty_end(&chat), 143);
    assert_int_equal(stat(in_home("s.kv"), &st), 0);
    start_session("-1", "--ignore-eos", "model's template");
    pty_type(&chat, "go on for ever\r");
    assert_true(pty_wait(&chat, "for ever\r\n"));
    assert_true(pty_wait_bytes(&chat, 50));
    assert_int_equal(kill(chat.pid, SIGHUP), 0);
    assert_int_equal(pty_end(&chat), 129);
    assert_int_equal(system("test $(grep -c '\"role\"' \"$HOME/s\") = 4"), 0);
}

/* The template opens a thought, and what a model of noise says never closes it. */
static void test_thoughts_stand_apart_and_can_be_turned_off(void **state) {
    static const char text[] = "{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}"
                               "{% if add_generation_prompt %}assistant: <think>{{ '' }}{% endif %}"
                               "{# </think> #}";
    FILE *f = fopen(in_home("opens.jinja"), "w");
    char how[160];
    size_t from;

    (void)state;
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    snprintf(how, sizeof how, "--chat-template-file=%s/opens.jinja", home);
    unlink(in_home("s"));
    start_session("8", how, "the template given");
    say("/set parameter ignore_eos true", "Set parameter");
    say("hello", "Thinking...");
    say("/set nothink", "answer: off");
    from = chat.seen;
    say("hello", "--n-predict");
    assert_null(strstr(chat.shown + from, "Thinking..."));
    say("/set think", "answer: on");
    say("hello", "done thinking.");
    leave();
}

static void test_a_full_context_is_said(void **state) {
    (void)state;
    start("-1");
    say("/set parameter ignore_eos true", "Set parameter");
    say("/set parameter num_ctx 64", "Set parameter");
    say("hello", "context of 64 tokens is full; /clear");
    say("hello again", "the context holds 64");
    say("/set parameter num_ctx 0", "expected at least 1");
    leave();
}

static void test_wrong_parameters_are_refused(void **state) {
    (void)state;
    start("8");
    say("/set parameter temperature -1", "expected at least 0");
    say("/set parameter tempo 1", "unknown parameter 'tempo'");
    say("/set parameter threads 2", "when the model is loaded");
    say("/set parameter stop \"a b\" \"c\"", "Set parameter");
    say("/show parameters", "\"a b\"");
    say("/nonsense", "Unknown command '/nonsense'");
    say("/?", "/bye");
    leave();
}

static void test_what_is_shown_can_be_read_back(void **state) {
    (void)state;
    start("8");
    say("/show info", " K\r\n"); /* the model has thousands of parameters, not billions */
    say("/set parameter stop \"a b\"", "Set parameter");
    say("/set system say \"hi\"", "Set system message.");
    say("/show parameters", "\"a b\"\r\n");
    pty_type(&chat, "/show modelfile\r");
    assert_true(pty_wait(&chat, "FROM \"/"));
    assert_true(pty_wait(&chat, "model.gguf\"\r\n"));
    assert_true(pty_wait(&chat, "SYSTEM \"\"\"say \"hi\"\"\"\"\r\n"));
    assert_true(pty_wait(&chat, "\"a b\"\r\n"));
    assert_true(pty_wait(&chat, PROMPT));
    say("/set system plain", "Set system message.");
    say("/show modelfile", "SYSTEM \"plain\"\r\n");
    leave();
}

/* Last: the lines of the tests before are there, for the owner's eyes only. */
static void test_history_is_kept_unless_refused(void **state) {
    char path[128];
    struct stat st;

    (void)state;
    snprintf(path, sizeof path, "%s/.local/state/edgewise/history", home);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    start("8");
    say("/set nohistory", "not kept");
    assert_int_equal(stat(path, &st), 0);
    say("/set system secret", "Set system message.");
    say("/set history", "kept");
    leave();
    assert_int_equal(system("grep -q secret \"$HOME/.local/state/edgewise/history\""), 256);
    assert_int_equal(system("grep -q nohistory \"$HOME/.local/state/edgewise/history\""), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_reuse_what_is_evaluated),
        cmocka_unit_test(test_lines_are_edited),
        cmocka_unit_test(test_three_quotes_hold_several_lines),
        cmocka_unit_test(test_interrupt_stops_the_answer_and_nothing_else),
        cmocka_unit_test(test_interrupt_outside_a_chat_ends_with_130),
        cmocka_unit_test(test_saved_conversations_come_back),
        cmocka_unit_test(test_without_a_form_the_text_goes_on_and_is_saved),
        cmocka_unit_test(test_a_signal_ends_it_and_the_session_is_saved),
        cmocka_unit_test(test_thoughts_stand_apart_and_can_be_turned_off),
        cmocka_unit_test(test_a_full_context_is_said),
        cmocka_unit_test(test_wrong_parameters_are_refused),
        cmocka_unit_test(test_what_is_shown_can_be_read_back),
        cmocka_unit_test(test_history_is_kept_unless_refused),
    };

    return cmocka_run_group_tests_name("chat", tests, make_home, remove_home);
}
