/* SPDX-License-Identifier: MIT
 *
 * Files: read-only mappings, and writing through a temporary name so that a reader never sees half
 * a file and a failure leaves what was there before. */
#ifndef EW_BASE_FILE_H
#define EW_BASE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const uint8_t *data; /* NULL for an empty file */
    uint64_t size;       /* bytes */
    bool is_copy;        /* read into memory rather than mapped */
} file_map;

/* Maps path for reading. is_copy: reads the whole file into anonymous memory instead (--no-mmap).
 * EW_EIO with the path and the system's reason, EW_EFORMAT for a directory or a device. */
ew_status file_map_open(file_map *out, const char *path, bool is_copy, ew_error *err);
void file_map_close(file_map *m); /* an empty {0} is fine; leaves it empty */

/* Brings [off, off + n) into memory (page faults are paid here and not by the first token). */
void file_map_prefault(const file_map *m, uint64_t off_bytes, uint64_t n);
/* The caller needs [off, off + n) no more: its whole pages may leave memory. Of a mapped file they
 * come back when read again; of a copy they are gone. */
void file_map_drop(const file_map *m, uint64_t off_bytes, uint64_t n);
/* Locks the mapping into memory; EW_EIO names the limit when the system refuses. */
ew_status file_map_lock(const file_map *m, ew_error *err);

/* Writing: bytes go to "PATH.PID.tmp"; commit syncs and renames, abort removes. Opening removes
 * what killed writers of the same file have left: a living one has its file locked. */
typedef struct {
    int fd;
    char *path, *tmp;
} file_out;

ew_status file_out_open(file_out *f, const char *path, ew_error *err);
ew_status file_out_write(file_out *f, const void *bytes, size_t n, ew_error *err);
ew_status file_out_commit(file_out *f, ew_error *err); /* closes f in every case */
void file_out_abort(file_out *f); /* fine after commit; an empty {.fd = -1} too */

/* The right to change PATH, held as a lock of "PATH.lock" (PATH itself is replaced by writing): by
 * one process at a time, and no longer than it lives. An aid among those who ask for it. Where the
 * file system has no locks, everybody gets it. */
typedef struct {
    int fd;
    char *path; /* of the lock */
} file_lock;

/* EW_EIO when somebody else holds it or when it can't be made there. */
ew_status file_lock_take(file_lock *l, const char *path, ew_error *err);
bool file_lock_is_of(const file_lock *l, const char *path); /* is it held, and for this file? */
void file_lock_release(file_lock *l); /* an empty {.fd = -1} is fine; leaves it empty */

/* A whole small file as bytes and a NUL (mem_free). EW_EFORMAT when larger than max_bytes. */
ew_status file_read(char **out, size_t *n, const char *path, size_t max_bytes, ew_error *err);

#endif
