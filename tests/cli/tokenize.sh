# SPDX-License-Identifier: MIT
# Text to ids and back, in every form, on made-up byte-level and SentencePiece vocabularies.
"$B/mkmodel" --arch qwen2 --vocab-kind bpe --layers 1 --embd 64 --type Q8_0 "$TMP/bpe.gguf" || exit 1
"$B/mkmodel" --arch llama --vocab-kind spm --layers 1 --embd 64 --type Q8_0 "$TMP/spm.gguf" || exit 1

echo '- pieces'
"$EDGEWISE" tokenize "$TMP/bpe.gguf" 'Hi 中<|im_end|>'
echo '- special tokens'
"$EDGEWISE" tokenize "$TMP/bpe.gguf" --special 'Hi<|im_end|>'
echo '- bos, and none'
"$EDGEWISE" tokenize "$TMP/spm.gguf" --ids x
"$EDGEWISE" tokenize "$TMP/spm.gguf" --ids --no-bos x
echo '- nothing'
printf '' | "$EDGEWISE" tokenize "$TMP/bpe.gguf" --ids
echo '- JSON: bytes that are no text are an array'
"$EDGEWISE" tokenize "$TMP/bpe.gguf" --json '中'

echo '- there and back, any bytes'
i=0
while [ $i -lt 256 ]; do
    printf "\\$(printf %o $i)x y "
    i=$((i + 1))
done >"$TMP/bytes"
for m in bpe spm; do
    "$EDGEWISE" tokenize "$TMP/$m.gguf" --ids <"$TMP/bytes" >"$TMP/ids"
    "$EDGEWISE" tokenize "$TMP/$m.gguf" --detokenize <"$TMP/ids" >"$TMP/back"
    cmp "$TMP/bytes" "$TMP/back" && echo "$m: equal"
done
echo '- ids in other forms'
"$EDGEWISE" tokenize "$TMP/bpe.gguf" --detokenize '39,72' && echo
"$EDGEWISE" tokenize "$TMP/bpe.gguf" --detokenize "$("$EDGEWISE" tokenize "$TMP/bpe.gguf" \
    --special --ids 'Hi<|im_end|>')" && echo
"$EDGEWISE" tokenize "$TMP/bpe.gguf" --detokenize --special "$("$EDGEWISE" tokenize \
    "$TMP/bpe.gguf" --special --ids 'Hi<|im_end|>')" && echo
echo '- a megabyte'
awk 'BEGIN {for (i = 0; i < 100000; i++) printf "word %04d\n", i % 10000}' |
    "$EDGEWISE" tokenize "$TMP/bpe.gguf" --ids >"$TMP/ids"
"$EDGEWISE" tokenize "$TMP/bpe.gguf" --detokenize <"$TMP/ids" | wc -c | tr -d ' '

echo '- what is wrong'
bad() {
    "$EDGEWISE" tokenize "$@" 2>&1 | sed "s|$TMP/||"
}
bad "$TMP/bpe.gguf" --detokenize '1 2x'
bad "$TMP/bpe.gguf" --detokenize '[1, 2'
bad "$TMP/bpe.gguf" --detokenize '512'
bad "$TMP/nothing.gguf" x
"$EDGEWISE" tokenize "$TMP/bpe.gguf" --detokenize '512' 2>/dev/null
echo "status $?"
"$EDGEWISE" tokenize 2>/dev/null
echo "status $?"
