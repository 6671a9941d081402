# SPDX-License-Identifier: MIT
# Cuckoo filters for SQLite. Needs GNU make and a C compiler.
#
# Variables you may set, on the command line or in the environment:
#   CC, CPPFLAGS, CFLAGS, LDFLAGS, LDLIBS, AR    as everywhere; a cross compiler makes the extension of its platform
#   PREFIX, LIBDIR, INCLUDEDIR, EXTENSIONDIR, PKGCONFIGDIR, DOCDIR, DESTDIR    where make install puts things
#   SQLITE3, PYTHON  the sqlite3 shell and a python3 whose sqlite3 module loads extensions
#   SKIP_DEPS=1      do not look for what is missing
#   V=1              show whole commands, not only what is compiled

SQLITE3 ?= $(or $(wildcard /usr/bin/sqlite3),sqlite3)
PYTHON  ?= $(or $(wildcard /usr/bin/python3),python3)

PREFIX       ?= /usr/local
LIBDIR       ?= $(PREFIX)/lib
INCLUDEDIR   ?= $(PREFIX)/include
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
DOCDIR       ?= $(PREFIX)/share/doc/cuckoofilter
# SQLite has no folder of its own for extensions. They are no libraries to link with, so they do not stand among these.
EXTENSIONDIR ?= $(LIBDIR)/sqlite3
INSTALL      ?= install

# The platform is that of the compiler: .so, .dylib or .dll is what its SQLite appends to a name.
TARGET := $(or $(shell $(CC) -dumpmachine 2> /dev/null),$(shell uname -s | tr A-Z a-z))
ifneq ($(filter %mingw32 %mingw64 %msys %cygwin %windows-gnu %windows-msvc %mingw32ucrt,$(TARGET))$(findstring mingw,$(TARGET)),)
SUFFIX = dll
SHARED = -shared -static-libgcc
else ifneq ($(findstring darwin,$(TARGET)),)
SUFFIX = dylib
SHARED = -dynamiclib
else
SUFFIX = so
SHARED = -shared $(LINKED)
PIC    = -fPIC
endif
COMMA = ,

# Unless you give CFLAGS: optimization over all files, and what makes an overrun an abort (the stack, the copies, the
# table of functions), where the compiler can. What ships is stripped. (Not to /dev/null: root's emcc puts a file in its place.)
takes = $(shell d=$$(mktemp -d) && echo 'int x;' > $$d/x.c && \
            $(CC) -O2 $(1) -fPIC -shared -o $$d/x $$d/x.c 2> /dev/null && echo '$(1)'; rm -rf "$$d")
RELRO = -Wl$(COMMA)-z$(COMMA)relro$(COMMA)-z$(COMMA)now -s
ifeq ($(origin CFLAGS),undefined)
CFLAGS := $(strip -O2 $(call takes,-flto=auto))
ifeq ($(SUFFIX),so)
CFLAGS := $(strip $(CFLAGS) $(call takes,-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
LINKED := $(call takes,$(RELRO))
endif
endif
EXTENSION = build/cuckoo.$(SUFFIX)
ifeq ($(origin AR),default)
AR = $(if $(findstring emcc,$(CC)),emar,$(or $(shell $(CC) -print-prog-name=ar 2> /dev/null),ar))
endif

# One short line for each file that is compiled.
Q   := $(if $(V),,@)
SAY  = @$(if $(V),:,echo '   CC')
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes -Wpedantic
FLAGS    = $(CPPFLAGS) -std=c11 $(WARNINGS) -fvisibility=hidden @build/options
LIBS     = $(LDLIBS) @build/libraries
SANITIZE = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
# Warnings are errors in the project's own checks only: a newer compiler may warn of more.
CHECKED  = -Werror

SRC     = $(sort $(wildcard src/*.c src/*/*.c))
EXT     = $(sort $(wildcard ext/*.c ext/*/*.c))
HEADERS = $(wildcard src/*.h src/*/*.h ext/*.h ext/*/*.h tests/*/*.h tests/*/*/*.h)
SIM     = $(sort $(wildcard tests/sim/*.c))
FUZZ    = $(sort $(wildcard tests/fuzz/*.c))
TESTS   = $(sort $(wildcard tests/unit/*/test_*.c))
UNITS   = $(basename $(notdir $(TESTS)))
FAULTS  = static_build regressions ext_units oom shared_cache
FAULT_FILES = $(foreach name,$(FAULTS),$(wildcard tests/faults/$(name).c tests/unit/ext/$(name).c))
BENCHES = test_kinds bench_core bench_sql bench_table size_table capacity load_factor space \
          lifecycle bloom_cuckoo left_over maps chains exact
KINDS   = $(patsubst %,tests/bench/%.c,bench database kinds cuckoo bloom blocked_bloom counting_bloom quotient dleft walk)

# Tests that are made anew, as a small library, without what compilers offer beyond C11.
PORTABLE = $(patsubst %,build/portable/test_%,bits format_vectors lanes fast_path semisort semisort_lookups)
# What make check and make test share: unit tests without sanitizers, and the objects whose calls rooms.py reads.
PLAIN   = $(UNITS:%=build/plain/%) build/plain/plain_c $(SRC:%.c=build/plain/%.o) $(EXT:%.c=build/plain/%.o)
CORES   = $(shell getconf _NPROCESSORS_ONLN)
# The C library as WebAssembly, where clang can make it: what the npm package has for programs without SQLite.
WASM    = $(if $(and $(shell command -v clang),$(shell command -v wasm-ld)),build/filter.wasm)
VERSION := $(shell sed -n 's/^.define CUCKOO_VERSION "\(.*\)"/\1/p' src/version.h)
export CC CPPFLAGS CFLAGS LINKED LDFLAGS LDLIBS SQLITE3 PYTHON

### To use it
## all: build/cuckoo.so (.dylib, .dll), for the SQLite shell (.load build/cuckoo) and for applications
all: $(EXTENSION)

## demo: a tour on real data, in under a minute
demo: deps-demo
	@$(MAKE) -s $(EXTENSION)
	@sh tests/demo.sh

## static: build/libcuckoofilter.a, the C library; build/libcuckoo_sqlite.a, the extension for programs that link it
static: build/libcuckoofilter.a build/libcuckoo_sqlite.a build/cuckoofilter.pc build/cuckoo_sqlite.pc

## amalgamation: build/dist/cuckoo.c and cuckoo_filter.h: all of it in one file, for any build system
amalgamation: build/dist/cuckoo.c

## dist: build/dist/: a Python wheel, its sources, an npm package, archives, sqlpkg.json, checksums (ext/packages/dist.py);
##       also for platforms that make test-platforms has built; OTHERS="file ..." for files of your own
OTHERS ?= $(wildcard $(patsubst %,build/platforms/%/cuckoo.*,i386 arm64 armhf s390x musl windows))
dist: need-dist
	@$(MAKE) -s all static $(WASM)
	@$(PYTHON) -B ext/packages/dist.py --version $(VERSION) \
	    --extension $(EXTENSION) $(OTHERS) \
	    --static build/libcuckoofilter.a build/libcuckoo_sqlite.a $(WASM:%=--wasm %) \
	    --sqlite $$(echo '#include <sqlite3ext.h>' | $(CC) $(CPPFLAGS) @build/options -M -x c - | \
	        tr -s ' \\' '\n' | grep '/sqlite3\(ext\)*\.h$$')

## install: all of these below PREFIX, with pkg-config files; uninstall: takes them away
install: all static
	$(INSTALL) -d $(foreach place,$(EXTENSIONDIR) $(LIBDIR) $(INCLUDEDIR) $(PKGCONFIGDIR) $(DOCDIR),"$(DESTDIR)$(place)")
	$(INSTALL) -m 755 $(EXTENSION) "$(DESTDIR)$(EXTENSIONDIR)"
	$(INSTALL) -m 644 build/libcuckoofilter.a build/libcuckoo_sqlite.a "$(DESTDIR)$(LIBDIR)"
	$(INSTALL) -m 644 build/dist/cuckoo_filter.h "$(DESTDIR)$(INCLUDEDIR)"
	$(INSTALL) -m 644 build/cuckoofilter.pc build/cuckoo_sqlite.pc "$(DESTDIR)$(PKGCONFIGDIR)"
	$(INSTALL) -m 644 build/dist/LICENSE "$(DESTDIR)$(DOCDIR)"
	@echo 'Load the extension with: .load $(EXTENSIONDIR)/cuckoo'

uninstall:
	rm -f "$(DESTDIR)$(EXTENSIONDIR)/cuckoo.$(SUFFIX)" "$(DESTDIR)$(INCLUDEDIR)/cuckoo_filter.h"
	rm -f "$(DESTDIR)$(LIBDIR)/libcuckoofilter.a" "$(DESTDIR)$(LIBDIR)/libcuckoo_sqlite.a"
	rm -f "$(DESTDIR)$(PKGCONFIGDIR)/cuckoofilter.pc" "$(DESTDIR)$(PKGCONFIGDIR)/cuckoo_sqlite.pc"
	rm -f "$(DESTDIR)$(DOCDIR)/LICENSE"
	rmdir "$(DESTDIR)$(DOCDIR)" 2> /dev/null || :

## version: the version, which stands in src/version.h
version:
	@echo $(VERSION)

### While you work
## check: some of everything, without sanitizers: C and Python tests, random filters, SQL scripts, README examples, order of the rooms
check: need-test
	@$(MAKE) -s -j$(CORES) $(EXTENSION) $(PLAIN) build/plain/stress build/plain/replay build/plain/sim
	@sh tests/run.sh check

## t:    T=word: builds and runs the tests that have this word in their names; SEED=n, ASAN=1, GDB=1 (tests/t.sh)
t: need-test
	@T="$(T)" SEED="$(SEED)" ASAN="$(ASAN)" GDB="$(GDB)" MAKE="$(MAKE)" sh tests/t.sh

## test: in five minutes on two cores: everything, sanitizers included; of what takes longer a slice,
##       another one in each run
test: deps-test
	@$(MAKE) -s -j$(CORES) $(EXTENSION) $(WASM) build/asan/cuckoo.so $(PLAIN) $(UNITS:%=build/asan/%) \
	    $(FAULTS:%=build/asan/%) build/asan/replay build/asan/stress build/asan/sim build/plain/sim build/plain/replay build/plain/stress \
	    build/plain/loading $(PORTABLE) static
	@sh tests/run.sh

## deps: installs what building and testing need, on Debian and Ubuntu; so do demo, test, and deps-NAME for the target NAME.
##       All others only say what is missing
deps: deps-test

deps-demo deps-dist deps-test deps-fuzz deps-bench deps-cluster deps-platforms deps-browser:
	@[ -n "$(SKIP_DEPS)" ] || INSTALL=1 sh tests/deps.sh $(@:deps-%=%)

need-demo need-dist need-test need-fuzz need-bench need-browser:
	@[ -n "$(SKIP_DEPS)" ] || sh tests/deps.sh $(@:need-%=%)

# Objects: build/<kind>/src/x.o. Kinds: pic for the extension; plain and asan for test programs (linked
# with SQLite itself, hence SQLITE_CORE); so for the extension with sanitizers; portable, and small, without what
# compilers offer beyond C11; coverage and coverage_so, for programs and for the extension, count what is run. Asserts are left
# out of pic, coverage and coverage_so: a branch that no run may take is not one to be counted.
$(EXTENSION): $(SRC:%.c=build/pic/%.o) $(EXT:%.c=build/pic/%.o) build/linker
	$(Q)$(CC) $(CFLAGS) $(PIC) $(SHARED) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

build/asan/cuckoo.so: $(SRC:%.c=build/so/%.o) $(EXT:%.c=build/so/%.o)
	@mkdir -p $(@D)
	@$(CC) $(SANITIZE) -shared -o $@ $^ $(LIBS)

# The first stays mapped, since it writes its counts whenever it is unmapped; the second is for tests of loading.
build/coverage/cuckoo.so build/coverage_so/cuckoo.so: $(SRC:%.c=build/coverage_so/%.o) $(EXT:%.c=build/coverage_so/%.o)
	@mkdir -p $(@D)
	@$(CC) $(COVERAGE) -shared $(if $(filter build/coverage/%,$@),-Wl$(COMMA)-z$(COMMA)nodelete) -o $@ $^ $(LIBS)

# These files change when another compiler or linker is asked for, other options, or other places: so what was made with
# them is made anew.
export COMPILER := $(CC) $(CPPFLAGS) $(CFLAGS) $(TARGET) $(shell $(CC) --version 2> /dev/null | head -1)
export LINKER   := $(LINKED) $(LDFLAGS) $(LDLIBS) $(AR)
export PLACES   := $(PREFIX) $(LIBDIR) $(INCLUDEDIR) $(VERSION)
export WASM_BY  := $(shell for tool in clang wasm-ld wasm-opt; do command -v $$tool || :; done)
build/tools: always ; $(call keep,COMPILER)
build/wasm_tools: always ; $(call keep,WASM_BY)
build/linker: always ; $(call keep,LINKER)
build/places: always ; $(call keep,PLACES)
keep = @mkdir -p $(@D); printf '%s\n' "$$$(1)" | cmp -s - $@ || printf '%s\n' "$$$(1)" > $@

# Where headers are, and what programs are linked with. Stops when a build lacks something.
build/options: build/tools $(if $(SKIP_DEPS),,always)
	@sh tests/deps.sh build
	@[ -e $@ ]
build/libraries: build/options

build/dist/cuckoo.c: $(SRC) $(EXT) $(filter src/% ext/%,$(HEADERS)) $(wildcard ext/amalgamate.* ext/LICENSE) \
    tests/rooms.txt build/options
	@sh ext/amalgamate.sh

# An archive is for any linker: no optimization that is left to it.
ARCHIVED = $(CPPFLAGS) $(CFLAGS) $(if $(findstring -flto,$(CFLAGS)),-fno-lto) $(PIC) -std=c11 -Wall -Wextra @build/options
build/static/libcuckoofilter.o: ARCHIVED += -DCUCKOO_LIBRARY_ONLY
build/static/libcuckoo_sqlite.o: ARCHIVED += -DSQLITE_CORE
build/static/%.o: build/dist/cuckoo.c build/tools
	@mkdir -p $(@D)
	$(Q)$(CC) $(ARCHIVED) -c -o $@ $<
build/%.a: build/static/%.o build/linker
	@rm -f $@
	$(Q)$(AR) rcs $@ $<

# There is no C library for it: libc.h stands for its headers. Small, because it travels: wasm-opt of binaryen, where there
# is one, takes another seventh away. The stack never comes near address 0.
WASM_FEATURES = bulk-memory nontrapping-fptoint sign-ext
build/filter.wasm: build/dist/cuckoo.c $(wildcard ext/packages/filter/*.[ch]) build/wasm_tools
	@rm -rf build/wasm
	@mkdir -p build/wasm
	@for name in assert math stdlib string; do cp ext/packages/filter/libc.h build/wasm/$$name.h; done
	@clang --target=wasm32 -ffreestanding -std=c11 -Oz -mllvm -inline-threshold=-25 $(WASM_FEATURES:%=-m%) \
	    -Wall -Wextra -DXXH_NO_INLINE_HINTS=1 -isystem build/wasm -fvisibility=hidden \
	    -c -o build/wasm/filter.o ext/packages/filter/exports.c
	@wasm-ld --no-entry --export=__heap_base --stack-first -z stack-size=65536 --strip-all -o $@ build/wasm/filter.o
	@! command -v wasm-opt > /dev/null || wasm-opt -Oz --converge --low-memory-unused --zero-filled-memory \
	    $(patsubst %,--enable-%,$(subst nontrapping-fptoint,nontrapping-float-to-int,$(WASM_FEATURES))) -o $@ $@

build/%.pc: ext/%.pc.in build/places build/libraries
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(subst $(PREFIX)/,$${prefix}/,$(LIBDIR))|' \
	    -e 's|@INCLUDEDIR@|$(subst $(PREFIX)/,$${prefix}/,$(INCLUDEDIR))|' -e 's|@VERSION@|$(VERSION)|' \
	    -e "s|@LIBRARIES@|$$(cat build/libraries)|" $< > $@

KIND_pic      = $(CFLAGS) $(PIC) -DNDEBUG
KIND_so       = $(CHECKED) $(SANITIZE) -fPIC
KIND_plain    = $(CHECKED) -O2 -g -DSQLITE_CORE
KIND_asan     = $(CHECKED) $(SANITIZE) -DSQLITE_CORE
KIND_tsan     = $(CHECKED) -O1 -g -fsanitize=thread -DSQLITE_CORE
KIND_portable = $(CHECKED) -O1 -g -DCF_PLAIN_C -DCUCKOO_SMALL
# Inlined code is counted once, not once for each place it is inlined into. Threads may lose a count, which leaves a line
# reached: counting by atomic steps takes four times as long.
COVERAGE         = -O0 -g --coverage -DNDEBUG -Dalways_inline=unused
KIND_coverage    = $(COVERAGE) -DSQLITE_CORE
KIND_coverage_so = $(COVERAGE) -fPIC

define kind_rules
build/$(1)/%.o: %.c build/tools build/options
	@mkdir -p $$(@D)
	$$(SAY) $$<
	$$(Q)$$(CC) $$(FLAGS) $$(KIND_$(1)) -MMD -MP -c -o $$@ $$<
$$(foreach test,$$(TESTS) $$(FAULT_FILES),$$(eval build/$(1)/$$(basename $$(notdir $$(test))): build/$(1)/$$(test:.c=.o)))
build/$(1)/test_%: $$(SRC:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) $$(LDFLAGS) -o $$@ $$^ -lcmocka $$(LIBS) -lpthread
$(FAULTS:%=build/$(1)/%): $$(SRC:%.c=build/$(1)/%.o) $$(EXT:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) $$(LDFLAGS) -o $$@ $$^ $$(WRAP) -lcmocka -lsqlite3 $$(LIBS)
build/$(1)/shared_cache: WRAP = -Wl,--wrap=sqlite3_bind_int64,--wrap=sqlite3_prepare_v2
build/$(1)/stress: build/$(1)/tests/stress/stress.o $$(SRC:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) $$(LDFLAGS) -o $$@ $$^ $$(LIBS)
build/$(1)/model: build/$(1)/tests/model/stress.o $$(SRC:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) $$(LDFLAGS) -o $$@ $$^ $$(LIBS)
build/$(1)/sim: $$(SIM:%.c=build/$(1)/%.o) $$(SRC:%.c=build/$(1)/%.o) $$(EXT:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) $$(LDFLAGS) -o $$@ $$^ -Wl,--wrap=realloc,--wrap=calloc -lsqlite3 $$(LIBS)
build/$(1)/replay: $$(FUZZ:%.c=build/$(1)/%.o) $$(SRC:%.c=build/$(1)/%.o) $$(EXT:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) $$(LDFLAGS) -o $$@ $$^ -lsqlite3 $$(LIBS)
endef
# An object is made anew when a header that it includes has changed.
-include $(shell find build -name '*.d' 2> /dev/null)
$(foreach kind,pic so plain asan tsan portable coverage coverage_so,$(eval $(call kind_rules,$(kind))))

# With ThreadSanitizer: tests/ship/threads.sh. SQLITE_LIBRARY is the SQLite that is linked.
SQLITE_LIBRARY = -lsqlite3
build/tsan/library build/tsan/connections: build/tsan/%: build/tsan/tests/ship/threads/%.o \
    $(SRC:%.c=build/tsan/%.o) $(EXT:%.c=build/tsan/%.o)
	@$(CC) $(KIND_tsan) -o $@ $^ -lcmocka $(SQLITE_LIBRARY) $(LIBS) -lpthread

build/plain/loading: tests/faults/loading.c $(HEADERS)
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O1 -g -o $@ $< -lcmocka -lsqlite3

# What compilers offer beyond C11, without it.
build/plain/plain_c: $(filter %/test_compiler.c,$(TESTS)) $(HEADERS)
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O1 -g -DCF_PLAIN_C -o $@ $< -lcmocka

## rooms: who uses whom, against the order in tests/rooms.txt; sizes and counts of src and ext
rooms: need-test
	@$(MAKE) -s -j$(CORES) $(SRC:%.c=build/plain/%.o) $(EXT:%.c=build/plain/%.o)
	@$(PYTHON) tests/rooms.py build/plain --report

### The long forms of what make test does in part
## mutants: breaks each rule marked in src in every way that mutants.py knows; some test must notice
mutants: need-test
	@$(PYTHON) tests/stress/mutants.py

## valgrind: all unit tests under valgrind, ten minutes
valgrind: need-test
	@$(MAKE) -s -j$(CORES) $(UNITS:%=build/plain/%)
	@sh tests/run.sh valgrind

## fuzz: libFuzzer (clang), three minutes for each target; FUZZ_SECONDS=n for another time
fuzz: need-test need-fuzz build/asan/replay
	@sh tests/fuzz/run.sh

## stress: six million operations with collisions made likely, filters of any shape for STRESS_SECONDS=300,
##       then the mutants; CUCKOO_TEST_SEED=n
stress: need-test build/plain/stress
	@build/plain/stress long
	@build/plain/stress shapes $(or $(STRESS_SECONDS),300)
	@$(PYTHON) tests/stress/mutants.py

## model: random lives of filters, beside one exact model of them (tests/model); SEED=n
model: need-test build/plain/model
	@CUCKOO_TEST_SEED=$(SEED) build/plain/model

## sim: random databases, statements, faults and crashes, beside a twin without a filter, for SECONDS=60, or STEPS=n;
##       SEED=n repeats a run that failed; EACH=1: steps fail at each call that they make, EACH=n at every nth;
##       SIM_KNOWN=name asks for faults that are known; sim-holes: which faults put in by hand it finds (HOLES=pattern)
sim: need-test build/plain/sim
	@build/plain/sim $(or $(SEED),$(shell date +%s)) $(EACH:%=--each %) \
	    $(if $(SEED)$(SECONDS)$(STEPS),$(SECONDS:%=--seconds %) $(STEPS:%=--all %),--seconds 60)

sim-holes: need-test build/plain/sim
	@$(PYTHON) -B tests/sim/holes.py $(HOLES:%='%')

## attack: random statements against filters that follow a table, until ROWS=1000000 rows have changed
attack: need-test $(EXTENSION)
	@CUCKOO_ATTACK_ROWS=$(or $(ROWS),1000000) $(PYTHON) -m pytest -q -s -p no:cacheprovider --tb=short \
	    tests/python/follow/test_random_statements.py

## fuzz-rows: damages rows of filter tables and uses these in every way, with sanitizers, for SECONDS=600
fuzz-rows: need-test build/asan/cuckoo.so
	@CUCKOO_DAMAGE_SECONDS=$(or $(SECONDS),600) sh tests/run.sh damage

### More
## test-versions: the SQL and Python tests on other SQLites; VERSIONS="folder ...", each with sqlite3.c
##       and sqlite3.h, or shells; else those of npm packages; VERSION_TESTS="file ..." for some tests
test-versions: need-test $(EXTENSION)
	@VERSION_TESTS="$(VERSION_TESTS)" sh tests/ship/versions.sh $(VERSIONS)

## test-clients: the program of each client in tests/ship/clients that is installed, and the README's table of them
test-clients: need-test $(EXTENSION)
	@CC="$(CC)" sh tests/ship/clients.sh

## test-cluster: three dqlite nodes (SQLite, replicated by Raft) with filter tables; leaders are killed while
##       they are written to; a minute. deps-cluster installs what it needs, on Debian
test-cluster: build/options
	@sh tests/ship/cluster.sh

## test-packages: installs what make dist makes in empty folders, by pip and npm, and runs README's example
test-packages: need-test
	@$(MAKE) -s dist
	@CC="$(CC)" sh tests/ship/packages.sh

## test-browser: the filters without SQLite in headless Chromium: a page that builds, downloads and reopens a million
##       domains; deps-browser installs it
test-browser: need-browser
	@$(MAKE) -s $(EXTENSION) $(WASM)
	@$(PYTHON) -B tests/ship/browser.py

## test-platforms: unit tests, SQL, bytes and databases on i386, arm64, armhf, s390x, musl, Windows, WebAssembly, where
##       their tools are; deps-platforms: installs these; PLATFORMS="name ..." for some; SQLITE_SOURCE=folder
test-platforms: need-demo build/dist/cuckoo.c
	@sh tests/ship/platforms.sh $(PLATFORMS)

## coverage: lines and branches of src and ext that unit tests, fault loops, SQL and Python reach together; in ten minutes
coverage: need-test
	@CC="$(CC)" sh tests/coverage.sh

## bench: all figures of tests/bench/RESULTS.md, ten runs, in four hours, to build/bench/report.html;
##       it may be stopped and called again; bench-quick: fewer points, in two minutes
bench bench-quick: need-bench $(EXTENSION) $(BENCHES:%=build/bench/%) build/bench/references \
    build/bench/instructions
	@CC="$(CC)" CFLAGS="$(CFLAGS)" $(PYTHON) tests/bench/run.py $(if $(filter bench-quick,$@),quick,full)

$(BENCHES:%=build/bench/%) build/bench/year build/bench/calibrate: \
    build/bench/%: build/bench/tests/bench/%.o $(KINDS:%.c=build/bench/%.o) \
    $(SRC:%.c=build/bench/%.o)
	@$(CC) -o $@ $^ -lsqlite3 -lm
build/bench/%.o: %.c build/tools build/options
	@mkdir -p $(@D)
	$(SAY) $<
	$(Q)$(CC) $(FLAGS) -O2 -DNDEBUG -MMD -MP -c -o $@ $<

## bench-check: before a commit, in 20 seconds: no hot path takes 10 % more instructions than committed;
##       bench-accept: the figures of now are right, commit them (tests/bench/instructions.txt);
##       bench-one-file: the same paths in build/dist/cuckoo.c beside those of the ordinary build
bench-check bench-accept bench-one-file: need-test
	@CC="$(CC)" CFLAGS="$(CFLAGS)" MAKE="$(MAKE)" sh tests/bench/check.sh $(patsubst bench-%,%,$@)

# Its filters tell what they read.
build/bench/references: tests/bench/references.c $(KINDS) $(SRC:%.c=build/bench/%.o) $(HEADERS) build/options
	@$(CC) $(FLAGS) -O2 -DNDEBUG -DBENCH_COUNT_LINES -o $@ $(filter %.c %.o,$^) -lsqlite3 -lm

# With the objects that ship.
build/bench/instructions: tests/bench/instructions.c tests/bench/instructions_sql.c tests/bench/bench.c \
    tests/bench/database.c $(SRC:%.c=build/pic/%.o)
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) $(CFLAGS) -DNDEBUG -o $@ $^ -lsqlite3 -lm

build/bench/instructions_one_file: tests/bench/instructions.c tests/bench/instructions_sql.c tests/bench/bench.c \
    tests/bench/database.c build/libcuckoofilter.a
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) -O2 -DNDEBUG -o $@ $^ -lsqlite3 $(LIBS)
build/bench/one_file/cuckoo.so: build/dist/cuckoo.c
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) -O2 $(PIC) $(SHARED) @build/options -o $@ $< $(LIBS)

## clean: removes the build folder
clean:
	rm -rf build

## help: this list
help:
	@awk '/^### / { print ""; print substr($$0, 5); next } /^##  / { print "                  " $$0; next } \
	    /^## / { name = $$2; sub(/^## [^ ]* /, ""); printf "  %-16s%s\n", name, $$0 }' Makefile | sed 's/##  *//'

.PHONY: always t all demo static amalgamation dist install uninstall version check test test-versions \
        test-clients test-packages test-platforms test-cluster deps deps-demo deps-dist deps-test \
        deps-fuzz deps-bench deps-cluster deps-platforms deps-browser need-demo need-dist \
        need-test need-fuzz need-bench need-browser test-browser rooms mutants valgrind fuzz fuzz-rows stress model sim sim-holes attack \
        coverage bench bench-quick bench-check bench-accept bench-one-file clean help
.SECONDARY:
