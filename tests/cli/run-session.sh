# SPDX-License-Identifier: MIT
# What --session keeps: in which form, against whom, and however the run ends.
m=$TMP/m.gguf
"$B/mkmodel" --arch qwen2 --vocab-kind qwen2 --vocab 512 --embd 64 --heads 2 --ctx 40000 \
    --type Q8_0 "$m" || exit 1
run() { "$EDGEWISE" run "$m" --temp 0 --ignore-eos --memory-limit 0 "$@" 2>"$TMP/err"; }
said() { sed "s|$TMP/||g; /^edgewise: stopped/d" "$TMP/err"; }
json() { run "$@" --json -n 9 </dev/null | grep -o '"cached":[0-9]*'; }

echo '- without a chat form the text goes on'
b=$("$EDGEWISE" tokenize "$m" b --ids | tr -d '[]')
run --raw 'a ba' -n 8 --logit-bias "$b+1000" --session "$TMP/raw" </dev/null && echo
run --raw ' ca' -n 8 --logit-bias "$b+1000" --session "$TMP/raw" </dev/null && echo
cat "$TMP/raw"
json --raw '' --session "$TMP/raw" | sed 's/:[1-9][0-9]*/: some/'
printf 'a\000b' | run --raw -n 0 --session "$TMP/nul"
json --raw '' --session "$TMP/nul"

echo '- text and messages are not taken for each other; nor is another version'
run hi -n 2 --session "$TMP/turns" </dev/null >/dev/null
run hi -n 2 --raw --session "$TMP/turns" </dev/null
echo "= $?" && said
run hi -n 2 --session "$TMP/raw" </dev/null
echo "= $?" && said
for text in '{"edgewise_conversation": 2, "turns": []}' '{"edgewise_conversation": 1}' '{}' '{' \
    '{"edgewise_conversation": 1, "messages": [{"role": "user", "content": "a\u0000b"}]}'; do
    echo "$text" >"$TMP/odd"
    run hi -n 2 --session "$TMP/odd" </dev/null
    echo "= $?" && said
done

echo '- what can not be saved is refused before any work'
for f in "$TMP/missing/s" ''; do
    run hi -n 2 --session "$f" </dev/null
    echo "= $?" && said | head -n 1
done

# The answer has begun when the first bytes are there.
begun() {
    while [ ! -s "$TMP/out" ]; do sleep 0.05; done
}
long() { # FILE: in the background
    : >"$TMP/out"
    "$EDGEWISE" run "$m" --temp 0 --ignore-eos --memory-limit 0 -c 30000 hi --session "$1" \
        </dev/null >"$TMP/out" 2>"$TMP/err2" &
    begun
}
kept() { # FILE
    grep -c '"role": "assistant", "content": "."*' "$1"
    [ -s "$1.kv" ] && [ ! -e "$1.lock" ] && echo 'KV cache, no lock'
}

echo '- one run at a time'
long "$TMP/s"
run hi -n 2 --session "$TMP/s" </dev/null
echo "= $?" && said
echo '- signals end a run, and the session is saved'
kill -TERM $!
wait $!
echo "= $?"
kept "$TMP/s"
long "$TMP/s"
kill -HUP $!
wait $!
echo "= $?"
grep -c '"role"' "$TMP/s"
cat "$TMP/err2"
echo '- so it is when the reader leaves'
(
    "$EDGEWISE" run "$m" --temp 0 --ignore-eos --memory-limit 0 -c 30000 hi --session "$TMP/p" \
        </dev/null
    echo "= $?" >"$TMP/status"
) | head -c 1 >/dev/null
while [ ! -s "$TMP/status" ]; do sleep 0.05; done # head does not wait
cat "$TMP/status"
kept "$TMP/p"
echo '- what a killed run left is cleared away'
: >"$TMP/p.1234.tmp"
: >"$TMP/p.kv.99.tmp"
: >"$TMP/p.lock"
run more -n 2 --session "$TMP/p" </dev/null >/dev/null
grep -c '"role"' "$TMP/p"
ls "$TMP" | grep '^p'
