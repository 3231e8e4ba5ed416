# SPDX-License-Identifier: MIT
# Perplexity equals llama.cpp's on the trained models and texts of the shared data: same windows,
# same number of scored tokens, and a mean NLL that is as near as the arithmetic lets it be.
#
# The bound by weight type. F32: both compute in float, sums in another order. 16 bits: the
# reference rounds activations to 16 bits too, edgewise does not. Quantised: both round
# activations to 8 bits, in different places; evaluating the same files in float moves the mean by
# up to 0.0064, so 0.01 is within what that rounding does and far below the standard error (0.1).
[ -d "${EW_SHARED:-}/data/models" ] || { echo 'no shared data' && exit 77; }
data=$EW_SHARED/data
failed=0

check() { # MODEL TEXT BOUND SCORED MEAN_NLL
    "$EDGEWISE" perplexity "$data/models/$1.gguf" -f "$data/text/en/$2.txt" -c 256 \
        --cache-type-k f32 --cache-type-v f32 --json >"$TMP/out" || failed=1
    awk -v name="$1 on $2" -v bound="$3" -v scored="$4" -v nll="$5" '
        {gsub(/[",:]/, " ")}
        $1 == "scored" {got_scored = $2}
        $1 == "mean_nll" {got_nll = $2}
        END {
            d = got_nll - nll
            if (got_scored == scored && d <= bound && -d <= bound) exit 0
            print name ": " got_scored " tokens, " got_nll "; expected " scored ", " nll
            exit 1
        }' "$TMP/out" || failed=1
}

check stories260K-f32 ppl-tinystories 0.00001 889 1.86527599
check stories260K-f32 ppl-shakespeare 0.00001 3556 4.33061689
check tinystories656K-f32 ppl-tinystories 0.00001 381 4.05040517
check tinystories656K-f32 ppl-shakespeare 0.00001 2540 6.03329668
check stories260K-F16 ppl-tinystories 0.0005 889 1.86525389
check stories260K-BF16 ppl-tinystories 0.0005 889 1.86461386
check stories260K-Q4_0 ppl-tinystories 0.01 889 1.97617069
check stories260K-Q4_1 ppl-tinystories 0.01 889 1.9132059
check stories260K-Q5_0 ppl-tinystories 0.01 889 1.88866627
check stories260K-Q5_1 ppl-tinystories 0.01 889 1.89234182
check stories260K-Q8_0 ppl-tinystories 0.01 889 1.87162083
check stories260K-IQ4_NL ppl-tinystories 0.01 889 1.94479486
check stories260K-w256-IQ4_XS ppl-tinystories 0.01 889 1.94701689
check stories260K-w256-Q2_K ppl-tinystories 0.01 889 4.11497984
check stories260K-w256-Q3_K_M ppl-tinystories 0.01 889 2.18314426
check stories260K-w256-Q4_K_M ppl-tinystories 0.01 889 1.92341836
check stories260K-w256-Q5_K_M ppl-tinystories 0.01 889 1.87835685
check stories260K-w256-Q6_K ppl-tinystories 0.01 889 1.86535744
check tinystories656K-Q4_0 ppl-tinystories 0.01 381 4.11322896
check tinystories656K-Q8_0 ppl-tinystories 0.01 381 4.04368464
exit $failed
