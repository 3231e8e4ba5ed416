/* SPDX-License-Identifier: MIT
 *
 * The test data that is not part of the repository: large files, real models, expected values. It
 * is looked for in the folder that EW_SHARED names, then beside the repository. A test that needs
 * it skips when it is not there. */
#ifndef EW_TESTS_SHARED_H
#define EW_TESTS_SHARED_H

/* The path of rel ("data/models/x.gguf") in static storage, overwritten by later calls (four are
 * kept); NULL when there is no such file or folder. */
const char *shared_path(const char *rel);

#endif
