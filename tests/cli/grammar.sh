# SPDX-License-Identifier: MIT
# An answer follows the grammar and ends when it is complete; what is wrong with one is said.
set -e
m=$TMP/m.gguf
"$B/mkmodel" --arch qwen2 --vocab-kind qwen2 --vocab 512 --embd 64 --heads 2 --type Q8_0 "$m" >/dev/null
run() { "$EDGEWISE" run "$m" -p hello -n 100 --seed 1 "$@" </dev/null; }

for t in 0 1; do
    run --temp $t --grammar 'root ::= [a-c]{4} "!" | "maybe"' >"$TMP/out"
    grep -Ex '[a-c]{4}!|maybe' "$TMP/out" >/dev/null && echo "temperature $t: follows"
done
printf 'root ::= pair{2}\npair ::= "(" [0-9] ")"\n' >"$TMP/g.gbnf"
run --grammar-file "$TMP/g.gbnf" | grep -Ex '(\([0-9]\)){2}' >/dev/null && echo 'from a file: follows'
run --grammar 'root ::= "yes"' --json | grep -c '"reason": *"stop"'
fails() { run "$@" >/dev/null 2>"$TMP/err" || echo "status $?"; sed "s|$TMP/||" "$TMP/err"; }
fails --grammar 'root ::= "a'
printf '\nroot ::= x\n' >"$TMP/bad.gbnf"
fails --grammar-file "$TMP/bad.gbnf"
fails --grammar-file "$TMP/none.gbnf"
fails --grammar 'root ::= "a"' --grammar-file "$TMP/g.gbnf"

run --temp 1 --json-schema '{"type":"array","items":{"enum":["a",1]},"minItems":2,"maxItems":3}' |
    grep -Ezx '\[\s*("a"|1)(,\s*("a"|1)){1,2}\s*\]\n?' >/dev/null && echo 'a schema: follows'
echo '{"type":"integer","minimum":20,"maximum":29}' >"$TMP/s.json"
run -jf "$TMP/s.json" | grep -Ex '2[0-9]' >/dev/null && echo 'a schema from a file: follows'
run --format json -n 1 | head -c 1
echo
fails --json-schema '{"properties":{"a":{"multipleOf":3}}}'
fails --format xml
