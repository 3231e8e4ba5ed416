// SPDX-License-Identifier: MIT
// make bench-peer: edgewise and llama.cpp on this machine, in turns, as one Markdown table.
import {appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {parseArgs} from 'node:util';
import {engines} from './engines.mjs';
import {Machine, median, stopRunning} from './machine.mjs';
import {dropPartial, models} from './models.mjs';
import {report} from './report.mjs';

const HELP = `usage: node bench/peer/main.mjs [OPTION...]
Runs edgewise, llama.cpp and edgewise --no-pack in turns and writes a table to WORK/peer.md.
  --peer PROGRAM   a llama-bench built for this machine (the library in npm's node-llama-cpp)
  --models LIST    NAME[:TYPE] of mkmodel, or files *.gguf (those that fit into disk and memory)
  --prompt N       tokens of a prompt (512); 0: not measured
  --gen N          tokens to generate (32); 0: not measured
  --depth N        also generate at this depth; slow (0)
  --threads N      (2)
  --rounds N       (5)
  --reps N         measured repetitions within a run, after one to warm up (2; at a depth 1)
  --tries N        times that a disturbed run is made before its round goes without (4)
  --add            keep the rounds of earlier calls in the table
  --work DIR       scratch folder: models, the npm packages, the table (build/bench)
  --build DIR      where edgewise, mkmodel and bandwidth are (build/release)
Runs beside other load, or while the memory was slow, are dropped and repeated.`;

function options() {
    const string = value => ({type: 'string', default: value});
    const {values: v} = parseArgs({options: {
        peer: string(''), models: string(''), prompt: string('512'), gen: string('32'), depth: string('0'),
        threads: string('2'), rounds: string('5'), reps: string('2'), tries: string('4'),
        work: string('build/bench'), build: string('build/release'), add: {type: 'boolean'}, help: {type: 'boolean', short: 'h'}}});
    if (v.help) {
        console.log(HELP);
        process.exit(0);
    }
    for (const key of ['prompt', 'gen', 'depth', 'threads', 'rounds', 'reps', 'tries']) {
        if (!/^\d{1,7}$/.test(v[key])) throw new Error(`--${key}: '${v[key]}': expected a number`);
        v[key] = Number(v[key]);
    }
    return {...v, models: v.models.split(/\s+/).filter(Boolean), mkmodel: `${v.build}/mkmodel`};
}

function tests(o) {
    const list = [];
    if (o.gen) list.push({name: `decode ${o.gen}`, prompt: 0, gen: o.gen, depth: 0});
    if (o.prompt) list.push({name: `prefill ${o.prompt}`, prompt: o.prompt, gen: 0, depth: 0});
    if (o.gen && o.depth)
        list.push({name: `decode ${o.gen} at ${o.depth}`, prompt: 0, gen: o.gen, depth: o.depth, reps: 1});
    if (!list.length) throw new Error('nothing to measure: --prompt and --gen are 0');
    return list;
}

// An undisturbed run, or null after some tries.
async function measured(machine, engine, model, test, o, record) {
    for (let i = 0; i < o.tries; i++) {
        const {out, peak, bandwidth, complaints} = await machine.run(...engine.command(model.file, test, o));
        const {samples, bytes} = engine.read(out), rate = median(samples);
        console.error(`  ${engine.name}: ${rate.toFixed(2)} tokens/s, ${bandwidth.toFixed(1)} GB/s`
            + (complaints.length ? `: dropped, ${complaints.join(', ')}` : ''));
        if (!complaints.length) return {rate, bytes, peak, bandwidth};
        record.dropped++;
    }
    return null;
}

async function round(machine, list, model, test, o) {
    const record = {model: model.name, test: test.name, rates: {}, dropped: 0};
    for (const engine of list) {
        const r = await measured(machine, engine, model, test, o, record);
        if (r) record.rates[engine.name] = r;
    }
    return record;
}

const lines = path => existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).map(JSON.parse) : [];

async function main(o) {
    const machine = new Machine(`${o.build}/bandwidth`, o.threads), log = `${o.work}/rounds.jsonl`;
    mkdirSync(o.work, {recursive: true});
    if (!o.add) rmSync(log, {force: true});
    machine.earlier = lines(log).flatMap(r => r.probes[o.threads] ?? []);
    const list = await engines(o), files = await models(o), todo = tests(o);
    for (let i = 1; i <= o.rounds; i++) {
        for (const model of files) {
            for (const test of todo) {
                console.error(`round ${i} of ${o.rounds}: ${model.name}, ${test.name}`);
                const at = machine.probes.length, one = await machine.bandwidth(1);
                const record = await round(machine, list, model, test, o);
                record.probes = {1: [one], [o.threads]: machine.probes.slice(at)};
                appendFileSync(log, `${JSON.stringify(record)}\n`);
            }
        }
    }
    const records = lines(log), probes = {};
    for (const r of records)
        for (const [n, p] of Object.entries(r.probes)) probes[n] = [...probes[n] ?? [], ...p];
    writeFileSync(`${o.work}/peer.md`, report(o, list, records, probes));
    console.log(readFileSync(`${o.work}/peer.md`, 'utf8'));
}

let o = {};
for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => {
        stopRunning();
        dropPartial(o);
        console.error('stopped; the rounds so far are kept for --add');
        process.exit(130);
    });
try {
    o = options();
    await main(o);
} catch (e) {
    dropPartial(o);
    console.error(`bench-peer: ${e.message}`);
    process.exit(1);
}
