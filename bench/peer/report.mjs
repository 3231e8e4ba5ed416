// SPDX-License-Identifier: MIT
// One Markdown table of all rounds, with the machine's limits above it.
import {cpus, release, totalmem, type} from 'node:os';
import {median} from './machine.mjs';

const digits = x => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
const spread = list => {
    if (!list.length) return '-';
    const m = digits(median(list));
    return list.length > 1 ? `${m} (${digits(Math.min(...list))}-${digits(Math.max(...list))})` : m;
};

// How engine e compares with the peer in the rounds that have both: median of the rounds' ratios.
function ratio(rounds, e, peer) {
    const list = rounds.filter(r => r.rates[e] && r.rates[peer]).map(r => r.rates[e].rate / r.rates[peer].rate);
    return list.length ? `${spread(list)} x` : '-';
}

// Bytes a token times rate over the bandwidth probed beside that run.
function share(rounds, e) {
    const list = rounds.map(r => r.rates[e]).filter(r => r?.bytes)
        .map(r => 100 * r.bytes * r.rate / 1e9 / r.bandwidth);
    return list.length ? `${median(list).toFixed(0)} %` : '-';
}

function memory(rounds, e) {
    const list = rounds.map(r => r.rates[e]?.peak).filter(Boolean);
    return list.length ? `${(Math.max(...list) / 1e9).toFixed(1)} GB` : '-';
}

function row(model, test, rounds, [ours, peer, mapped]) {
    const rates = e => spread(rounds.map(r => r.rates[e]?.rate).filter(Boolean));
    const dropped = rounds.reduce((n, r) => n + r.dropped, 0);
    return [model, test, rates(ours), rates(mapped), rates(peer), ratio(rounds, ours, peer),
        ratio(rounds, mapped, peer), `${share(rounds, ours)} / ${share(rounds, mapped)}`,
        `${memory(rounds, ours)} / ${memory(rounds, mapped)} / ${memory(rounds, peer)}`,
        `${rounds.length} (${dropped})`];
}

function limits(probes) {
    const quantile = (l, q) => [...l].sort((a, b) => a - b)[Math.min(l.length - 1, Math.floor(q * l.length))];
    return Object.entries(probes).filter(([, list]) => list.length).map(([threads, list]) =>
        `${median(list).toFixed(1)} GB/s with ${threads} thread${threads === '1' ? '' : 's'} (median of ` +
        `${list.length} probes; a tenth below ${quantile(list, 0.1).toFixed(1)}, a tenth above ` +
        `${quantile(list, 0.9).toFixed(1)})`).join(', ');
}

// records: [{model, test, rates: {engine: {rate, bytes, bandwidth, peak}}, dropped}]
export function report(o, engines, records, probes) {
    const names = engines.map(e => e.name);
    const head = ['model', 'work', 'edgewise', '--no-pack', 'llama.cpp', 'edgewise to llama.cpp',
        '--no-pack to llama.cpp', 'share of read bandwidth, edgewise / --no-pack',
        'peak memory, edgewise / --no-pack / llama.cpp', 'rounds (runs dropped)'];
    const groups = new Map();
    for (const r of records) {
        const key = `${r.model}\n${r.test}`;
        groups.set(key, [...groups.get(key) ?? [], r]);
    }
    const rows = [...groups].map(([key, rounds]) => row(...key.split('\n'), rounds, names));
    return [
        `${new Date().toISOString().slice(0, 10)}, ${cpus()[0].model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB,`
        + ` ${type()} ${release().split('-')[0]}, ${o.threads} threads. Memory read: ${limits(probes)}.`,
        `Peer: llama.cpp, ${engines[1].about}. Tokens a second: median (smallest-largest); ratios are medians of the`,
        `rounds' ratios.`,
        '',
        ...[head, head.map((_, i) => i < 2 ? '---' : '---:'), ...rows].map(r => `| ${r.join(' | ')} |`),
        '',
    ].join('\n');
}
