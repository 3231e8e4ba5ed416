# SPDX-License-Identifier: MIT
# What is in a file, on one that runs and on one whose architecture nobody knows.
"$B/mkmodel" --arch llama --vocab-kind llama3 --vocab 400 --type Q4_K_M --kv-heads 2 \
    "$TMP/m.gguf" || exit 1
show() {
    "$EDGEWISE" show "$@" 2>&1 | sed "s|$TMP|TMP|g"
}
show "$TMP/m.gguf" --tensors --memory-limit 1G | sed '/^Memory/,/^$/d' # of the engine's making
echo '- twice the context: the cache doubles; q8_0 takes 34 bytes for 64'
for o in '-c 64' '-c 128' '-c 128 -ctk q8_0 -ctv q8_0'; do
    "$EDGEWISE" show "$TMP/m.gguf" $o | grep 'kv cache'
done
echo '- the sum is what the accounts are'
"$EDGEWISE" show "$TMP/m.gguf" --json | tr -d '",:' | awk '
    /accounts/ {on = 1} /}/ {on = 0} on && NF > 1 {sum += $NF}
    $1 == "sum_bytes" {print (sum == $2 ? "equal" : sum " and " $2)}'
echo '- what is told beforehand is what is charged when it runs'
for o in '-t 1' '-t 2 -ctk q8_0 -ctv q8_0 --chunk 32' '-t 1 --float'; do
    sum=$("$EDGEWISE" show "$TMP/m.gguf" -c 128 $o --json | tr -d '",:' | awk '/sum_bytes/ {print $2}')
    "$EDGEWISE" bench "$TMP/m.gguf" -c 128 $o -p 120 -n 0 -r 1 --no-probe --json 2>/dev/null |
        tr -d '",:' | awk -v sum="$sum" '/accounts_peak/ {print (sum == $2 ? "equal" : sum " " $2)}'
done
echo '- a template alone'
show "$TMP/m.gguf" --template
echo '- an architecture and a tokenizer nobody knows'
LC_ALL=C sed 's/llama/alien/g; s/gpt2/utf9/g' "$TMP/m.gguf" >"$TMP/alien.gguf"
show "$TMP/alien.gguf" --metadata
"$EDGEWISE" show "$TMP/alien.gguf" --json | grep -E '"(architecture|runs|usable)"'
echo '- what is wrong'
head -c 3000 "$TMP/m.gguf" >"$TMP/short.gguf"
show "$TMP/short.gguf"
show "$TMP"
"$EDGEWISE" show "$TMP/short.gguf" 2>/dev/null
echo "status $?"
