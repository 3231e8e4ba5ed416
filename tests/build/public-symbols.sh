# SPDX-License-Identifier: MIT
# The static library defines no global symbol but ew_*, ...
set -e
case $V in asan | tsan | fuzz) echo "sanitizers add symbols of their own" && exit 77 ;; esac
nm -g "$B/libedgewise.a" | awk 'NF == 3 {sub(/^_/, "", $3); print $3}' | sort -u >"$TMP/defined"
grep -v '^ew_' "$TMP/defined" >"$TMP/foreign" || true
[ ! -s "$TMP/foreign" ] || { echo 'not public, but global:' && cat "$TMP/foreign" && exit 1; }

# ... and every function of the header. Declarations span lines: join them, then take the name
# before the first bracket.
tr '\n' ' ' <include/edgewise.h | sed 's/EW_API/\n&/g' |
    sed -n 's/^EW_API [^(]*[ *]\(ew_[a-z0-9_]*\)(.*/\1/p' | sort -u >"$TMP/declared"
[ -s "$TMP/declared" ]
comm -13 "$TMP/defined" "$TMP/declared" >"$TMP/absent"
[ ! -s "$TMP/absent" ] || { echo 'declared, but nowhere defined:' && cat "$TMP/absent" && exit 1; }
