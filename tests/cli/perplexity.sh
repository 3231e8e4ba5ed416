# SPDX-License-Identifier: MIT
# Windows, counts and the comparison of two models; the figures themselves are held against a
# reference in perplexity-reference.
"$B/mkmodel" --arch llama --vocab-kind spm --type F32 --seed 7 "$TMP/a.gguf" || exit 1
"$B/mkmodel" --arch llama --vocab-kind spm --type Q4_0 --seed 7 "$TMP/b.gguf" || exit 1
"$B/mkmodel" --arch llama --vocab-kind spm --vocab 600 --type F32 --seed 7 "$TMP/c.gguf" || exit 1
awk 'BEGIN {for (i = 0; i < 300; i++) printf "the %d other day we had %d trees. ", i * 7, i % 13}' \
    >"$TMP/text"
value() { # KEY [FILE]: of the JSON in out
    awk -v key="$1" '{gsub(/[",:]/, " ")} $1 == key {print $2; exit}' "$TMP/out"
}

echo '- windows of 50: 24 scored in each'
"$EDGEWISE" perplexity "$TMP/a.gguf" -f "$TMP/text" -c 50 --json >"$TMP/out" || exit 1
n=$(value n_tokens)
[ "$(value windows)" = $((n / 50)) ] && [ "$(value scored)" = $((n / 50 * 24)) ] && echo right
"$EDGEWISE" perplexity "$TMP/a.gguf" -f - -c 50 --chunks 2 <"$TMP/text" | sed -n 's/, of .*//; $p'

echo '- a model against itself'
"$EDGEWISE" perplexity "$TMP/a.gguf" -f "$TMP/text" -c 50 --kl-base "$TMP/a.gguf" |
    grep -E '^(ratio|KL|top-1)'
echo '- against its quantised self, and with the work shared out in another way'
"$EDGEWISE" perplexity "$TMP/b.gguf" -f "$TMP/text" -c 50 --kl-base "$TMP/a.gguf" --json \
    >"$TMP/out" || exit 1
awk -v p99="$(sed -n '/"kl"/,$p' "$TMP/out" | awk '/p99/ {print $2 + 0}')" \
    -v mean="$(sed -n '/"kl"/,$p' "$TMP/out" | awk '/"mean"/ {print $2 + 0}')" \
    'BEGIN {print (mean > 0 && mean < p99 ? "mean below 99th percentile" : mean " " p99)}'
"$EDGEWISE" perplexity "$TMP/b.gguf" -f "$TMP/text" -c 50 -t 1 --chunk 7 \
    --kl-base "$TMP/a.gguf" --json | cmp - "$TMP/out" && echo equal

echo '- what is wrong'
bad() {
    "$EDGEWISE" perplexity "$@" 2>&1 >/dev/null | sed "s|$TMP/||g"
}
bad "$TMP/a.gguf" -f "$TMP/text" -c 50 --kl-base "$TMP/c.gguf"
bad "$TMP/a.gguf" -f "$TMP/nothing"
printf 'the day' >"$TMP/short"
bad "$TMP/a.gguf" -f "$TMP/short" -c 50
bad "$TMP/a.gguf" | head -n 1
bad "$TMP/a.gguf" -f "$TMP/text" -c 2 | head -n 1
"$EDGEWISE" perplexity "$TMP/a.gguf" -f "$TMP/text" -c 50 --kl-base "$TMP/c.gguf" 2>/dev/null
echo "status $?"
