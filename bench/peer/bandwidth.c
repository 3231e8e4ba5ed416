/* SPDX-License-Identifier: MIT
 *
 * What the memory gives to N threads reading in order, in GB/s: bandwidth [N] */
#include "edgewise.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PROBE_BYTES = 256 << 20, /* larger than most caches, small enough for 0.1 s */
    PROBE_ROUNDS = 3
};

int main(int argc, char **argv) {
    ew_engine *engine = NULL;
    ew_engine_options options;
    double rate = 0;
    ew_error err;
    ew_status rc;

    ew_engine_defaults(&options);
    if (argc > 1) options.n_threads = (int32_t)strtol(argv[1], NULL, 10);
    rc = ew_engine_new(&engine, &options, &err);
    if (!rc) rc = ew_engine_read_bandwidth(engine, PROBE_BYTES, PROBE_ROUNDS, &rate, &err);
    if (rc)
        fprintf(stderr, "bandwidth: %s\n", err.text);
    else
        printf("%.2f\n", rate / 1e9);
    ew_engine_free(engine);
    return rc ? 1 : 0;
}
