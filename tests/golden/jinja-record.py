#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Writes jinja.json: small templates that cover the language, each with the result of Jinja2 in the
# set-up of Transformers, which is what the authors of chat templates see. Needs python3-jinja2.
#
#   tests/golden/jinja-record.py > tests/golden/jinja.json

import datetime
import json
import sys

import jinja2.ext
import jinja2.nodes
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def environment():
    e = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    e.filters["tojson"] = tojson
    e.globals["raise_exception"] = raise_exception
    e.globals["strftime_now"] = datetime.datetime(2026, 1, 15, 12, 0, 0).strftime
    return e


CONTEXT = {
    "n": 7, "x": 2.5, "zero": 0, "t": True, "f": False, "none": None, "empty": "", "s": "Hello, World",
    "u": "naïve Café 北京 😀 ß", "html": "<a href='x'>&\"b\"</a>", "l": [3, 1, 2], "mixed": [1, 2.0, "a", None, True],
    "d": {"b": 1, "a": 2, "C": 3}, "nested": {"k": [{"v": 1}, {"v": 2, "w": {"z": "deep"}}]},
    "people": [{"name": "Ann", "age": 31}, {"name": "bob", "age": 25}, {"name": "Cy", "age": 40, "x": 1}],
    "multi": "line 1\n  line 2\n\nline 4\n", "quotes": "it's \"so\"", "ctl": "a\tb\\c\u0001\u007f\u200b\u2028",
    "big": 123456789012345, "small": 1e-7, "large": 1.5e300, "neg": -3,
}

# One a line; "⏎" is a newline in the template.
CASES = r"""
{{ n }} {{ x }} {{ t }} {{ none }} {{ s }} {{ l }} {{ mixed }} {{ d }} {{ nested }}
{{ quotes }}|{{ [quotes] }}|{{ [ctl] }}|{{ [u] }}
{{ small }} {{ large }} {{ 1e16 }} {{ 1e15 }} {{ 123456.0 }} {{ 0.1 + 0.2 }} {{ 100.0 }} {{ 1/3 }} {{ big }}
{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}
{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 'a' ~ 1 ~ none ~ 1.5 }} {{ 'ab' * 3 }} {{ [0] * 2 + [1] }} {{ t + 1 }}
{{ 1 == 1.0 }} {{ t == 1 }} {{ '1' == 1 }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' < 'b' }} {{ [1,2] < [1,3] }} {{ d == {'a':2,'b':1,'C':3} }}
{{ 3 in l }} {{ 'b' in d }} {{ 'ell' in s }} {{ 9 not in l }} {{ not t }} {{ not (zero or f) }}
{{ zero or 'dflt' }} {{ n and 'yes' }} {{ empty and 'no' }}| {{ 'a' if t else 'b' }} {{ 'a' if f }}| {{ 'a' if f else 'b' if f else 'c' }}
{{ s[0] }} {{ s[-1] }} {{ s[1:4] }} {{ s[::-1] }} {{ s[-5:] }} {{ l[1:] }} {{ l[::2] }} {{ l[-2:][0] }} {{ u[11:13] }} {{ u[::3] }} {{ s[10:2] }}| {{ l[5:1:-1] }}
{{ d.a }} {{ d['b'] }} {{ d.zz }}| {{ d['zz'] is defined }} {{ l[9] is defined }} {{ l.0 }} {{ nested.k[1].w.z }} {{ nested['k'].0.v }}
{{ missing }}| {{ missing is defined }} {{ missing is undefined }} {{ missing | default('x') }} {{ empty | default('y', true) }} {{ missing or 'z' }} {{ missing | length }} {{ missing | list }}
{{ missing.attr }}
{{ missing + 'a' }}
{{ none.attr }}|{{ none.attr is defined }}
{{ none.call() }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ 'x' in none }}
{{ none | length }}
{{ l | length }} {{ s | length }} {{ u | length }} {{ d | length }} {{ l | count }}
{{ nothing() }}
{{ n() }}
{{ 1 / 0 }}
{{ l.append(4) }}
{{ d.update({'q': 1}) }}
{{ d.pop('a') }}
{{ l | nosuchfilter }}
{{ l is nosuchtest }}
{{ raise_exception('my ' + 'message') }}
{{ strftime_now('%Y-%m-%d %H:%M:%S %d %b %B %a %A %j %y %I %p %%') }}
{{ strftime_now('%e|%F %T|%S|%') }}
{% for i in l %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.revindex0 }}/{{ loop.first }}/{{ loop.last }}/{{ loop.length }}/{{ loop.cycle('o', 'e') }}/{{ loop.previtem }}/{{ loop.nextitem }}/{{ loop.depth }};{% endfor %}
{% for i in l if i > 1 %}{{ i }}{{ loop.last }},{% else %}none{% endfor %}
{% for i in [] %}x{% else %}empty{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for k, v in d | items %}{{ k }}{{ v }}{% endfor %}
{% for c in u %}[{{ c }}]{% endfor %}
{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in range(2, 10, 3) %}{{ i }} {% endfor %}{% for i in range(3, 0, -1) %}{{ i }}{% endfor %}{{ range(4)[1] }}{{ range(4) | list }}
{% for i in missing %}x{% else %}undefined is empty{% endfor %}
{% for i in none %}x{% endfor %}
{% for i in 5 %}x{% endfor %}
{% for a, b in [[1, 2], [3, 4]] %}{{ a + b }} {% endfor %}
{% for a, b in [[1, 2, 3]] %}{{ a }}{% endfor %}
{% for x in people recursive %}{{ x.name }}{% if x.kids %}{{ loop(x.kids) }}{% endif %}{% endfor %}
{% for x in [{'n': 1, 'k': [{'n': 2, 'k': [{'n': 3}]}]}] recursive %}{{ loop.depth }}:{{ x.n }}({{ loop(x.k) if x.k }}){% endfor %}
{% set a = 0 %}{% for i in l %}{% set a = i %}{{ a }}{% endfor %}{{ a }}
{% for i in [1, 2] %}[{{ q }}]{% set q = i %}{{ q }}{% endfor %}
{% set a = 1 %}{% if t %}{% set a = 2 %}{% endif %}{{ a }}
{% set ns = namespace(c=0, s='') %}{% for i in l %}{% set ns.c = ns.c + i %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.c }} {{ ns.s }} {{ ns.none_such }}|
{% set ns.x = 1 %}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}{% set (d1, e1) = [3, 4] %}{{ d1 }}{{ e1 }}
{% set x %}abc {{ n }}{% endset %}{{ x }}{{ x | length }}{% set y | upper | replace('B', '-') %}abc{% endset %}{{ y }}
{% macro m(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(a=5, c=6) }} {{ m() }} {{ m('x', b=none) }}
{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, z=4) }}
{% macro fact(k) %}{% if k < 2 %}1{% else %}{{ k * (fact(k - 1) | int) }}{% endif %}{% endmacro %}{{ fact(10) }}
{% macro m() %}{{ z }}{% endmacro %}{% set z = 1 %}{{ m() }}{% set z = 2 %}{{ m() }}
{% macro wrap(tag) %}<{{ tag }}>{{ caller() }}</{{ tag }}>{% endmacro %}{% call wrap('b') %}in {{ n }}{% endcall %}
{% macro each(xs) %}{% for x in xs %}{{ caller(x) }},{% endfor %}{% endmacro %}{% call(v) each(l) %}[{{ v }}]{% endcall %}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }} {{ m.name }}
{% filter upper %}abc {{ s }}{% endfilter %}{% filter replace('a', 'b') | upper %}xax{% endfilter %}
{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}|
{% generation %}gen {{ n }}{% set q = 1 %}{% endgeneration %}{{ q }}|
{% raw %}{{ not }} {% this %} {# nor this #}{% endraw %}
a{# comment #}b{#- c -#} d
  {% if t %}  ⏎  x  ⏎  {% endif %}  ⏎y
  {%- if t -%}  ⏎  x  ⏎  {%- endif -%}  ⏎y
  {%+ if t +%}⏎  x⏎  {%+ endif +%}⏎y
a⏎  {{ n }}  ⏎b⏎  {{- n -}}  ⏎c
{% if t %}⏎⏎x⏎{% endif %}⏎⏎
a⏎{# c #}⏎b⏎  {# d #}  ⏎c {# e -#}⏎ d
x {% if f %}a{% elif n == 7 %}b{% elif t %}c{% else %}d{% endif %} y
{{ 'a\n\t\'\"\\b\x41\u00e9\q' }} {{ "it's" }} {{ 'a' 'b' "c" }}
{{ {'a': 1, 'b': [1, {'c': none}]} }} {{ (1,) }} {{ () }} {{ (1, 2) }} {{ [1, 2,] }} {{ {1: 'x', none: 2} }}
{{ dict(a=1, b='x') }} {{ dict([('q', 1)]) }}
{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1.5e3 }} {{ 1e2 }} {{ 2e-3 }}
{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ 'hello wORLD'.capitalize() }} {{ s.swapcase() }} {{ u.upper() }} {{ u.title() }}
{{ "they're bill's-own (thing)" | title }} {{ "they're bill's-own (thing)".title() }} {{ u | upper }} {{ 'ÀÉ' | lower }} {{ 'aBC' | capitalize }}
[{{ '  a b '.strip() }}] [{{ '  a '.lstrip() }}] [{{ '  a '.rstrip() }}] [{{ 'xxaxx'.strip('x') }}] [{{ 'abcab'.lstrip('ab') }}] [{{ 'a\u3000\u00a0'.strip() }}] [{{ 'é北é'.strip('é') }}]
{{ 'a,b,,c'.split(',') }} {{ ' a  b c '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a  b'.split(' ') }} {{ ' a b  c'.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }}
{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'abc'.rsplit('x') }} {{ 'a<t>b<t>c'.split('<t>')[-1] }} {{ 'a\nb\r\nc\n'.splitlines() }}
{{ 'a'.split('') }}
{{ 'banana'.replace('a', 'o') }} {{ 'banana'.replace('a', 'o', 2) }} {{ 'ab'.replace('', '-') }} {{ 'banana' | replace('an', '') }} {{ 'aaa' | replace('a', 'b', 1) }}
{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'bc')) }} {{ 'abc'.startswith('bc') }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('bc') }} {{ 'abc'.removesuffix('x') }}
{{ 'abcabc'.find('c') }} {{ 'abcabc'.rfind('c') }} {{ 'abc'.find('x') }} {{ '北京a'.find('a') }} {{ 'aXbXc'.count('X') }} {{ 'abc'.index('b') }}
{{ 'abc'.index('x') }}
{{ ', '.join(['a', 'b']) }} {{ '-'.join('abc') }} {{ 'a:b:c'.partition(':') }} {{ 'a:b:c'.rpartition(':') }} {{ 'abc'.partition('x') }}
{{ ', '.join([1, 2]) }}
{{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {{ 'ab'.islower() }} {{ 'AB'.isupper() }} {{ ''.isdigit() }}
{{ '7'.zfill(3) }} {{ '-7'.zfill(4) }} [{{ 'ab'.center(5) }}] [{{ 'ab'.center(7, '*') }}] [{{ 'abc'.center(6, '*') }}] [{{ 'ab'.ljust(4) }}] [{{ 'ab'.rjust(4, '.') }}] [{{ 'ab' | center(6) }}]
{{ '%s is %d and %.2f' % ('a', 3, 2.5) }} {{ '%5s|%-5s|%05d|%x|%%' % ('a', 'b', 42, 255) }} {{ '%s' % 'one' }} {{ '%(k)s' % {'k': 5} }} {{ '%r' % 'q' }} {{ '%+d' % 5 }} {{ '%s %s' | format('a', 1) }} {{ '%e' % 12345.678 }}
{{ '%d' % 'x' }}
{{ '%g %G %G' % (1e10, 1e10, 0.5) }} {{ '{:g} {:G} {:E}'.format(1e10, 1e-10, 12.0) }} {{ '%d %i' % (2.9, -2.9) }}
{{ {('inf' | float): 1, 2.5: 3} }}
{{ '%s %s' % 'a' }}
{{ '{} {}'.format(1, 'b') }} {{ '{1} {0}'.format('a', 'b') }} {{ '{k:>5}|{v:<4}|{w:^6}|'.format(k='a', v=1, w='x') }} {{ '{:.3f} {:,} {:05d} {:+d} {:x} {:.1%} {{}}'.format(3.14159, 1234567, 42, 5, 255, 0.256) }} {{ '{:*^9}'.format('mid') }} {{ '{:.2}'.format('abc') }}
{{ d.get('a') }} {{ d.get('zz') }} {{ d.get('zz', 9) }} {{ d.keys() | list }} {{ d.values() | list }} {{ d.items() | list }} {{ d.items() }} {{ d.keys() }}
{{ l.index(1) }} {{ [1, 1, 2].count(1) }} {{ {'items': 5}.items is defined }} {{ {'items': 5}['items'] }} {{ {'keyx': 5}.keyx }}
{{ l | tojson }} {{ d | tojson }} {{ u | tojson }} {{ u | tojson(ensure_ascii=true) }} {{ ctl | tojson }} {{ html | tojson }} {{ x | tojson }} {{ none | tojson }} {{ t | tojson }} {{ quotes | tojson }} {{ 1.0 | tojson }} {{ large | tojson }}
{{ nested | tojson(indent=2) }} {{ d | tojson(indent=4) }} {{ [] | tojson(indent=2) }} {{ {} | tojson(indent=2) }} {{ [[], {}] | tojson(indent=1) }} {{ l | tojson(indent=0) }}
{{ d | tojson(separators=(',', ':')) }} {{ d | tojson(sort_keys=true) }} {{ l | tojson(indent='--') }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }}
{{ missing | tojson }}
{{ l | map('string') | tojson }}
{{ range(3) | tojson }}
{{ people | map(attribute='name') | join(', ') }} {{ people | map(attribute='x', default='-') | list }} {{ ['a', 'b'] | map('upper') | list }} {{ l | map('string') | join }} {{ [' a '] | map('trim') | list }} {{ ['aXa'] | map('replace', 'a', 'b') | list }}
{{ people | selectattr('age', 'gt', 30) | map(attribute='name') | list }} {{ people | selectattr('x', 'defined') | list | length }} {{ people | rejectattr('x') | map(attribute='name') | list }} {{ l | select('odd') | list }} {{ l | reject('equalto', 1) | list }} {{ [0, 1, '', 'a'] | select | list }} {{ nested.k | selectattr('w.z', 'equalto', 'deep') | list | length }}
{{ none | selectattr('a') | list }} {{ none | map('upper') | list }} {{ [] | first }}| {{ [] | last }}| {{ l | first }} {{ l | last }} {{ s | first }} {{ s | last }}
{{ l | sort }} {{ l | sort(reverse=true) }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A', 'c'] | sort(case_sensitive=true) }} {{ people | sort(attribute='age') | map(attribute='name') | list }} {{ people | sort(attribute='name', reverse=true) | map(attribute='name') | list }}
{{ ['b', 3] | sort }}
{{ d | dictsort }} {{ d | dictsort(true) }} {{ d | dictsort(by='value') }} {{ d | dictsort(false, 'value', true) }}
{{ [1, 2, 1, 'a', 'A'] | unique | list }} {{ l | min }} {{ l | max }} {{ l | sum }} {{ people | sum(attribute='age') }} {{ people | max(attribute='age') }} {{ ['b', 'A'] | min }} {{ [1.5, 2] | sum }}
{{ l | reverse | list }} {{ s | reverse }} {{ l | join('-') }} {{ l | list }} {{ 'ab' | list }} {{ d | list }} {{ people | join(',', attribute='name') }} {{ range(7) | batch(3) | list }} {{ range(5) | batch(3, 0) | list }}
{{ '3.7' | int }} {{ 3.9 | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ '0x1A' | int(0, 16) }} {{ ' 42 ' | int }} {{ '3.5' | float }} {{ 'y' | float }} {{ '1e3' | float }} {{ none | int }} {{ true | int }} {{ -3 | abs }} {{ (-3.5) | abs }}
{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.567 | round(2) }} {{ 5 | round }} {{ 2.1 | round(0, 'ceil') }} {{ 2.9 | round(method='floor') }} {{ 1234.5 | round(-2) }} {{ 0.125 | round(2) }}
{{ multi | indent }}| {{ multi | indent(2, true) }}| {{ multi | indent(2, blank=true) }}| {{ multi | indent('> ') }}| {{ multi | trim }}| {{ 'xaxx' | trim('x') }} {{ '' | indent }}|
{{ s | truncate(8) }} {{ 'the quick brown fox jumps' | truncate(12) }} {{ 'the quick brown fox jumps' | truncate(12, true) }} {{ 'the quick brown fox jumps' | truncate(12, true, '>') }} {{ 'abcdef' | truncate(4, true, '', 0) }}
{{ n is number }} {{ s is string }} {{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ l is iterable }} {{ n is iterable }} {{ d is mapping }} {{ l is mapping }} {{ none is none }} {{ t is boolean }} {{ n is integer }} {{ x is float }} {{ t is integer }} {{ missing is sequence }} {{ missing is iterable }} {{ t is true }} {{ 1 is true }} {{ f is false }} {{ d.items() is sequence }} {{ l | map('string') is sequence }}
{{ n is odd }} {{ n is even }} {{ n is divisibleby 7 }} {{ n is divisibleby(3) }} {{ n is eq 7 }} {{ n is equalto(7) }} {{ n is ne 8 }} {{ n is gt 3 }} {{ n is lessthan 3 }} {{ n is in [7] }} {{ 'abc' is lower }} {{ 'ABC' is upper }} {{ n is sameas n }} {{ raise_exception is callable }} {{ n is not none }} {{ not n is none }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ n is not defined or t }}
{{ [1, [2, [3]]] | tojson }} {{ [[1, 2], [3]] | sum(start=[]) }} {{ [d, d] | map('length') | list }}
{{ l | join(', ') if l else 'none' }} {{ (l | length) > 2 and s is string }} {{ l | length > 2 }} {{ l[0] + l[1] * 2 }} {{ -l[0] }} {{ -1 | abs }} {{ l | first + 1 }}
{{ {'a': {'b': 1}}.a.b }} {{ [{'a': 1}][0].a }} {{ 'abc'[1] }} {{ ('a', 'b')[1] }} {{ 'x'.upper().lower() }} {{ 'a-b'.split('-') | join('+') }} {{ {'f': 1}['f'] }}
{{ s.nosuch }}|{{ s.nosuch is defined }}
{{ s.nosuch() }}
{{ loop }}|
{% if missing %}a{% else %}b{% endif %}{% if missing is defined and missing.x %}a{% endif %}{% if 'x' in missing %}a{% else %}c{% endif %}
{% if 'a' %}1{% endif %}{% if '' %}2{% endif %}{% if [] %}3{% endif %}{% if {} %}4{% endif %}{% if 0.0 %}5{% endif %}{% if l | map('string') %}6{% endif %}{% if [] | map('string') %}7{% endif %}
{% set gen = l | map('string') %}{{ gen | join }}{{ gen | join }}|
{% for i in l %}{% for j in l %}{{ loop.index }}{{ i }}{{ j }} {% endfor %}{{ loop.index }}{% endfor %}
{% for i in l %}{{ loop.changed(i > 1) }}{% endfor %}
{% for m in people %}{% if loop.previtem is defined %}{{ loop.previtem.name }}{% endif %}<{{ m.name }}>{% if loop.nextitem is defined and loop.nextitem.age > 30 %}!{% endif %}{% endfor %}
{% macro outer(x) %}{% macro inner(y) %}{{ x }}{{ y }}{% endmacro %}{{ inner(2) }}{% endmacro %}{{ outer(1) }}
{% macro a(x) %}{% set x = x + 1 %}{{ x }}{% for i in [1] %}{% set x = 9 %}{% endfor %}{{ x }}{% endmacro %}{{ a(1) }}
{% if t %}{% for i in [1] %}{% if i %}{{ i }}{% endif %}{% endfor %}{% endif %}
{{ "a" if "a" in "abc" else "b" }} {{ [1,2,3] | select("in", [1, 2]) | list }} {{ 5 is in [5] }}
{% if %}
{% for x %}{% endfor %}
{{ 1 + }}
{{ (1 }}
{% endif %}
{% if t %}
{% foo %}
{{ 'abc }}
{# open
{{ a b }}
{% set 1 = 2 %}
{% break %}
{{ l | map() | list }}
{{ d.b is divisibleby 0 }}
{{ [] < 1 }}
{{ {'a': 1} < {'b': 2} }}
{{ {[]: 1} }}
{{ l['a'] }}|{{ d[0] }}|{{ s['upper']() }}|{{ n.x }}|
{{ 'x' * 3 ~ 'y' }} {{ 1 ~ 2 + 3 ~ 4 }} {{ 2 * 3 ~ 1 }} {{ 'a' < 'b' ~ 'c' }}
{{ n if n > 5 else 0 | string }} {{ (n, x) | tojson }} {{ n | string + '1' }}
{{ '日本'[0] }} {{ '日本語' | length }} {{ '日本語'[::-1] }} {{ '日本語'.replace('本', '-') }} {{ '日本語' | list }} {{ 'a日b'.split('日') }}
{{ none == none }} {{ none != 1 }} {{ none in [none] }} {{ missing == missing2 }} {{ missing == '' }} {{ missing != none }}
""".strip("\n").split("\n")


def record(template):
    try:
        return {"text": environment().from_string(template).render(**CONTEXT)}
    except Exception as e:  # whatever Python raises is an error of the template
        return {"error": f"{type(e).__name__}: {e}"}


cases = [{"template": t, **record(t)} for t in (c.replace("⏎", "\n") for c in CASES)]
json.dump({"context": CONTEXT, "cases": cases}, sys.stdout, ensure_ascii=False, indent=1)
print()
