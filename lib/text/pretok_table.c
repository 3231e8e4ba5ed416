/* SPDX-License-Identifier: MIT
 *
 * Pre-tokenizer rules by the name in tokenizer.ggml.pre: the regular expressions of the models'
 * tokenizers, in the passes of the reference implementation for GGUF files.
 *
 * Notes for writing a pattern. Its cost must be linear for every text: no nested repeats, no
 * look-ahead over a whole run. White space is WS, not \s, which in PCRE2 has U+180E too. Case is
 * spelt out, since (?i:s) would match U+017F. */
#include "text/pretok.h"

#define WS     "\\t-\\r\\x{85}\\p{Z}" /* inside brackets */
#define SPACE  "[" WS "]"
#define NSPACE "[^" WS "]"

#define SHORT  "'(?:[sdmtSDMT]|[rR][eE]|[vV][eE]|[lL][lL])"
#define TAIL   SPACE "+(?!" NSPACE ")|" SPACE "+"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"

/* The rule of GPT-2. */
#define GPT2 "'(?:[sdmt]|re|ve|ll)| ?\\p{L}+| ?\\p{N}+| ?[^" WS "\\p{L}\\p{N}]+|" TAIL

/* The rule of cl100k and those after it: contractions, words, digits in groups, marks. */
#define MARKS          "| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*|" SPACE "*[\\r\\n]+|" TAIL
#define WORDS          BEFORE "\\p{L}+|"
#define CL100K(digits) SHORT "|" WORDS digits MARKS

/* The rule of o200k: words end where lower case turns to upper. */
#define CASED(up, low, end) BEFORE up "*" low "+" end "|" BEFORE up "+" low "*" end "|"
#define O200K_MARKS         "| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n/]*|" SPACE "*[\\r\\n]+|" TAIL
#define UP                  "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOW                 "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
/* The same without Han, as what is neither it nor anything but a letter or mark. */
#define UP_NO_HAN  "[^\\p{Ll}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{Han}]"
#define LOW_NO_HAN "[^\\p{Lu}\\p{Lt}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{Han}]"

#define PUNCT_WORD                                                       \
 "[!-/:-@\\[-`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" \
 "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACE "*[\\r\\n]+|" TAIL

#define BLOOM " ?[^(" WS "|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"
#define CJK   "\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}"

/* Letters that have case, as of Unicode 11 without Georgian small ones. */
#define DEEPSEEK_LETTERS                                                                        \
 "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}"                 \
 "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}" \
 "\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}"         \
 "\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}"  \
 "\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}"                 \
 "\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}"                 \
 "\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}"         \
 "\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}"        \
 "\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}"                 \
 "\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}"         \
 "\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}"                   \
 "\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}"         \
 "\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}"                  \
 "\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}"                 \
 "\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}"                 \
 "\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}"           \
 "\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"

/* Not after white space other than line ends: the pieces of a long run need not all look for a line
 * end in the rest of it, since the first one found none. */
#define NOT_IN_RUN "(?<![\\t\\x{B}\\f\\x{85}\\p{Z}])"

static const pretok_rule rules[] = {
    {"default", 0, {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {"gpt-2 phi-2 mpt olmo jais trillion granite-docling gigachat a.x-4.0 exaone4 mellum "
     "modern-bert roberta-bpe jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code",
     0,
     {GPT2}},
    {"starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", 0, {"\\p{N}", GPT2}},
    {"falcon", 0, {"[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     PRETOK_IGNORE_MERGES | PRETOK_ADD_BOS,
     {CL100K("\\p{N}{1,3}")}},
    {"minicpm5", PRETOK_IGNORE_MERGES, {"\\p{N}{1,3}", CL100K("\\p{N}+")}},
    {"dbrx smaug-bpe", 0, {CL100K("\\p{N}{1,3}")}},
    {"glm4 chatglm-bpe", PRETOK_NO_BOS, {CL100K("\\p{N}{1,3}")}},
    {"jais-2",
     0,
     {SHORT "|" WORDS "\\p{N}{1,3}| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*|" NOT_IN_RUN SPACE
            "*[\\r\\n]+|" SPACE "{512}(?!" NSPACE ")|" SPACE "{256}(?!" NSPACE ")|" SPACE
            "{128}(?!" NSPACE ")|" SPACE "{64}(?!" NSPACE ")|" SPACE "{32}(?!" NSPACE ")|" SPACE
            "{16}(?!" NSPACE ")|" SPACE "{8}(?!" NSPACE ")|" SPACE "{4}(?!" NSPACE ")|" SPACE
            "{1,2}(?!" NSPACE ")|" SPACE}},
    {"qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2",
     0,
     {CL100K("\\p{N}")}},
    {"qwen35",
     0,
     {SHORT "|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}| ?[^" WS "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACE
            "*[\\r\\n]+|" TAIL}},
    {"ufakzeka", 0, {WORDS "\\p{N}" MARKS}},
    {"laguna", 0, {"[^\\n]+|\\n+", CL100K("\\p{N}")}},
    {"bailingmoe bailingmoe2 llada-moe",
     0,
     {SHORT "|" WORDS "\\p{N}| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*|" SPACE "*[\\r\\n]|" TAIL}},
    {"seed-coder",
     0,
     {SHORT "|" WORDS "\\p{N}| ?[^" WS "\\p{L}\\p{N}\\r\\n]+|" SPACE "*[\\r\\n]+|" TAIL}},
    {"exaone-moe",
     0,
     {SHORT "|" BEFORE "\\p{L}(?:\\p{M}*+ ?\\p{L})*+\\p{M}*+"
            "|\\p{N}| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n/]?|" SPACE "*[\\r\\n]|" TAIL}},
    {"gpt-4o llama4 kanana2 talkie minimax-m2",
     0,
     {CASED(UP, LOW, "(?:" SHORT ")?") "\\p{N}{1,3}" O200K_MARKS}},
    {"granite-embed-multi-97m",
     PRETOK_IGNORE_MERGES,
     {CASED(UP, LOW, "(?:" SHORT ")?") "\\p{N}{1,3}" O200K_MARKS}},
    {"tekken", PRETOK_IGNORE_MERGES | PRETOK_ADD_BOS, {CASED(UP, LOW, "") "\\p{N}" O200K_MARKS}},
    {"tiny_aya cohere2moe",
     0,
     {"@thousands-word", CASED(UP, LOW, "(?:" SHORT ")?") "\\p{N}{1,3}" O200K_MARKS}},
    {"youtu",
     PRETOK_IGNORE_MERGES,
     {"[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+"
      "|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}"
      "\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|[" CJK "]+",
      CASED(UP, LOW, "(?:" SHORT ")?") "\\p{N}" O200K_MARKS}},
    {"deepseek-llm",
     0,
     {"[\\r\\n]", SPACE "?[" DEEPSEEK_LETTERS "]+",
      SPACE
      "?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+",
      "(?<!" SPACE ")" SPACE "++\\z", "[\\x{800}-\\x{9FA5}\\x{AC00}-\\x{D7FF}]+", "\\p{N}+"}},
    {"deepseek-coder",
     0,
     {"[\\r\\n]", SPACE "?\\p{L}+", SPACE "?\\p{P}+", "[\\x{800}-\\x{9FA5}\\x{AC00}-\\x{D7FF}]+",
      "\\p{N}"}},
    {"deepseek-v3 hunyuan-dense joyai-llm hy_v4", 0, {"\\p{N}{1,3}", "[" CJK "]+", PUNCT_WORD}},
    {"kimi-k2",
     0,
     {"\\p{Han}+|" CASED(UP_NO_HAN, LOW_NO_HAN, "(?:" SHORT ")?") "\\p{N}{1,3}" MARKS}},
    {"spark2_5",
     0,
     {"\\p{N}{1,3}", "[" CJK "]+",
      "[!-/:-@\\[-`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
      "| ?[\\p{P}\\p{S}]+|[\\r\\n]|" TAIL}},
    {"afmoe",
     0,
     {"@thousands-after",
      "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{30FF}"
      "\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{E7F}\\x{E80}-\\x{EFF}\\x{1780}-\\x{17FF}"
      "\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}"
      "\\x{1100}-\\x{11FF}]+",
      PUNCT_WORD}},
    {"superbpe", 0, {"\\p{N}+", "@thousands"}},
    {"bloom gpt3-finnish poro-chat", 0, {BLOOM}},
    {"viking", 0, {BLOOM, "\\p{N}"}},
    {"chameleon",
     PRETOK_ADD_BOS,
     {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}",
      "[\\p{P}!-/:-@\\[-`{-~]", GPT2}},
    {"gemma4 granite-embed-multi-311m", PRETOK_RAW | PRETOK_FORCE_BOS, {"[^\\n]+|\\n+"}},
    {"sarvam-moe", PRETOK_RAW, {"[^\\n]+|\\n+"}},
};

enum {
    N_RULE = sizeof rules / sizeof *rules
};

size_t pretok_n_rule(void) {
    return N_RULE;
}

const pretok_rule *pretok_get(size_t i) {
    return rules + i;
}

const pretok_rule *pretok_default(void) {
    return rules;
}

static bool has_name(const char *list, str name) {
    while (*list) {
        const size_t n = strcspn(list, " ");

        if (str_eq((str){list, n}, name)) return true;
        list += n;
        list += strspn(list, " ");
    }
    return false;
}

const pretok_rule *pretok_find(str name) {
    if (name.n == 0 || memchr(name.p, ' ', name.n)) return NULL;
    for (size_t i = 0; i < N_RULE; i++)
        if (has_name(rules[i].names, name)) return rules + i;
    return NULL;
}
