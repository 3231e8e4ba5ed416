#!/bin/sh
# SPDX-License-Identifier: MIT
# Records tests/golden/schema.json: what models that insist on blanks, quotes, braces or digits
# write under the schemas of schema-cases.json, once the npm package ajv (8.20 was used, with
# ajv-formats 3.0) has accepted every text.
# usage: tests/golden/schema-record.sh NODE_MODULES     (after make tests)
set -eu
here=$(dirname "$0")
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
"${B:-build/release}/tests/text/schema" print >"$tmp"
node "$here/schema-check.mjs" "$1" "$here/schema-cases.json" <"$tmp"
cp "$tmp" "$here/schema.json"
