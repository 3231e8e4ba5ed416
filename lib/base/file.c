/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* read() until n bytes are there; the system returns at most 2 GiB a call and may return less. */
static ew_status read_all(int fd, uint8_t *to, uint64_t n, const char *path, ew_error *err) {
    uint64_t done = 0;

    while (done < n) {
        const uint64_t left = n - done;
        const ssize_t got = read(fd, to + done, left > (1u << 30) ? 1u << 30 : (size_t)left);

        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return fail_errno(err, "%s: read at byte %llu", path, (unsigned long long)done);
        if (got == 0)
            return fail(err, EW_EIO, "%s: ends at byte %llu while being read, expected %llu", path,
                        (unsigned long long)done, (unsigned long long)n);
        done += (uint64_t)got;
    }
    return EW_OK;
}

static ew_status open_regular(int *fd, uint64_t *size, const char *path, ew_error *err) {
    struct stat st;

    /* Without O_NONBLOCK a pipe that nobody writes to would block here for ever. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) return fail_errno(err, "%s", path);
    if (fstat(*fd, &st) != 0) return fail_errno(err, "%s", path);
    if (S_ISDIR(st.st_mode)) return fail(err, EW_EFORMAT, "%s: is a directory", path);
    if (!S_ISREG(st.st_mode)) return fail(err, EW_EFORMAT, "%s: is not a regular file", path);
    *size = (uint64_t)st.st_size;
    if (*size > SIZE_MAX / 2) return fail(err, EW_EFORMAT, "%s: too large to map", path);
    return EW_OK;
}

ew_status file_map_open(file_map *out, const char *path, bool is_copy, ew_error *err) {
    uint64_t size = 0;
    void *p = MAP_FAILED;
    int fd = -1;
    ew_status rc;

    *out = (file_map){0};
    rc = open_regular(&fd, &size, path, err);
    if (rc || size == 0) goto out;
    if (is_copy) {
        p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        if (p != MAP_FAILED) rc = read_all(fd, p, size, path, err);
    } else {
        p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    }
    if (p == MAP_FAILED) rc = fail_errno(err, "%s: map %llu bytes", path, (unsigned long long)size);
    if (rc) goto out;
    *out = (file_map){.data = p, .size = size, .is_copy = is_copy};
    p = MAP_FAILED;
out:
    if (p != MAP_FAILED) munmap(p, (size_t)size);
    if (fd >= 0) close(fd);
    return rc;
}

void file_map_close(file_map *m) {
    union {
        const uint8_t *c;
        void *v;
    } p = {m->data}; /* munmap takes no const */

    if (m->data) munmap(p.v, (size_t)m->size);
    *m = (file_map){0};
}

void file_map_prefault(const file_map *m, uint64_t off_bytes, uint64_t n) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t begin, end;

    if (m->is_copy || off_bytes >= m->size) return;
    if (n > m->size - off_bytes) n = m->size - off_bytes;
    begin = off_bytes / page * page;
    end = off_bytes + n;
#ifdef MADV_POPULATE_READ
    {
        union {
            const uint8_t *c;
            void *v;
        } p = {m->data + begin};

        if (madvise(p.v, (size_t)(end - begin), MADV_POPULATE_READ) == 0) return;
    }
#endif
    /* Older systems: touch a byte a page. The sum is kept so that the reads are. */
    {
        volatile uint8_t sink = 0;

        for (uint64_t at = begin; at < end; at += page) sink = (uint8_t)(sink + m->data[at]);
        (void)sink;
    }
}

void file_map_drop(const file_map *m, uint64_t off_bytes, uint64_t n) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t begin = (off_bytes + page - 1) / page * page;
    const uint64_t end = (off_bytes + n) / page * page;
    union {
        const uint8_t *c;
        void *v;
    } p = {m->data + begin};

    if (end > begin) madvise(p.v, (size_t)(end - begin), MADV_DONTNEED);
}

ew_status file_map_lock(const file_map *m, ew_error *err) {
    if (!m->data || mlock(m->data, (size_t)m->size) == 0) return EW_OK;
    return fail_errno(err, "mlock of %llu bytes (see `ulimit -l`)", (unsigned long long)m->size);
}

/* ---- writing -------------------------------------------------------------------------------- */

static bool is_same_file(const char *path, int fd) {
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Creates path if need be, and locks it. Whoever held the lock may have removed the file before we
 * got it: then it is made anew, but not for ever, as some file systems never tell one inode twice.
 * -1 with errno, which is EWOULDBLOCK when somebody else has it and we don't wait. */
static int open_locked(const char *path, bool waits) {
    for (int n_left = 100;; n_left--) {
        const int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
        int rc;

        if (fd < 0) return -1;
        do rc = flock(fd, waits ? LOCK_EX : LOCK_EX | LOCK_NB);
        while (rc != 0 && errno == EINTR);
        if (rc != 0 && errno == EWOULDBLOCK) {
            close(fd);
            errno = EWOULDBLOCK;
            return -1;
        }
        if (is_same_file(path, fd) || n_left == 0) return fd;
        close(fd);
    }
}

/* Is name "BASE.NUMBER.tmp"? */
static bool is_temporary(const char *name, const char *base) {
    const size_t n = strlen(base);
    size_t digits;

    if (strncmp(name, base, n) != 0 || name[n] != '.') return false;
    digits = strspn(name + n + 1, "0123456789");
    return digits > 0 && strcmp(name + n + 1 + digits, ".tmp") == 0;
}

static void remove_unlocked(int folder, const char *name) {
    const int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, name, 0);
    close(fd);
}

/* path is cut at its last slash for a moment, so that nothing has to be allocated. */
static void remove_orphans(char *path) {
    char *slash = strrchr(path, '/');
    DIR *d;

    if (slash && slash != path) *slash = 0;
    d = opendir(!slash ? "." : slash == path ? "/" : path);
    if (slash) *slash = '/';
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));)
        if (is_temporary(e->d_name, slash ? slash + 1 : path)) remove_unlocked(dirfd(d), e->d_name);
    closedir(d);
}

ew_status file_out_open(file_out *f, const char *path, ew_error *err) {
    struct stat st;
    strbuf tmp;

    *f = (file_out){.fd = -1};
    /* Renaming would say so too, but only after all has been written. */
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return fail(err, EW_EIO, "%s: is a directory", path);
    strbuf_init(&tmp, 1 << 16);
    strbuf_printf(&tmp, "%s.%ld.tmp", path, (long)getpid());
    f->tmp = strbuf_take(&tmp, NULL);
    f->path = mem_copy_str(path, strlen(path));
    if (!f->tmp || !f->path) {
        file_out_abort(f);
        return fail(err, EW_ENOMEM, "%s: out of memory", path);
    }
    remove_orphans(f->path);
    f->fd = open_locked(f->tmp, true);
    if (f->fd < 0 || ftruncate(f->fd, 0) != 0) {
        const ew_status rc = fail_errno(err, "%s: create", path);

        file_out_abort(f);
        return rc;
    }
    return EW_OK;
}

ew_status file_out_write(file_out *f, const void *bytes, size_t n, ew_error *err) {
    const uint8_t *p = bytes;

    while (n) {
        const ssize_t put = write(f->fd, p, n > (1u << 30) ? 1u << 30 : n);

        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return fail_errno(err, "%s: write", f->path);
        p += put;
        n -= (size_t)put;
    }
    return EW_OK;
}

ew_status file_out_commit(file_out *f, ew_error *err) {
    ew_status rc = EW_OK;

    if (fsync(f->fd) != 0) rc = fail_errno(err, "%s: sync", f->path);
    /* Closed only afterwards: an unlocked temporary file may be removed. All has been written. */
    if (!rc && rename(f->tmp, f->path) != 0) rc = fail_errno(err, "%s: rename", f->path);
    if (!rc) {
        mem_free(f->tmp);
        f->tmp = NULL;
    }
    file_out_abort(f);
    return rc;
}

void file_out_abort(file_out *f) {
    if (f->fd >= 0) close(f->fd);
    if (f->tmp) unlink(f->tmp);
    mem_free(f->tmp);
    mem_free(f->path);
    *f = (file_out){.fd = -1};
}

/* ---- locks ---------------------------------------------------------------------------------- */

static char *lock_path(const char *path) {
    strbuf b;

    strbuf_init(&b, 1 << 16);
    strbuf_printf(&b, "%s.lock", path);
    return strbuf_take(&b, NULL);
}

ew_status file_lock_take(file_lock *l, const char *path, ew_error *err) {
    ew_status rc = EW_OK;

    *l = (file_lock){.fd = -1, .path = lock_path(path)};
    if (!l->path) return fail(err, EW_ENOMEM, "%s: out of memory", path);
    l->fd = open_locked(l->path, false);
    if (l->fd < 0 && errno == EWOULDBLOCK)
        rc = fail(err, EW_EIO, "%s: in use by another process (which holds %s)", path, l->path);
    else if (l->fd < 0)
        rc = fail_errno(err, "%s: create", path);
    if (rc) file_lock_release(l);
    return rc;
}

bool file_lock_is_of(const file_lock *l, const char *path) {
    char *name = l->fd >= 0 ? lock_path(path) : NULL;
    const bool is = name && is_same_file(name, l->fd);

    mem_free(name);
    return is;
}

void file_lock_release(file_lock *l) {
    if (l->fd >= 0) {
        unlink(l->path); /* while it is ours: see open_locked */
        close(l->fd);
    }
    mem_free(l->path);
    *l = (file_lock){.fd = -1};
}

ew_status file_read(char **out, size_t *n, const char *path, size_t max_bytes, ew_error *err) {
    uint64_t size = 0;
    char *p = NULL;
    int fd = -1;
    ew_status rc;

    *out = NULL;
    rc = open_regular(&fd, &size, path, err);
    if (rc) goto out;
    if (size > max_bytes) {
        rc = fail(err, EW_EFORMAT, "%s: %llu bytes, at most %zu are read", path,
                  (unsigned long long)size, max_bytes);
        goto out;
    }
    p = mem_array((size_t)size + 1, 1);
    if (!p) {
        rc = fail(err, EW_ENOMEM, "%s: out of memory", path);
        goto out;
    }
    rc = read_all(fd, (uint8_t *)p, size, path, err);
    if (rc) goto out;
    *out = p;
    if (n) *n = (size_t)size;
    p = NULL;
out:
    mem_free(p);
    if (fd >= 0) close(fd);
    return rc;
}
