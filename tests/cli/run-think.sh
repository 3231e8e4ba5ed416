# SPDX-License-Identifier: MIT
# Whose text goes where: what a model thinks to standard error, what it says to standard output.
cat >"$TMP/opens" <<'END'
{%- for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}
{%- if add_generation_prompt %}assistant: <think>
{% endif %}{# </think> #}
END
make() {
    "$B/mkmodel" --arch llama --layers 1 --embd 64 --type Q8_0 --chat-template "$2" "$1" || exit 1
}
make "$TMP/opens.gguf" "$(cat "$TMP/opens")"
make "$TMP/bad.gguf" '{% if %}'
make "$TMP/refuses.gguf" "{{ raise_exception('Roles must alternate') }}"
run() {
    file=$1
    shift
    "$EDGEWISE" run "$TMP/$file.gguf" -n 8 --seed 1 --ignore-eos "$@" >"$TMP/out" 2>"$TMP/err"
    status=$?
    grep -av '^edgewise: stopped' "$TMP/err" >"$TMP/notes"
    echo "= $status, said: $(test -s "$TMP/out" && echo something || echo nothing)," \
        "thought: $(grep -ac 'Thinking\.\.\.' "$TMP/err")"
}
echo '- the template opens a thought'
run opens -p hi
head -n 1 "$TMP/notes"
tail -n 2 "$TMP/notes" | head -n 1
echo '- hidden'
run opens -p hi --hidethinking
echo '- turned off'
run opens -p hi --no-think
echo '- in JSON'
run opens -p hi --json
grep -o '"text":""\|"reasoning":"\|"chat_form":"[^"]*"' "$TMP/out"
echo '- raw text has no thoughts'
run opens -p '<think>' --raw
echo '- a grammar holds what is said and not what is thought'
run opens -p hi --grammar 'root ::= "yes"'
run opens -p hi --grammar 'root ::= "yes"' --no-think
cat "$TMP/out" && echo
echo '- another template, more variables'
echo '{% for m in messages %}{{ m.content }}{% endfor %}{% if shout %}{{ raise_exception("HEY") }}{% endif %}' \
    >"$TMP/other.jinja"
run opens -p hi --chat-template-file "$TMP/other.jinja" --verbose
grep -a 'put by' "$TMP/err"
run opens -p hi --chat-template-file "$TMP/other.jinja" --chat-template-kwargs '{"shout": true}'
cat "$TMP/err"
echo '- what is wrong'
run bad -p hi
cat "$TMP/err"
run bad -p hi --raw
run opens -p hi --chat-template-kwargs '[1]'
cat "$TMP/err"
run refuses -p hi
cat "$TMP/err"
"$EDGEWISE" run "$TMP/opens.gguf" --think --no-think -p hi 2>&1
echo "= $?"
