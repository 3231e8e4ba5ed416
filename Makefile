# edgewise. `make run` and `make test` do all the set-up; see README.md.
# V=asan | tsan | debug chooses a variant, each in its own folder under build/.

V ?= release
CC ?= cc
B := build/$(V)
PKGS_LIB := jansson libpcre2-8 libutf8proc
PKG_CONFIG ?= pkg-config

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wvla -Wwrite-strings -Wstrict-prototypes \
  -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wformat=2 -Wimplicit-fallthrough \
  -Wdouble-promotion -Wconversion -Wno-sign-conversion
CFLAGS_BASE := -std=c17 -D_GNU_SOURCE -Iinclude -Ilib -Iapp -I. $(WARN) -fvisibility=hidden \
  -ffp-contract=off -fno-math-errno -pthread -MMD -MP -g
OPT_release := -O3
OPT_debug := -O1 -Werror
OPT_asan := -O1 -Werror -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan := -O1 -Werror -fsanitize=thread
ALL_CFLAGS = $(CFLAGS_BASE) $(OPT_$(V)) $(shell $(PKG_CONFIG) --cflags $(PKGS_LIB)) $(CFLAGS)

LIB_SRC := $(wildcard lib/*/*.c lib/*/*/*.c)
APP_SRC := $(wildcard app/*/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
APP_OBJ := $(APP_SRC:%.c=$(B)/%.o)
LIBS = $(shell $(PKG_CONFIG) --libs $(PKGS_LIB)) -lm
APP_LIBS = $(shell $(PKG_CONFIG) --libs libedit)

# Unit tests: tests/PART/NAME.c is one cmocka program; tests/support/ is linked into each.
TEST_PARTS := base format text kernels backend model run plan api store
TEST_SRC := $(foreach d,$(TEST_PARTS),$(wildcard tests/$(d)/*.c))
TEST_BIN := $(TEST_SRC:%.c=$(B)/%)
SUPPORT_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/*.c))

all: $(B)/edgewise

$(B)/edgewise: $(APP_OBJ) $(LIB_OBJ)
	$(CC) $(OPT_$(V)) -pthread -o $@ $^ $(APP_LIBS) $(LIBS)

$(B)/tests/%: $(B)/tests/%.o $(SUPPORT_OBJ) $(LIB_OBJ)
	$(CC) $(OPT_$(V)) -pthread -o $@ $^ $(LIBS) -lcmocka

test: $(TEST_BIN)
	tools/run-tests $(TEST_BIN)

$(B)/%_avx2.o: ISA := -mavx2 -mfma -mf16c
$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ISA) -c $< -o $@

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.SECONDARY:
.PHONY: all test
