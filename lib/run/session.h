/* SPDX-License-Identifier: MIT */
#ifndef EW_RUN_SESSION_H
#define EW_RUN_SESSION_H

#include "model/walk.h"

struct ew_session {
    ew_model *m;
    ew_session_options opt; /* zeros replaced by what they stand for */
    kv_layout layout;
    kv_cache kv;
    walk_space space;
    int32_t *tokens; /* [ctx_tokens] */
    uint32_t n;      /* of them evaluated */
    bool has_logits; /* space.logits holds those after the last token */
    atomic_bool cancel;
};

#endif
