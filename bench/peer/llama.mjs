// SPDX-License-Identifier: MIT
// Measures llama.cpp through node-llama-cpp, for those who have no llama-bench:
//   node llama.mjs PACKAGE-FOLDER FILE PROMPT GEN DEPTH THREADS REPETITIONS
// Writes {"samples": [tokens per second, ...]}, after one repetition to warm up. A prompt's time
// ends with its first token chosen; a generation's starts there.
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [folder, file, ...numbers] = process.argv.slice(2);
const [nPrompt, nGen, depth, threads, repetitions] = numbers.map(Number);
const entry = createRequire(`${folder}/package.json`).resolve('node-llama-cpp');
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(entry));

const llama = await getLlama({gpu: false, build: 'never', maxThreads: threads, progressLogs: false,
    logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath: file});
const context = await model.createContext({contextSize: depth + nPrompt + nGen + 8,
    threads: {ideal: threads, min: threads}, batchSize: 512});
const sequence = context.getSequence();
const nVocab = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
let seed = 1;

// Ordinary tokens: the first ones of a vocabulary are often control tokens.
function randomTokens(n) {
    return Array.from({length: n}, () => {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        return 300 + seed % (nVocab >> 1);
    });
}

// Seconds to evaluate the tokens and choose one, then seconds for n more.
async function measure(tokens, n) {
    const start = performance.now();
    let first = 0, i = 0;
    for await (const _ of sequence.evaluate(tokens, {temperature: 0, yieldEogToken: true})) {
        if (i === 0) first = performance.now();
        if (i++ === n) break;
    }
    return {prompt: (first - start) / 1000, gen: (performance.now() - first) / 1000};
}

async function once(isTimed) {
    const n = isTimed ? nGen : Math.min(nGen, 16);
    await sequence.clearHistory();
    if (depth > 1) await sequence.evaluateWithoutGeneratingNewTokens(randomTokens(depth - 1));
    const t = await measure(randomTokens(nPrompt || 1), n);
    return nGen ? n / t.gen : nPrompt / t.prompt;
}

const samples = [];
await once(false);
for (let i = 0; i < repetitions; i++) samples.push(await once(true));
console.log(JSON.stringify({samples}));
await llama.dispose();
