/* SPDX-License-Identifier: MIT
 *
 * Arguments of mkmodel for the models that several tests share. */
#ifndef EW_TESTS_MODELS_H
#define EW_TESTS_MODELS_H

/* K-quants, grouped queries, tied head. */
#define MODEL_LLAMA_K "--arch llama --type Q4_K_M --heads 4 --kv-heads 2 --tied --seed 21"
/* The same shapes, other weights. */
#define MODEL_LLAMA_K_OTHER "--arch llama --type Q4_K_M --heads 4 --kv-heads 2 --tied --seed 22"
/* Blocks of 32, biases, half-split rotation. */
#define MODEL_QWEN2 \
 "--arch qwen2 --type Q4_0 --heads 6 --kv-heads 3 --embd 384 --ff 256 --seed 23 --vocab-kind spm"
/* Windows shorter than a page, norms of heads and after branches, GELU. */
#define MODEL_WINDOW                                                                             \
 "--arch gemma3 --type Q8_0 --heads 4 --kv-heads 2 --head-dim 32 --embd 96 --ff 160 --layers 3 " \
 "--tied --seed 25 --set attention.sliding_window=40 --set attention.sliding_window_pattern=2"
/* Experts, one of them shared. */
#define MODEL_MOE                                                                        \
 "--arch qwen2moe --type Q4_K_M --heads 4 --kv-heads 2 --embd 256 --ff 256 --experts 8 " \
 "--experts-used 3 --ff-expert 256 --ff-shared 256 --seed 26 --vocab-kind spm"
/* For tests that open a model hundreds of times: under 100 KB. */
#define MODEL_TINY "--arch llama --type Q8_0 --heads 2 --embd 32 --ff 64 --vocab 300 --seed 24"

#endif
