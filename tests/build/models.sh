# SPDX-License-Identifier: MIT
# docs/models.md is what tools/models makes of the descriptors, and each has models to be checked with.
set -e
tools/models | diff - docs/models.md
if grep '| 0 |$' docs/models.md; then exit 1; fi
# As many rows as the engine has architectures.
test "$(grep -c '^| [a-z]' docs/models.md)" = \
    "$(sed -n '/^static const arch \*const archs/,/^};/p' lib/model/arch.c | grep -o '&arch_' | wc -l | xargs expr 1 +)"
