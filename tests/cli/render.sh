# SPDX-License-Identifier: MIT
# A chat template with a conversation: from a file, from a model, and what can go wrong.
cat >"$TMP/chat.jinja" <<'END'
{%- for m in messages %}
<|{{ m.role }}|>{{ m.content | trim }}
{% endfor %}
{%- if tools %}{{ tools | tojson(indent=1) }}{% endif %}
{{ bos_token }} {{ strftime_now('%d %B %Y') }}
{% if add_generation_prompt %}<|assistant|>{% endif %}
END
cat >"$TMP/talk.json" <<'END'
{"messages": [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "你好 <b>"}],
 "tools": [{"name": "f", "x": 1.0}], "add_generation_prompt": true}
END
render() {
    "$EDGEWISE" render --now '2026-01-15 12:00:00' "$@" 2>&1 | sed "s|$TMP/||"
    echo "="
}
echo '- a file'
render "$TMP/chat.jinja" --context "$TMP/talk.json"
echo '- standard input'
render "$TMP/chat.jinja" <"$TMP/talk.json"

echo '- a model: its template, its tokens'
"$B/mkmodel" --arch qwen2 --vocab-kind bpe --layers 1 --embd 64 --type Q8_0 "$TMP/m.gguf" || exit 1
render "$TMP/m.gguf" --context "$TMP/talk.json"
render "$TMP/m.gguf" --variant tool_use --context "$TMP/talk.json"

echo '- what is wrong'
printf 'a\n{{ messages[7].content.x }}' >"$TMP/a.jinja"
printf 'a\n\n{%% if %%}' >"$TMP/b.jinja"
printf "{{ raise_exception('no system, please') }}" >"$TMP/c.jinja"
printf '{"messages": [1,\n 2' >"$TMP/bad.json"
render "$TMP/a.jinja" --context "$TMP/talk.json"
render "$TMP/b.jinja" --context "$TMP/talk.json"
render "$TMP/c.jinja" --context "$TMP/talk.json"
render "$TMP/chat.jinja" --context "$TMP/bad.json"
echo '[1]' | render "$TMP/chat.jinja"
render "$TMP/chat.jinja" --context "$TMP/nothing.json"
"$EDGEWISE" render "$TMP/c.jinja" --context "$TMP/talk.json" 2>/dev/null
echo "status $?"
"$EDGEWISE" render "$TMP/c.jinja" --now yesterday 2>&1
echo "status $?"
