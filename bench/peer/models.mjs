// SPDX-License-Identifier: MIT
// The files to measure: given ones, or files of full size with random weights from mkmodel.
import {existsSync, mkdirSync, readFileSync, renameSync, rmSync, statfsSync} from 'node:fs';
import {freemem} from 'node:os';
import {basename} from 'node:path';
import {execute} from './machine.mjs';

const USUAL = ['qwen2.5-0.5b:Q4_K_M', 'llama-3.2-3b:Q4_K_M', 'qwen2.5-7b:Q4_K_M'];
const GB = 1e9;

function memoryAvailable() {
    try {
        return readFileSync('/proc/meminfo', 'utf8').match(/MemAvailable:\s+(\d+)/)[1] * 1024;
    } catch {
        return freemem();
    }
}

// mkmodel --list tells sizes as Q4_K_M, close enough to choose by.
async function sizeOf(mkmodel, name) {
    const {out} = await execute(mkmodel, ['--list']);
    const line = out.split('\n').find(l => l.trim().split(/\s+/)[0] === name);
    if (!line) throw new Error(`mkmodel knows no ${name}; ${mkmodel} --list names what it knows`);
    return line.match(/([\d.]+) GB/)[1] * GB;
}

// The peer holds the file and a repacked copy.
async function fitting(o) {
    const {bavail, bsize} = statfsSync(o.work);
    let disk = bavail * bsize - 2 * GB;
    const memory = memoryAvailable() - 2 * GB, out = [];
    for (const spec of USUAL) {
        const size = await sizeOf(o.mkmodel, spec.split(':')[0]);
        if (!existsSync(path(o, spec))) disk -= size;
        if (disk > 0 && 2 * size < memory) out.push(spec);
    }
    return out;
}

function path(o, spec) {
    return `${o.work}/${spec.replace(':', '-')}.gguf`;
}

// A file just written lies in small pages of the page cache and reads slower than one that came
// from the disk: it is put there, forgotten, and read back.
async function readBack(file) {
    try {
        await execute('sync', [file]);
        await execute('dd', [`if=${file}`, 'iflag=nocache', 'count=0']);
    } catch {
        console.error(`${file}: stays as it was written; it may read slower than a file from the disk`);
    }
}

async function made(o, spec) {
    const [name, type = 'Q4_K_M'] = spec.split(':'), file = path(o, `${name}:${type}`);
    if (existsSync(file)) return file;
    console.error(`making ${file}`);
    o.partial = `${file}.part`;
    await execute(o.mkmodel, ['--model', name, '--type', type, o.partial]);
    renameSync(o.partial, file);
    o.partial = null;
    await readBack(file);
    return file;
}

// [{name, file}], each file in the page cache.
export async function models(o) {
    const out = [];
    mkdirSync(o.work, {recursive: true});
    for (const spec of o.models.length ? o.models : await fitting(o)) {
        const isFile = spec.endsWith('.gguf');
        const file = isFile ? spec : await made(o, spec);
        if (!existsSync(file)) throw new Error(`${file}: no such file`);
        await execute('dd', [`if=${file}`, 'of=/dev/null', 'bs=4M']);
        out.push({name: isFile ? basename(file, '.gguf') : spec.replace(':', ' '), file});
    }
    return out;
}

export function dropPartial(o) {
    if (o.partial) rmSync(o.partial, {force: true});
}
