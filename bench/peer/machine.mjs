// SPDX-License-Identifier: MIT
// Runs one program, with a probe of the memory before and after it and an eye on who else uses the
// machine meanwhile. Linux tells that in /proc; elsewhere nothing is called disturbed but by probes.
import {spawn} from 'node:child_process';
import {readFileSync} from 'node:fs';

const HZ = 100; // of the counters in /proc, on every common Linux
const MOST_FOREIGN = 0.15; // of a core: below it the figures hardly move
const MOST_STOLEN = 0.05; // of a core, by the hypervisor
const LEAST_BANDWIDTH = 0.7; // of the median probe so far

export const median = list => {
    const s = [...list].sort((a, b) => a - b), h = s.length >> 1;
    return s.length % 2 ? s[h] : (s[h - 1] + s[h]) / 2;
};

let running = null; // the child to end with us

function read(path) {
    try {
        return readFileSync(path, 'utf8');
    } catch {
        return null;
    }
}

// Seconds of processor time that all processes, and this one with its ended children, have used.
function counters() {
    const all = read('/proc/stat')?.split('\n')[0].trim().split(/\s+/).slice(1).map(Number);
    const own = read('/proc/self/stat')?.replace(/^.*\) /, '').split(' ').slice(11, 15).map(Number);
    if (!all || !own) return null;
    const [user, nice, system, , , irq, softirq, steal] = all;
    return {
        at: performance.now() / 1000,
        busy: (user + nice + system + irq + softirq) / HZ,
        own: own.reduce((a, b) => a + b) / HZ,
        stolen: steal / HZ,
    };
}

function complaints(before, after) {
    if (!before || !after) return [];
    const took = after.at - before.at, foreign = (after.busy - before.busy - after.own + before.own) / took;
    const stolen = (after.stolen - before.stolen) / took;
    const out = [];
    if (foreign > MOST_FOREIGN) out.push(`others used ${foreign.toFixed(2)} of a core`);
    if (stolen > MOST_STOLEN) out.push(`${stolen.toFixed(2)} of a core was stolen`);
    return out;
}

// Standard output of a command, and the most memory it held (bytes, sampled; 0 if not told).
export function execute(command, args, env = {}) {
    return new Promise((resolve, reject) => {
        const child = spawn(command, args, {env: {...process.env, ...env}, stdio: ['ignore', 'pipe', 'pipe']});
        let out = '', err = '', peak = 0;
        const sample = setInterval(() => {
            const kb = read(`/proc/${child.pid}/status`)?.match(/VmHWM:\s+(\d+)/)?.[1];
            if (kb) peak = Math.max(peak, kb * 1024);
        }, 200);
        running = child;
        child.stdout.on('data', d => out += d);
        child.stderr.on('data', d => err = (err + d).slice(-2000));
        child.on('error', e => { clearInterval(sample); reject(e); });
        child.on('close', code => {
            clearInterval(sample);
            running = null;
            if (code === 0) resolve({out, peak});
            else reject(new Error(`${command} ${args.join(' ')}: exit status ${code}\n${err}`));
        });
    });
}

export function stopRunning() {
    running?.kill('SIGTERM');
}

export class Machine {
    constructor(probe, threads) {
        Object.assign(this, {probe, threads, probes: [], earlier: []});
    }

    async bandwidth(threads = this.threads) {
        return Number((await execute(this.probe, [String(threads)])).out);
    }

    // One run: {out, peak, bandwidth, complaints}; complaints is empty when it was undisturbed.
    async run(command, args, env) {
        const first = await this.bandwidth();
        const before = counters();
        const {out, peak} = await execute(command, args, env);
        const why = complaints(before, counters());
        const second = await this.bandwidth();
        this.probes.push(first, second);
        if (Math.min(first, second) < LEAST_BANDWIDTH * median([...this.earlier, ...this.probes]))
            why.push(`bandwidth fell to ${Math.min(first, second).toFixed(1)} GB/s`);
        return {out, peak, bandwidth: (first + second) / 2, complaints: why};
    }
}
