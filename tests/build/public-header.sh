# SPDX-License-Identifier: MIT
# edgewise.h compiles alone, without a warning, as C99 and as C++.
set -e
printf '#include "edgewise.h"\nint main(void) { return 0; }\n' >"$TMP/alone.c"
cp "$TMP/alone.c" "$TMP/alone.cc"
warn='-Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only'
$CC -std=c99 $warn "$TMP/alone.c"
$CC -std=c17 $warn "$TMP/alone.c"
for std in c++11 c++17; do $CXX -std=$std $warn "$TMP/alone.cc"; done
