# SPDX-License-Identifier: MIT
# The figures of logits are checked against each other: they differ from processor to processor in
# the last digits.
"$B/mkmodel" --arch llama --vocab-kind spm --type F32 --seed 5 "$TMP/m.gguf" || exit 1
m=$TMP/m.gguf

echo '- probabilities of the whole vocabulary add up to 1, the largest first'
"$EDGEWISE" logits "$m" 'the other day' --top 0 --json |
    awk '/"logit"/ {gsub(",", ""); if (n++ && $2 > last) bad = 1; last = $2}
         /"probability"/ {gsub(",", ""); sum += $2}
         END {printf "%d tokens, %.5f%s\n", n, sum, bad ? ", not in order" : ""}'
echo '- after the last token of all positions as after the last alone; table and ids agree'
"$EDGEWISE" logits "$m" 'the other day' --top 5 >"$TMP/last"
"$EDGEWISE" logits "$m" 'the other day' --top 5 --all >"$TMP/all"
tail -n 7 "$TMP/all" | cmp - "$TMP/last" && echo equal
"$EDGEWISE" tokenize "$m" 'the other day' --ids >"$TMP/ids"
"$EDGEWISE" logits "$m" --ids --top 5 <"$TMP/ids" | cmp - "$TMP/last" && echo equal
echo '- chunks and threads change nothing'
for o in '--chunk 1' '--chunk 3' '-t 1' '-t 3'; do
    "$EDGEWISE" logits "$m" 'the other day' --top 5 --all $o | cmp - "$TMP/all" && echo "$o: equal"
done
echo '- positions'
grep -c '^after' "$TMP/all"
"$EDGEWISE" logits "$m" 'the other day' --all --json | grep -c '"position"'
echo '- what is wrong'
"$EDGEWISE" logits "$m" --ids '1 99999' 2>&1
"$EDGEWISE" logits "$m" --no-bos '' 2>&1
echo "status $?"
"$EDGEWISE" logits "$m" 'the other day' -c 2 2>&1
echo "status $?"
