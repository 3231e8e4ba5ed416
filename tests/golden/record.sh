#!/bin/sh
# SPDX-License-Identifier: MIT
# Records tests/golden/*.json anew from llama.cpp, which reaches us ready built in an npm package.
#
#   mkdir peer && cd peer && npm install --omit=optional node-llama-cpp@3.21.1 \
#       @node-llama-cpp/linux-x64@3.21.1 && cd -
#   make && tests/golden/record.sh peer
#
# usage: tests/golden/record.sh PEER [NAME...]     (all of tests/golden/models, or those named)
# Needs cc, git, jq and jansson. Each line of tests/golden/models makes one model with
# mkmodel; what the reference computes for it goes to tests/golden/NAME.json.
set -eu
peer=$1
shift
here=$(dirname "$0")
mkmodel=${MKMODEL:-build/release/mkmodel}
package=$peer/node_modules/node-llama-cpp
libs=$(cd "$peer/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The package carries the headers inside a bundle of the source tree.
git clone -q "$package/llama/gitRelease.bundle" "$work/tree" 2>/dev/null
cc -std=c17 -O1 -Wall -Wextra -I"$work/tree/include" -I"$work/tree/ggml/include" \
    -o "$work/record" "$here/record.c" "$libs"/libllama.v*.so "$libs"/libggml.v*.so \
    "$libs/libggml-base.so" -ljansson -Wl,-rpath,"$libs"

while read -r name prompts args; do
    case $name in '' | '#'*) continue ;; esac
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    fi
    echo "$name" >&2
    # shellcheck disable=SC2086 # args are words
    "$mkmodel" $args "$work/model.gguf"
    "$work/record" "$libs/libggml-cpu-haswell.so" "$here/$prompts" "$work/model.gguf" \
        "$work/float.gguf" >"$work/out.json"
    jq -c --arg make "$args" '{make: $make} + .' "$work/out.json" >"$here/$name.json"
done <"$here/models"
