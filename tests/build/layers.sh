# SPDX-License-Identifier: MIT
# Includes follow docs/layers, and the check finds those that don't.
set -e
tools/check-layers

mkdir -p "$TMP/lib/base" "$TMP/lib/kernels" "$TMP/app/serve" "$TMP/docs"
cp docs/layers "$TMP/docs"
cat >"$TMP/lib/base/a.c" <<'END'
#include "base/a.h"
#include "edgewise.h"
void *f(void) { return malloc(1); }
END
tools/check-layers "$TMP"
cat >"$TMP/lib/kernels/b.c" <<'END'
#include "kernels/kern.h"
#include "model/model.h"
#include "kern.h"
/* free() in a comment, */ static const char *s = "malloc(";
static void f(void *p) { mem_free(p); x.free(p); free(p); printf(s); }
END
echo '#include "tensor/type.h"' >"$TMP/app/serve/c.c"
if tools/check-layers "$TMP" >"$TMP/said"; then exit 1; fi
cat "$TMP/said"
