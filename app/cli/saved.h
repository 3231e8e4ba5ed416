/* SPDX-License-Identifier: MIT
 *
 * A conversation on disk: PATH is JSON with the turns or, without a chat form, the text; PATH.kv
 * the session's tokens and KV cache. The second only spares evaluating the first again: it belongs
 * to one model, while the conversation can be continued with any. */
#ifndef EW_CLI_SAVED_H
#define EW_CLI_SAVED_H

#include "cli/talk.h"

/* Both files, each whole or not at all. Fails when another process holds the lock of path. */
ew_status saved_write(const talk *t, const char *path, ew_error *err);
/* Takes over turns, system message and session; on failure the conversation is as before. A KV
 * cache that can't be used is said and not needed. */
ew_status saved_read(talk *t, const char *path, ew_error *err);

#endif
