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

# A session goes on where it ended; with another model it is evaluated again, which is said.
run 'first' --session "$TMP/s" --json </dev/null | grep -o '"cached":[0-9]*'
run 'second' --session "$TMP/s" --json </dev/null | grep -c '"cached":0' || true
grep -c '"role"' "$TMP/s"
"$B/mkmodel" --arch llama --vocab-kind llama3 --vocab 600 --embd 64 --heads 2 --type Q8_0 "$m" >/dev/null
run 'third' --session "$TMP/s" </dev/null >/dev/null
sed "s|$TMP/||g" "$TMP/err"
run 'fourth' --session "$TMP/missing/s" </dev/null >/dev/null || echo "= $?"
sed "s|$TMP/||g" "$TMP/err"

# Memory that is not there is refused with the sum; a window too large is warned of.
run 'hello' --memory-limit 1M </dev/null || echo "= $?"
grep -c 'allowed' "$TMP/err"
run 'hello' -c 1024 </dev/null >/dev/null
sed 's/^/- /' "$TMP/err"
