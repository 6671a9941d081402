# SPDX-License-Identifier: MIT
# Cuckoo filters for SQLite. Needs GNU make and a C compiler. make help lists the targets.
#
# Variables you may set, on the command line or in the environment:
#   CC, CPPFLAGS, CFLAGS, LDFLAGS, LDLIBS, AR    as everywhere; a cross compiler makes the extension of its platform
#   PREFIX, LIBDIR, INCLUDEDIR, EXTENSIONDIR, PKGCONFIGDIR, DOCDIR, MANDIR, DESTDIR    where make install puts things
#   SQLITE3, PYTHON  the sqlite3 shell and a python3 whose sqlite3 module loads extensions
#   SKIP_DEPS=1      do not look for what is missing
#   V=1              show whole commands, not only what is compiled

SQLITE3 ?= $(or $(wildcard /usr/bin/sqlite3),sqlite3)
PYTHON  ?= $(or $(wildcard /usr/bin/python3),python3)

# The platform is that of the compiler: .so, .dylib or .dll is what its SQLite appends to a name.
TARGET := $(or $(shell $(CC) -dumpmachine 2> /dev/null),$(shell uname -s | tr A-Z a-z))
SUFFIX = so
SHARED = -shared $(LINKED)
PIC    = -fPIC
ifneq ($(filter %mingw32 %mingw64 %msys %cygwin %windows-gnu %windows-msvc %mingw32ucrt,$(TARGET))$(findstring mingw,$(TARGET)),)
SUFFIX = dll
SHARED = -shared -static-libgcc
PIC    =
else ifneq ($(findstring darwin,$(TARGET)),)
SUFFIX = dylib
SHARED = -dynamiclib
PIC    =
endif
EXTENSION = build/cuckoo.$(SUFFIX)
COMMA = ,

# Unless you give CFLAGS: optimization over all files, and what makes an overrun an abort (the stack, the copies, the
# table of functions), where the compiler can. What ships is stripped. (Not to /dev/null: root's emcc puts a file in
# its place.)
takes = $(shell d=$$(mktemp -d) && echo 'int x;' > $$d/x.c && \
            $(CC) -O2 $(1) -fPIC -shared -o $$d/x $$d/x.c 2> /dev/null && echo '$(1)'; rm -rf "$$d")
ifeq ($(origin CFLAGS),undefined)
CFLAGS := $(strip -O2 $(call takes,-flto=auto))
ifeq ($(SUFFIX),so)
CFLAGS := $(strip $(CFLAGS) $(call takes,-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
LINKED := $(call takes,-Wl$(COMMA)-z$(COMMA)relro$(COMMA)-z$(COMMA)now -s)
endif
endif
ifeq ($(origin AR),default)
AR = $(if $(findstring emcc,$(CC)),emar,$(or $(shell $(CC) -print-prog-name=ar 2> /dev/null),ar))
endif
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes -Wpedantic
FLAGS    = $(CPPFLAGS) -std=c11 $(WARNINGS) -fvisibility=hidden @build/options
LIBS     = $(LDLIBS) @build/libraries

SRC     = $(sort $(wildcard src/*.c src/*/*.c))
EXT     = $(sort $(wildcard ext/*.c ext/*/*.c))
HEADERS = $(wildcard src/*.h src/*/*.h ext/*.h ext/*/*.h)
VERSION := $(shell sed -n 's/^.define CUCKOO_VERSION "\(.*\)"/\1/p' src/include/version.h)
export CC CPPFLAGS CFLAGS LINKED LDFLAGS LDLIBS SQLITE3 PYTHON

# One short line for each file that is compiled. As many jobs as you say with -j, else as there are cores.
Q     := $(if $(V),,@)
SAY    = @$(if $(V),:,echo '   CC')
BUILD  = +@$(MAKE) -s $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN))
export TEST_JOBS = $(patsubst -j%,%,$(filter -j%,$(MAKEFLAGS)))

### To use it
## all: build/cuckoo.so (.dylib, .dll), for the SQLite shell (.load build/cuckoo) and for applications
all: $(EXTENSION)

## demo: a tour on real data, in under a minute
demo: deps-demo
	@$(MAKE) -s $(EXTENSION)
	@sh tests/demo.sh

## version: the version, from src/include/version.h
version:
	@echo $(VERSION)

### While you work
## deps: installs what building and testing need, on Debian and Ubuntu; so do demo, test, and deps-NAME for the target NAME.
##       All others only say what is missing
deps: deps-test

PARTS = demo dist deb test fuzz platforms browser
$(PARTS:%=deps-%):
	@[ -n "$(SKIP_DEPS)" ] || INSTALL=1 sh tests/deps.sh $(@:deps-%=%)
$(PARTS:%=need-%):
	@[ -n "$(SKIP_DEPS)" ] || sh tests/deps.sh $(@:need-%=%)

# Objects: build/<kind>/src/x.o. pic is what ships, without asserts; debug has them; tests/tests.mk has other kinds.
KIND_pic   = $(CFLAGS) $(PIC) -DNDEBUG
KIND_debug = -O0 -g $(PIC)

# An object is made anew when a header that it includes has changed.
define kind_rules
build/$(1)/%.o: %.c build/tools build/options
	@mkdir -p $$(@D)
	$$(SAY) $$<
	$$(Q)$$(CC) $$(FLAGS) $$(KIND_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach kind,pic debug,$(eval $(call kind_rules,$(kind))))
-include $(shell find build -name '*.d' 2> /dev/null)

$(EXTENSION): $(SRC:%.c=build/pic/%.o) $(EXT:%.c=build/pic/%.o) build/linker
	$(Q)$(CC) $(CFLAGS) $(PIC) $(SHARED) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

## debug: build/debug/cuckoo.so, with asserts and what a debugger needs, without optimization
debug: build/debug/cuckoo.$(SUFFIX)
build/debug/cuckoo.$(SUFFIX): $(SRC:%.c=build/debug/%.o) $(EXT:%.c=build/debug/%.o)
	$(Q)$(CC) $(KIND_debug) $(SHARED) $(LDFLAGS) -o $@ $^ $(LIBS)

# These files change when another compiler or linker is asked for, other options, or other places: so what was made with
# them is made anew.
export COMPILER := $(CC) $(CPPFLAGS) $(CFLAGS) $(TARGET) $(shell $(CC) --version 2> /dev/null | head -1)
export LINKER   := $(LINKED) $(LDFLAGS) $(LDLIBS) $(AR)
keep = @mkdir -p $(@D); printf '%s\n' "$$$(1)" | cmp -s - $@ || printf '%s\n' "$$$(1)" > $@
build/tools: always ; $(call keep,COMPILER)
build/linker: always ; $(call keep,LINKER)

# Where headers are, and what programs are linked with. Stops when a build lacks something.
build/options: build/tools $(if $(SKIP_DEPS),,always)
	@sh tests/deps.sh build
	@[ -e $@ ]
build/libraries: build/options

## format: clang-format for the C files that you have changed; ALL=1 for all
CHANGED = $(shell git diff --name-only --diff-filter=d HEAD; git ls-files --others --exclude-standard)
format:
	clang-format -i $(filter-out %_vectors.h %_table.h,$(filter %.c %.h,$(if $(ALL),$(shell git ls-files),$(CHANGED))))

## compile_commands: build/compile_commands.json, for clangd and other tools that read C
compile_commands: build/options
	@printf '{"directory": "$(CURDIR)", "file": "%s", "command": "cc $(FLAGS) -c %s"}\n' \
	    $(foreach file,$(SRC) $(EXT) $(wildcard tests/*/*.c tests/*/*/*.c),$(file) $(file)) | \
	    sed '1s/^/[/; $$!s/$$/,/; $$s/$$/]/' > build/compile_commands.json

## clean: removes the build folder
clean:
	rm -rf build

## help: this list
help:
	@awk '/^### / { print ""; print substr($$0, 5); next } /^##  / { print "                    " $$0; next } \
	    /^## / { name = $$2; sub(/^## [^ ]* /, ""); printf "  %-18s%s\n", name, $$0 }' \
	    $(filter Makefile %.mk,$(MAKEFILE_LIST)) | sed 's/##  *//'

.PHONY: always all demo version deps $(PARTS:%=deps-%) $(PARTS:%=need-%) debug format compile_commands \
        clean help
.SECONDARY:
include tests/tests.mk tests/bench/bench.mk ext/packages/packages.mk tests/ship/ship.mk
