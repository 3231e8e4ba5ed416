# SPDX-License-Identifier: MIT
# The static library defines no global symbol but ew_*.
set -e
case $V in asan | tsan | fuzz) echo "sanitizers add symbols of their own" && exit 77 ;; esac
nm -g "$B/libedgewise.a" | awk 'NF == 3 {sub(/^_/, "", $3); print $3}' | sort -u >"$TMP/defined"
grep -v '^ew_' "$TMP/defined" >"$TMP/foreign" || true
[ ! -s "$TMP/foreign" ] || { echo 'not public, but global:' && cat "$TMP/foreign" && exit 1; }
