# SPDX-License-Identifier: MIT
# A prompt is answered on standard output, and nothing else is written there.
set -e
m=$TMP/m.gguf
"$B/mkmodel" --arch qwen2 --vocab-kind qwen2 --vocab 512 --embd 64 --heads 2 --type Q8_0 "$m" >/dev/null
run() { "$EDGEWISE" run "$m" -n 12 --temp 0 --ignore-eos "$@" 2>"$TMP/err"; }
same() { cmp "$TMP/one" "$TMP/two" && echo "same: $1"; }

run 'hello world' </dev/null >"$TMP/one"
[ -s "$TMP/one" ] && echo 'there is an answer'
cat "$TMP/err"
echo 'hello world' | run >"$TMP/two"
same 'standard input'
echo 'hello' | run world >"$TMP/two"
same 'standard input and argument'
echo 'hello world' >"$TMP/prompt"
run --file "$TMP/prompt" >"$TMP/two"
same 'a file'
echo 'not read' | run -p 'hello world' >"$TMP/two"
same 'the option'
run 'hello world' --seed 7 -t 2 --no-mmap --chunk 3 >"$TMP/two" </dev/null
same 'two threads, read into memory, in chunks'

run 'hello world' --json </dev/null >"$TMP/json"
grep -o '"reason":"[a-z]*"' "$TMP/json"
grep -o '"generated":[0-9]*' "$TMP/json"
wc -l <"$TMP/json" | tr -d ' '

# The same seed, the same text; with a temperature.
run 'hello world' --temp 1 --seed 5 </dev/null >"$TMP/one"
run 'hello world' --temp 1 --seed 5 </dev/null >"$TMP/two"
same 'seed'

run 'hello world' --verbose </dev/null 2>&1 >/dev/null | cat
cut -d ' ' -f 1 "$TMP/err"

run '' </dev/null >/dev/null && echo 'an empty message is one'
run -n 0 'hello' </dev/null | wc -c | tr -d ' '
run </dev/null && sed "s|$TMP/||" "$TMP/err"
