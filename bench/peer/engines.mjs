// SPDX-License-Identifier: MIT
// The engines compared: how each is called for a test, and where its figures are in what it writes.
// A test is {name, prompt, gen, depth}: tokens evaluated together, or one by one, at a depth.
import {existsSync, mkdirSync} from 'node:fs';
import {resolve} from 'node:path';
import {execute} from './machine.mjs';

const VERSION = '3.21.1'; // of node-llama-cpp, which carries llama.cpp v0.4.0

function edgewise(program, name, more) {
    return {
        name,
        command: (file, test, o) => [program, ['bench', file, '--no-probe', '--json',
            '-p', test.prompt, '-n', test.gen, '-d', test.depth, '-t', o.threads, '-r', test.reps ?? o.reps,
            ...more].map(String)],
        read: out => {
            const t = JSON.parse(out).tests[0];
            const key = t.n_gen ? 'decode_tokens_per_second' : 'prefill_tokens_per_second';
            return {samples: t.runs.map(r => r[key]), bytes: t.bytes_per_token};
        },
    };
}

function llamaBench(program) {
    return {
        name: 'llama.cpp',
        about: `llama-bench built for this machine`,
        command: (file, test, o) => [program, ['-m', file, '-o', 'json', '-p', test.prompt, '-n', test.gen,
            '-d', test.depth, '-t', o.threads, '-r', test.reps ?? o.reps].map(String)],
        read: out => ({samples: JSON.parse(out)[0].samples_ts}),
    };
}

function npmPeer(folder) {
    const script = new URL('llama.mjs', import.meta.url).pathname;
    return {
        name: 'llama.cpp',
        about: `prebuilt library of node-llama-cpp ${VERSION}; built for the machine it is faster`,
        command: (file, test, o) => [process.execPath, [script, folder, file, test.prompt, test.gen, test.depth,
            o.threads, test.reps ?? o.reps].map(String)],
        read: out => JSON.parse(out),
    };
}

// Only the library: no compiler is run, nothing is asked of the network but the packages.
async function installNpmPeer(folder) {
    const platform = `linux-${process.arch}`;
    if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch))
        throw new Error('there is no ready-built peer for this system: give --peer path/to/llama-bench');
    if (existsSync(`${folder}/node_modules/@node-llama-cpp/${platform}`)) return;
    mkdirSync(folder, {recursive: true});
    console.error(`installing node-llama-cpp ${VERSION} into ${folder}`);
    await execute('npm', ['install', '--prefix', folder, '--no-save', '--omit=optional', '--ignore-scripts',
        `node-llama-cpp@${VERSION}`, `@node-llama-cpp/${platform}@${VERSION}`]);
}

export async function engines(o) {
    const folder = resolve(o.work, 'npm');
    if (!o.peer) await installNpmPeer(folder);
    const ours = `${o.build}/edgewise`;
    return [edgewise(ours, 'edgewise', []), o.peer ? llamaBench(resolve(o.peer)) : npmPeer(folder),
        edgewise(ours, 'edgewise --no-pack', ['--no-pack'])];
}
