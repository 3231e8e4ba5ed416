/* SPDX-License-Identifier: MIT
 *
 * Files that people hand over as GGUF and that are something else. Telling what they are saves the
 * search for what went wrong: most are failed downloads or another format renamed. */
#include "base/cursor.h"
#include "base/utf8.h"
#include "format/gguf_impl.h"

#include <stdio.h>

typedef struct {
    const char *bytes; /* that the file begins with */
    size_t n;
    const char *is;
} signature;

#define SIG(bytes, is) \
 { bytes, sizeof(bytes) - 1, is }

/* Magics of the formats before GGUF are u32 numbers, so their letters are reversed in the file. */
static const signature known[] = {
    SIG("lmgg", "is a GGML file of before GGUF (August 2023); convert the model again"),
    SIG("fmgg", "is a GGMF file of before GGUF (August 2023); convert the model again"),
    SIG("tjgg", "is a GGJT file of before GGUF (August 2023); convert the model again"),
    SIG("algg", "is a GGLA adapter of before GGUF; convert it again"),
    SIG("version https://git-lfs",
        "is a Git LFS pointer, not the model; fetch it with `git lfs pull`"),
    SIG("\x1f\x8b", "is gzip-compressed; unpack it first"),
    SIG("\x28\xb5\x2f\xfd", "is zstd-compressed; unpack it first"),
    SIG("\xfd"
        "7zXZ",
        "is xz-compressed; unpack it first"),
    SIG("BZh", "is bzip2-compressed; unpack it first"),
    SIG("7z\xbc\xaf", "is a 7z archive; unpack it first"),
    SIG("PK\x03\x04", "is a zip archive or a PyTorch checkpoint, not GGUF"),
    SIG("\x80\x02", "is a Python pickle (an old PyTorch checkpoint), not GGUF"),
    SIG("\x89HDF", "is an HDF5 file, not GGUF"),
    SIG("FUGG", "has its magic reversed (\"FUGG\"): a byte-swapped GGUF file"),
};

static bool begins(const uint8_t *bytes, uint64_t n, const char *with, size_t n_with) {
    return n >= n_with && memcmp(bytes, with, n_with) == 0;
}

/* A length, then JSON: the length limit is the format's own. */
static bool is_safetensors(const uint8_t *bytes, uint64_t n) {
    const uint64_t max_header = 100u * 1000 * 1000;

    return n > 8 && bytes[8] == '{' && load_u64(bytes) <= max_header;
}

static bool is_markup(const uint8_t *bytes, uint64_t n) {
    uint64_t i = 0;

    while (i < n && i < 64 &&
           (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
        i++;
    return begins(bytes + i, n - i, "<!", 2) || begins(bytes + i, n - i, "<html", 5) ||
           begins(bytes + i, n - i, "<HTML", 5) || begins(bytes + i, n - i, "<?xml", 5);
}

ew_status gguf_refuse_magic(const uint8_t *bytes, uint64_t n, const char *name, ew_error *err) {
    if (n == 0) return fail(err, EW_EFORMAT, "%s: is empty", name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (begins(bytes, n, known[i].bytes, known[i].n))
            return fail(err, EW_EFORMAT, "%s: %s", name, known[i].is);
    if (is_safetensors(bytes, n))
        return fail(err, EW_EFORMAT, "%s: is a safetensors file, not GGUF", name);
    if (is_markup(bytes, n))
        return fail(err, EW_EFORMAT, "%s: is a web page, not a model; the download went wrong",
                    name);
    if (n < 4) return fail(err, EW_EFORMAT, "%s: has only %d bytes", name, (int)n);
    if (load_u32(bytes) == 0)
        return fail(err, EW_EFORMAT, "%s: begins with zero bytes: an unfinished download?", name);
    return fail(err, EW_EFORMAT, "%s: is not a GGUF file (begins with bytes %02x %02x %02x %02x)",
                name, bytes[0], bytes[1], bytes[2], bytes[3]);
}

const char *gguf_shown(char buf[SHOWN_MAX], str s) {
    const size_t room = SHOWN_MAX - sizeof "...";
    size_t used = 0;

    for (size_t i = 0; i < s.n;) {
        uint32_t cp = 0;
        const size_t n = utf8_decode(s.p + i, s.n - i, &cp);

        if (used + (n ? n : 1) > room) {
            memcpy(buf + used, "...", 3);
            used += 3;
            break;
        }
        if (n == 0 || cp < 0x20 || (cp >= 0x7F && cp < 0xA0))
            buf[used++] = '?';
        else {
            memcpy(buf + used, s.p + i, n);
            used += n;
        }
        i += n ? n : 1;
    }
    buf[used] = 0;
    return buf;
}
