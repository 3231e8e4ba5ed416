# SPDX-License-Identifier: MIT
# mkmodel as a command: usage, a repeatable file, errors.
mk=$B/mkmodel
$mk --list | grep -c 'qwen2.5-7b .*4.68 GB as Q4_K_M'
$mk --help | grep -c -e '--vocab-kind'
$mk --arch llama --layers 1 --embd 64 --type Q4_K_M "$TMP/a.gguf" && echo made
$mk --arch llama --layers 1 --embd 64 --type Q4_K_M "$TMP/b.gguf"
$mk --arch llama --layers 1 --embd 64 --type Q4_K_M --seed 2 "$TMP/c.gguf"
cmp "$TMP/a.gguf" "$TMP/b.gguf" && echo same
cmp -s "$TMP/a.gguf" "$TMP/c.gguf" || echo different
$mk "$TMP/d.gguf" 2>"$TMP/err"; echo "$? $(head -n 1 "$TMP/err")"
$mk --model none "$TMP/d.gguf" 2>"$TMP/err"; echo "$? $(head -n 1 "$TMP/err")"
$mk --arch llama --type Q9 "$TMP/d.gguf" 2>&1; echo $?
$mk --arch llama --heads 4 --kv-heads 3 "$TMP/d.gguf" 2>&1; echo $?
$mk --arch llama --layers x "$TMP/d.gguf" 2>"$TMP/err"; echo "$? $(head -n 1 "$TMP/err")"
cd "$TMP" && ls *.gguf*
