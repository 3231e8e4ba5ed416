# SPDX-License-Identifier: MIT
# Models are found where people and other programs keep them.
set -e
mk=$PWD/$B/mkmodel
case $EDGEWISE in /*) ;; *) EDGEWISE=$PWD/$EDGEWISE ;; esac
unset OLLAMA_MODELS HF_HOME HF_HUB_CACHE LLAMA_CACHE XDG_CACHE_HOME 2>/dev/null || true
cd "$TMP"
digest=$(printf '%064d' 7)
mkdir -p models .ollama/models/blobs .ollama/models/manifests/registry.ollama.ai/library/tiny .lmstudio/models/pub/repo
"$mk" --arch qwen2 --vocab-kind qwen2 --vocab 512 --embd 64 --heads 2 --type Q8_0 m >/dev/null
run() { "$EDGEWISE" run "$@" -p hi -n 2 --temp 0 --ignore-eos 2>err >/dev/null && echo "= $?"; sed '/^edgewise: stopped/d; s/[0-9.]* [KM]iB/SIZE/' err; }

echo 'none'
run || true
echo 'one'
cp m models/small.gguf
run
echo 'two'
cp m ".ollama/models/blobs/sha256-$digest"
echo "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"sha256:$digest\"}]}" \
    >.ollama/models/manifests/registry.ollama.ai/library/tiny/1b
touch -t 203001010000 .ollama/models/manifests/registry.ollama.ai/library/tiny/1b
run
echo 'by name'
run small
run tiny:1b
run tiny:2b || true
cp m .lmstudio/models/pub/repo/third.gguf
run THIRD

echo 'wherever a file is taken'
echo hi hi hi hi hi hi hi hi hi hi hi >text
for c in 'show' 'bench -p 4 -n 0 -r 1 --no-probe --json' 'tokenize --ids' 'logits' \
    'perplexity -f text -c 4 --kl-base tiny:1b'; do
    "$EDGEWISE" $c tiny:1b <text >out 2>err && [ -s out ] && echo "${c%% *}" || cat err
    "$EDGEWISE" $c tiny:2b <text 2>&1 >/dev/null || echo "= $?"
done
"$EDGEWISE" perplexity -f text -c 4 tiny:1b --kl-base tiny:2b 2>&1 ||
    echo "= $?"
