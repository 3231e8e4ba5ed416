# edgewise. `make run` and `make test` do all the set-up; docs/building.md has the rest.
# V=debug | asan | tsan chooses a variant; each has its own folder under build/.

V ?= release
CC ?= cc
CXX ?= c++
AR ?= ar
OBJCOPY ?= objcopy
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
ARCH ?= $(shell uname -m)
OS ?= $(shell uname -s)
B ?= build/$(V)

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wvla -Wwrite-strings -Wstrict-prototypes \
  -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wformat=2 -Wimplicit-fallthrough \
  -Wdouble-promotion -Wconversion -Wno-sign-conversion
# Newer clangs mind a double multiplied by one of our constants, older ones don't know the option.
WARN += $(if $(filter Darwin,$(OS)),-Wno-unknown-warning-option -Wno-enum-float-conversion)
OPT_release := -O3
OPT_debug := -O1 -Werror
OPT_asan := -O1 -Werror -fsanitize=address,undefined -fno-sanitize-recover=all \
  -fno-omit-frame-pointer
OPT_tsan := -O1 -Werror -fsanitize=thread
OPT_fuzz := -O1 -Werror -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
OPT = $(OPT_$(V))

# Empty while the packages are not there yet: the targets that need them run deps first.
pkg = $(shell $(PKG_CONFIG) $(1) 2>/dev/null)
PKG_LIB := jansson libpcre2-8 libutf8proc
# As system headers: what they do is not warned of.
PKG_CFLAGS := $(patsubst -I%,-isystem%,$(call pkg,--cflags $(PKG_LIB)) $(call pkg,--cflags cmocka))
PKG_LIBS := $(call pkg,--libs $(PKG_LIB))
CMOCKA := $(call pkg,--libs cmocka)
LIBEDIT := $(or $(call pkg,--libs libedit),-ledit)

ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -Iinclude -Ilib -Iapp -I. $(WARN) -fvisibility=hidden \
  -ffp-contract=off -fno-math-errno -pthread -MMD -MP -g $(OPT) $(TEST_OPT) $(PKG_CFLAGS) $(CFLAGS)
LINK = $(CC) $(OPT) -pthread $(LDFLAGS) -o $@
LIBS = $(PKG_LIBS) -lm

# Tests are compiled more often than they are waited for. (And gcc 12 for Arm breaks down over the
# sums of some when it vectorises them.)
$(B)/tests/%.o: TEST_OPT := -O1

# Kernels for other processors are left out; inside lib/kernels/x86 and arm the file's name says
# which instruction set its code, and nothing else, may use.
OTHER_ARCH := $(if $(filter x86_64 amd64,$(ARCH)),,x86) $(if $(filter aarch64 arm64,$(ARCH)),,arm)
$(B)/%_avx2.o build/tidy/%_avx2.ok: ISA := -mavx2 -mfma -mf16c
$(B)/%_avx512.o build/tidy/%_avx512.ok: ISA := -mavx2 -mfma -mf16c -mavx512f -mavx512bw \
  -mavx512dq -mavx512vl -mavx512vnni

LIB_SRC := $(filter-out $(OTHER_ARCH:%=lib/kernels/%/%),$(wildcard lib/*/*.c lib/*/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
APP_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard app/*/*.c))
SUPPORT_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/*.c))
TOOL_BIN := $(patsubst %.c,$(B)/%,$(wildcard examples/*.c))
# mkmodel makes models with random weights; the tests use its parts as a library.
MK_OBJ := $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c,$(wildcard bench/mkmodel/*.c)))
# Unit tests: tests/PART/NAME.c is a program; tests/support/ is linked into each. Script tests:
# tests/cli/NAME.sh for the program, tests/build/NAME.sh for what is built.
TEST_SRC := $(filter-out tests/support/% tests/fuzz/% tests/golden/%,$(wildcard tests/*/*.c))
# WITHOUT="text/% model/golden" leaves unit tests out, for slow places (and then fuzz and scripts too).
TEST_BIN := $(filter-out $(WITHOUT:%=$(B)/tests/%),$(TEST_SRC:%.c=$(B)/%))
TEST_SH := $(wildcard tests/build/*.sh tests/cli/*.sh)
FUZZ_BIN := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/*.c))

PRODUCTS := $(B)/libedgewise.a $(B)/edgewise

# VERBOSE=1 shows whole commands.
Q := $(if $(VERBOSE),,@)
say = $(if $(VERBOSE),,@echo "  $(1) $(patsubst $(B)/%,%,$(2))")

# A sub-make for after deps: as wide as the machine unless the caller chose.
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
AGAIN = +@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

all: check-deps
	$(AGAIN) products

products: $(PRODUCTS)
ifeq ($(V)$(B),releasebuild/release)
	@cp -f $(PRODUCTS) .
endif

deps:
	@tools/deps
check-deps:
	@tools/deps --check

run: deps
	$(AGAIN) products
	@$(B)/edgewise run --or-help $(if $(MODEL),"$(MODEL)")

test: deps
	$(AGAIN) tests
	@EDGEWISE=$(B)/edgewise B=$(B) V=$(V) CC="$(CC)" CXX="$(CXX)" \
	  LINK_FLAGS="$(OPT) -pthread $(LIBS)" tools/run-tests $(TEST_BIN) \
	  $(if $(WITHOUT),,$(FUZZ_BIN) $(TEST_SH))

BENCH_BIN := $(addprefix $(B)/,mkmodel grammar-bench bandwidth)
tests: $(PRODUCTS) $(TEST_BIN) $(FUZZ_BIN) $(BENCH_BIN) $(TOOL_BIN)
	@:

fuzz-bins: $(FUZZ_BIN)
fuzz-replay: fuzz-bins
	@tools/run-tests $(FUZZ_BIN)
# New inputs for S seconds a target, all targets or T.
fuzz:
	$(AGAIN) V=fuzz CC=clang fuzz-bins
	@tools/fuzz $(or $(S),60) $(or $(T),$(notdir $(FUZZ_BIN)))

# Every kernel next to what the machine can read, FILTER: those whose names contain it; with MODEL
# also a model as a whole.
bench: deps
	$(AGAIN) products $(B)/tests/kernels/checkkern
	@$(B)/tests/kernels/checkkern --bench $(if $(FILTER),--filter "$(FILTER)")
	@$(if $(MODEL),$(B)/edgewise bench "$(MODEL)")

# edgewise and llama.cpp in turns, as a table in build/bench/peer.md. PEER: a llama-bench built for this
# machine, MODELS="NAME:TYPE FILE.gguf ...", PEER_ARGS: more options (PEER_ARGS=--help).
bench-peer: deps
	$(AGAIN) products $(B)/mkmodel $(B)/bandwidth
	@node bench/peer/main.mjs --build "$(B)" $(if $(PEER),--peer "$(PEER)") \
	  $(if $(MODELS),--models "$(MODELS)") $(PEER_ARGS)

# ---- checks that need more tools than building does; each says what it installs ----

SOURCES := $(wildcard include/*.h lib/*/*.[ch] lib/*/*/*.[ch] app/*/*.[ch] tests/*/*.[ch] \
  tests/*/*/*.[ch] bench/*/*.[ch] examples/*.[ch])
TIDY := $(patsubst %.c,build/tidy/%.ok,$(filter lib/% app/%,$(filter %.c,$(SOURCES))))

check-format:
	clang-format --dry-run -Werror $(SOURCES)
check-layers:
	tools/check-layers
check-tidy: $(TIDY)
build/tidy/%.ok: %.c .clang-tidy $(filter include/% lib/%.h app/%.h,$(SOURCES))
	$(call say,TIDY,$<)
	@mkdir -p $(@D)
	$(Q)clang-tidy --quiet $< -- -std=c17 -D_GNU_SOURCE -Iinclude -Ilib -Iapp -I. $(ISA) 2>&1 \
	  | sed '/warnings\? generated\.$$/d' >$@.log; [ ! -s $@.log ] || { cat $@.log; exit 1; }
	@touch $@
# Left out where a processor is emulated: what takes minutes there and no other way through a kernel.
EMULATED := cli/% text/tokenizer text/vectors model/golden model/invariance model/reference \
  model/session run/sampler
# What has threads, for ThreadSanitizer, which is as slow.
check-threads:
	+@$(MAKE) --no-print-directory V=tsan WITHOUT="bench/% cli/% format/% kernels/% store/% text/% \
	  model/golden model/hostile model/reference run/sampler% run/stop" test
# On an x86-64 of 2008, so that no newer instruction gets into common code unnoticed.
check-old-cpu:
	+@EW_RUNNER="qemu-x86_64 -cpu Nehalem" $(MAKE) --no-print-directory WITHOUT="$(EMULATED)" test
check-arm check-mac check-all:
	@EMULATED="$(EMULATED)" tools/$@

# All objects as an ordinary archive, for what is built here, so that a test pays for what it uses;
# and the library for others: one object in which only the public symbols are left global.
$(B)/internal.a: $(LIB_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
$(B)/app.a: $(APP_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
$(B)/mkmodel.a: $(MK_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
$(B)/libedgewise.a: $(LIB_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(CC) -r -nostdlib -o $(B)/edgewise.o $^
	$(Q)$(if $(filter Darwin,$(OS)),,$(OBJCOPY) --localize-hidden $(B)/edgewise.o)
	$(Q)$(AR) rcs $@ $(B)/edgewise.o

$(B)/edgewise: $(APP_OBJ) $(B)/internal.a
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(LIBEDIT) $(LIBS)
$(B)/examples/%: $(B)/examples/%.o $(B)/internal.a
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(LIBS)
$(B)/mkmodel: $(B)/bench/mkmodel/main.o $(B)/mkmodel.a $(B)/internal.a
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(LIBS)
# What a grammar costs a token: docs/grammars.md.
$(B)/grammar-bench: $(B)/bench/grammar/main.o $(B)/internal.a
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(LIBS)
$(B)/bandwidth: $(B)/bench/peer/bandwidth.o $(B)/internal.a
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(LIBS)
# A fuzz target's main: our own, which replays its corpus, or with V=fuzz the fuzzer's.
FUZZ_MAIN := $(if $(filter fuzz,$(V)),,$(B)/tests/fuzz/replay/main.o)
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_MAIN) $(B)/internal.a
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(if $(FUZZ_MAIN),,-fsanitize=fuzzer) $(LIBS)
$(B)/tests/%: $(B)/tests/%.o $(SUPPORT_OBJ) $(B)/app.a $(B)/mkmodel.a $(B)/internal.a
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(CMOCKA) $(LIBEDIT) $(LIBS)

$(B)/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ISA) -c $< -o $@

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include
	install -m 755 $(B)/edgewise $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(B)/libedgewise.a $(DESTDIR)$(PREFIX)/lib
	install -m 644 include/edgewise.h $(DESTDIR)$(PREFIX)/include

clean:
	rm -rf build edgewise libedgewise.a

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.SECONDARY:
CHECKS := check-threads check-format check-layers check-tidy check-old-cpu check-arm check-mac check-all
.PHONY: $(CHECKS) all products deps check-deps run test tests fuzz fuzz-bins fuzz-replay bench bench-peer install clean
