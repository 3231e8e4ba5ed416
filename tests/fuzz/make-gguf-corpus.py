#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Writes the seeds of the GGUF fuzz target: small files that each use a part of the format.
# usage: tests/fuzz/make-gguf-corpus.py        (in the repository's root)
import pathlib
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
FORM = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?",
        U64: "Q", I64: "q", F64: "d"}


def text(s):
    b = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(b)) + b


def value(kind, v):
    return text(v) if kind == STR else struct.pack("<" + FORM[kind], v)


def kv(key, kind, v):
    return text(key) + struct.pack("<I", kind) + value(kind, v)


def array(key, kind, vs, n=None):
    head = struct.pack("<IIQ", ARR, kind, len(vs) if n is None else n)
    return text(key) + head + b"".join(value(kind, v) for v in vs)


def info(name, ne, kind, off):
    return text(name) + struct.pack(f"<I{len(ne)}QIQ", len(ne), *ne, kind, off)


def file(kvs, infos=(), data=b"", version=3, align=32, magic=b"GGUF"):
    head = magic + struct.pack("<IQQ", version, len(infos), len(kvs)) + b"".join(kvs)
    head += b"".join(infos)
    return head + bytes(-len(head) % align) + data


arch = kv("general.architecture", STR, "llama")
every = [kv("k%d" % t, t, 1) for t in FORM] + [array("a%d" % t, t, [0, 1, 1]) for t in FORM]
words = array("tokenizer.ggml.tokens", STR, ["<unk>", "", "\u2581a", b"\xff\x00"])
pair = [info("a", (32, 2), 2, 0), info("b.weight", (3,), 0, 64)]

seeds = {
    "empty-file": file([]),
    "every-type": file(every + [words]),
    "tensors": file([arch], pair, bytes(96)),
    "version-2": file([arch], pair, bytes(96), version=2),
    "four-dims": file([], [info("t", (256, 1, 2, 1), 12, 0)], bytes(288)),
    "alignment-8": file([kv("general.alignment", U32, 8)], [info("t", (5,), 1, 8)], bytes(18), align=8),
    "alignment-u64": file([kv("general.alignment", U64, 64)], [info("t", (1,), 0, 0)], bytes(4), align=64),
    "split": file([kv("split.no", U16, 1), kv("split.count", U16, 3), kv("split.tensors.count", I32, 5)],
                  [info("t", (1,), 0, 0)], bytes(4)),
    "duplicate-key": file([arch, arch]),
    "overlap": file([], [info("a", (16,), 0, 0), info("b", (16,), 0, 32)], bytes(96)),
    "long-array": file([array("a", F64, [], n=1 << 60)]),
    "nested-array": file([text("a") + struct.pack("<IIQ", ARR, ARR, 0)]),
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "before-gguf": b"tjgg" + bytes(28),
    "safetensors": struct.pack("<Q", 2) + b"{}",
    "web-page": b"<!DOCTYPE html>",
}
out = pathlib.Path("tests/fuzz/corpus/gguf")
out.mkdir(parents=True, exist_ok=True)
for name, b in seeds.items():
    (out / name).write_bytes(b)
