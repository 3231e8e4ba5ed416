#!/bin/sh
# SPDX-License-Identifier: MIT
# Records tests/golden/grammar.json with llama.cpp's own grammar sampler, as packaged by the npm
# package node-llama-cpp (3.21.1 was used), which brings the library and a git bundle with its
# headers.
# usage: tests/golden/grammar-record.sh NODE_MODULES     (after make tests)
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$1/node-llama-cpp" ] || { echo "usage: $0 NODE_MODULES" >&2; exit 2; }
modules=$(cd "$1" && pwd)
bins=$modules/@node-llama-cpp/linux-x64/bins/linux-x64
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

git clone -q -n "$modules/node-llama-cpp/llama/gitRelease.bundle" "$tmp/llama"
git -C "$tmp/llama" checkout -q HEAD -- include ggml/include
for lib in llama ggml ggml-base; do
    for so in "$bins/lib$lib".so "$bins/lib$lib".v*.so; do
        [ ! -e "$so" ] || libs="$libs $so"
    done
done
# shellcheck disable=SC2086 # a list of files
${CC:-cc} -std=c17 -D_GNU_SOURCE -O1 -I"$tmp/llama/include" -I"$tmp/llama/ggml/include" \
    "$here/grammar-record.c" -o "$tmp/record" $libs -Wl,-rpath,"$bins" -ljansson -lm
"${B:-build/release}/tests/text/grammar" texts |
    "$tmp/record" "$tmp/vocab.gguf" "$here/grammar-cases.json" >"$tmp/grammar.json"
mv "$tmp/grammar.json" "$here/grammar.json"
