# SPDX-License-Identifier: MIT
# What can't be run: one sentence on standard error, nothing on standard output, exit status 1.
cd "$TMP" || exit 1
case $EDGEWISE in /*) ;; *) EDGEWISE=$OLDPWD/$EDGEWISE ;; esac
case $B in /*) ;; *) B=$OLDPWD/$B ;; esac
try() {
    "$EDGEWISE" run "$@" 2>err </dev/null
    echo "= $?"
    cat err
}
: >empty.gguf
echo 'this is no model' >text.gguf
try ./missing.gguf hello
try missing hello
try empty.gguf hello
try text.gguf hello
try . hello
try
try --or-help | head -n 1

echo '- started without standard files'
"$B/mkmodel" --arch qwen2 --vocab-kind qwen2 --vocab 512 --embd 64 --heads 2 --type Q8_0 m.gguf
"$EDGEWISE" run m.gguf -n 1 2>&1 <&-
echo "= $?"
"$EDGEWISE" run m.gguf -n 0 hello 2>&1 <&-
echo "= $?"
"$EDGEWISE" run m.gguf -n 1 hello --session s 2>&1 </dev/null >&- | head -n 1
"$EDGEWISE" run m.gguf -n 1 --ignore-eos hello --session s </dev/null 2>&- >out
echo "= $?"
[ -s out ] && grep -c role s

echo '- more threads than processors, a window larger than the one of the training'
n=$(getconf _NPROCESSORS_ONLN)
"$EDGEWISE" run m.gguf -n 0 -t $((n + 1)) hello 2>&1 </dev/null |
    sed "s/$((n + 1)) threads/N threads/; s/on $n processors/on P processors/; s/than $n threads/than P threads/"
warned() { "$EDGEWISE" "$@" 2>&1 >/dev/null </dev/null | grep -c 'more than the 512 the model was trained for'; }
warned run m.gguf -n 0 -c 513 hello
warned run m.gguf -n 0 -c 512 hello
warned bench m.gguf -p 510 -n 3 -pg 510,3 -r 1 -t 1,2 --no-probe
awk 'BEGIN {for (i = 0; i < 600; i++) printf "q%d ", i}' >text
warned perplexity m.gguf -f text -c 600
warned logits m.gguf "$(cat text)"
