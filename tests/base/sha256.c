/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static sha256_hex hash_in_steps(const char *p, size_t n, size_t step) {
    sha256 s;

    sha256_init(&s);
    for (size_t i = 0; i < n; i += step) sha256_add(&s, p + i, n - i < step ? n - i : step);
    return sha256_end(&s);
}

/* The examples of FIPS 180-4. */
static void test_published_digests(void **state) {
    static char a[1000000];
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    (void)state;
    assert_string_equal(hash_in_steps("", 0, 1).hex,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(hash_in_steps("abc", 3, 3).hex,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(hash_in_steps(two_blocks, 56, 56).hex,
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(a, 'a', sizeof a);
    assert_string_equal(hash_in_steps(a, sizeof a, 4096).hex,
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_steps_do_not_matter(void **state) {
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * 7);
    for (size_t n = 0; n <= sizeof text; n++) {
        const sha256_hex whole = hash_in_steps(text, n, n + 1);

        assert_string_equal(hash_in_steps(text, n, 1).hex, whole.hex);
        assert_string_equal(hash_in_steps(text, n, 63).hex, whole.hex);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_digests),
        cmocka_unit_test(test_steps_do_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
