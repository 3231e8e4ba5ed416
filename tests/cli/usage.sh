# SPDX-License-Identifier: MIT
# What is said about wrong use, and the exit status 2.
try() {
    "$EDGEWISE" "$@" 2>&1
    echo "= $?"
}
try rum
try --vresion
try model.gguf
try help nothing
try run --tpo-k 3
try run --repeat 1
try run x.gguf --temp hot
try run x.gguf --temp -1
try run x.gguf -n
try run x.gguf --mlock=yes
try run x.gguf --logit-bias 12
try run x.gguf --logit-bias 12+inf
try run x.gguf --memory-limit lots
try run x.gguf --mirostat 1
try run x.gguf --mirostat 3
try run x.gguf --stop ''
try run x.gguf --dry-sequence-breaker ''
try run x.gguf --repeat-penalty 0
try run x.gguf --repeat-last-n 2000000
try run x.gguf --dry-penalty-last-n 2000000
try run x.gguf --dry-base 0.5
try run x.gguf -t 600
try bench x.gguf -t 1,600
try run x.gguf -ctk q3
try run x.gguf --prompt a --file b
try run x.gguf --raw --system s
try --version
try help run | head -n 3
try --help | head -n 1
