# SPDX-License-Identifier: MIT
# What can't be run: one sentence on standard error, nothing on standard output, exit status 1.
cd "$TMP" || exit 1
case $EDGEWISE in /*) ;; *) EDGEWISE=$OLDPWD/$EDGEWISE ;; esac
try() {
    "$EDGEWISE" run "$@" 2>err </dev/null
    echo "= $?"
    cat err
}
: >empty.gguf
echo 'this is no model' >text.gguf
try ./missing.gguf hello
try missing hello
try empty.gguf hello
try text.gguf hello
try . hello
try
try --or-help | head -n 1
