# SPDX-License-Identifier: MIT
# Every work of every engine gets into the table, rounds of an earlier call with --add, and a peer
# that fails is named. Figures are nobody's business here: the machine may be busy.
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null || {
    echo 'node 18 or newer is not here'
    exit 77
}
"$B/mkmodel" --arch llama --layers 1 --embd 64 --type Q8_0 "$TMP/tiny.gguf" || exit 1
cat >"$TMP/llama-bench" <<'EOF'
#!/bin/sh
echo '[{"samples_ts": [20, 10, 30]}]'
EOF
printf '#!/bin/sh\necho out of luck >&2\nexit 3\n' >"$TMP/broken"
chmod +x "$TMP/llama-bench" "$TMP/broken"
peer() {
    node bench/peer/main.mjs --build "$B" --work "$TMP/work" --models "$TMP/tiny.gguf" --rounds 1 \
        --tries 1 --reps 1 --prompt 8 "$@"
}

echo '- model, work, columns'
peer --peer "$TMP/llama-bench" --gen 4 --depth 16 2>/dev/null | grep '^|' |
    awk -F'|' '{gsub(/ +/, " "); print $2 "," $3 "," NF - 2}'
echo '- the last column counts rounds'
peer --peer "$TMP/llama-bench" --gen 0 --add 2>/dev/null | awk -F'|' '/^. tiny/ {print $3, $11 + 0}'
echo '- what is wrong'
peer --peer "$TMP/broken" --gen 4 2>&1 | sed -n 's/.*: exit status/exit status/p; /luck/p'
peer --gen many 2>&1
echo "status $?"
