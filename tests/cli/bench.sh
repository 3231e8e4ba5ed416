# SPDX-License-Identifier: MIT
# Every test asked for is there with its figures; times themselves are nobody's business here.
"$B/mkmodel" --arch llama --vocab-kind spm --type Q8_0 --layers 1 --embd 64 "$TMP/m.gguf" || exit 1
bench() {
    "$EDGEWISE" bench "$TMP/m.gguf" "$@"
}

echo '- the table'
bench -p 8,16 -n 4 -d 0,8 -t 1,2 -r 2 --no-probe >"$TMP/out" || exit 1
sed -n '/^test /,/^$/p' "$TMP/out" | cut -c 1-43 | sed 's/ *$//'
echo '- JSON: median within min and max, a run for each repetition'
bench -p 8 -n 4 -r 3 -t 1 --json >"$TMP/out" 2>/dev/null || exit 1
tr -d '",:' <"$TMP/out" | awk '
    $1 == "median" {m = $2; n++} $1 == "min" {lo = $2}
    $1 == "max" {if (lo > m || m > $2 || lo <= 0) bad = 1}
    $1 == "time_us" {runs++} $1 == "probes" {p = 1} p && $1 ~ /^[0-9.]+e?/ {probes++} /]/ {p = 0}
    $1 == "accounts_peak_bytes" {peak = $2} /accounts \{/ {on = 1} /}/ {on = 0}
    on && NF > 1 {sum += $NF}
    END {print n " figures" (bad ? ", not in order" : ""); print runs " runs"; print probes " probes"
         print (sum == peak ? "the accounts add up to their peak" : sum " and " peak)}'
echo '- CSV: as many fields in every line'
bench -p 8 -n 4 -r 1 -t 1 --csv --no-probe 2>/dev/null |
    sed 's/"[^"]*"/x/g' | awk -F, '{print NF}' | uniq -c | tr -s ' '
echo '- SHA-256'
printf 'sha256      %s\n' "$(sha256sum "$TMP/m.gguf" 2>/dev/null || shasum -a 256 "$TMP/m.gguf")" |
    sed 's/ [^ ]*$//; s/ *$//' >"$TMP/want"
bench -p 8 -n 0 -r 1 -t 1 --no-probe --sha | grep '^sha256' | cmp - "$TMP/want" && echo equal
echo '- what is wrong'
bench -p 0 -n 0 2>&1 | head -n 1
bench -pg 12 2>&1 | head -n 1
bench -t 0 2>&1 | head -n 1
bench -p 8 -n 4 -c 5 2>&1
echo "status $?"
bench --json --csv 2>/dev/null
echo "status $?"
