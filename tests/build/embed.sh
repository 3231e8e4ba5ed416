# SPDX-License-Identifier: MIT
# The example in the README's words: compiled as strict C99 against the public header, linked with
# the library alone, it generates text.
set -e
$CC -std=c99 -Wall -Wextra -Wpedantic -Werror -Iinclude -c examples/embed.c -o "$TMP/embed.o"
$CC "$TMP/embed.o" "$B/libedgewise.a" $LINK_FLAGS -o "$TMP/embed"
[ "$(wc -l <examples/embed.c)" -lt 60 ]
"$B/mkmodel" --arch llama --type Q8_0 --pure "$TMP/model.gguf" >/dev/null
"$TMP/embed" "$TMP/model.gguf" 'Once upon a time' >"$TMP/text"
[ -s "$TMP/text" ]
# What fails says so in one line, with status 1.
if "$TMP/embed" "$TMP/absent.gguf" x 2>"$TMP/stderr"; then exit 1; fi
[ "$(wc -l <"$TMP/stderr")" = 1 ]
grep -q 'absent.gguf: No such file' "$TMP/stderr"
