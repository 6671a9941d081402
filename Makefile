# Cuckoo filters for SQLite.
#
# Variables you may set:
#   CC, CFLAGS       compiler and optimisation
#   SQLITE3, PYTHON  the sqlite3 shell and a python3 whose sqlite3 module loads extensions
#   SKIP_DEPS=1      do not look for missing packages

CC      ?= cc
CFLAGS  ?= -O2 -flto=auto
SQLITE3 ?= /usr/bin/sqlite3
PYTHON  ?= /usr/bin/python3

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes -Wpedantic -Werror
FLAGS    = -std=c11 $(WARNINGS) -fvisibility=hidden
SANITIZE = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all

SRC     = $(sort $(wildcard src/*.c))
EXT     = $(sort $(wildcard ext/*.c))
HEADERS = $(wildcard src/*.h ext/*.h tests/*.h tests/*/*.h)
FUZZ    = $(sort $(wildcard tests/fuzz/*.c))
UNITS   = $(patsubst tests/%.c,%,$(sort $(wildcard tests/test_*.c)))
FAULTS  = static_build regressions ext_units oom oom_table vfs_faults shared_cache
BENCHES = test_kinds bench_core bench_sql bench_table size_table load_at_failure growth_table copies_table \
          capacity load_factor space bursts planned lifecycle real_queries
KINDS   = $(patsubst %,tests/bench/%.c,bench database kinds cuckoo bloom blocked_bloom counting_bloom quotient dleft \
          walk search_steps)

NEEDED  = gcc libc6-dev libsqlite3-dev libxxhash-dev
DEMO    = sqlite3 wamerican wbritish
TESTS   = libcmocka-dev python3 python3-pytest python3-pytest-xdist python3-hypothesis valgrind
PLOTS   = gnuplot-nox
# What make check and make test share: unit tests without sanitizers, and the objects whose calls rooms.py reads.
PLAIN   = $(UNITS:%=build/plain/%) build/plain/bits_portable $(SRC:%.c=build/plain/%.o) $(EXT:%.c=build/plain/%.o)
CORES   = $(shell getconf _NPROCESSORS_ONLN)
export SQLITE3 PYTHON

### To use it
## all: build/cuckoo.so, for the SQLite shell (.load build/cuckoo) and for applications
all: deps-build build/cuckoo.so

## demo: a tour on real data, in under a minute
demo: deps-demo build/cuckoo.so
	@sh tests/demo.sh

### While you work
## check: in seconds: unit tests without sanitizers, SQL scripts, README examples, order of the rooms
check: deps-test
	@$(MAKE) -s -j$(CORES) build/cuckoo.so $(PLAIN)
	@sh tests/run.sh check

## test: in five minutes on two cores: everything, sanitizers included; of what takes longer a slice,
##       another one in each run
test: deps-test
	@$(MAKE) -s -j$(CORES) build/cuckoo.so build/asan/cuckoo.so $(PLAIN) $(UNITS:%=build/asan/%) \
	    $(FAULTS:%=build/asan/%) build/asan/replay build/asan/stress build/plain/replay build/plain/stress \
	    build/plain/loading
	@sh tests/run.sh

## deps: installs the packages that are missing
deps: deps-test

deps-build deps-demo deps-test deps-bench:
	@[ -n "$(SKIP_DEPS)" ] || sh tests/deps.sh $(NEEDED) \
	    $(if $(filter deps-demo deps-test,$@),$(DEMO)) $(if $(filter deps-test,$@),$(TESTS)) \
	    $(if $(filter deps-bench,$@),$(PLOTS))

# Objects: build/<kind>/src/x.o. Kinds: pic for the extension; plain and asan for test programs (linked
# with SQLite itself, hence SQLITE_CORE); so for the extension with sanitizers. Asserts are left out of pic only.
# build/tools changes when another compiler is named, or other options.
build/cuckoo.so: $(SRC:%.c=build/pic/%.o) $(EXT:%.c=build/pic/%.o)
	$(CC) $(CFLAGS) -fPIC -shared -o $@ $^ -lm

build/asan/cuckoo.so: $(SRC:%.c=build/so/%.o) $(EXT:%.c=build/so/%.o)
	@mkdir -p $(@D)
	@$(CC) $(SANITIZE) -shared -o $@ $^ -lm

build/tools: always
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS)' > $@

KIND_pic      = $(CFLAGS) -fPIC -DNDEBUG
KIND_so       = $(SANITIZE) -fPIC
KIND_plain    = -O2 -g -DSQLITE_CORE
KIND_asan     = $(SANITIZE) -DSQLITE_CORE
KIND_tsan     = -O1 -g -fsanitize=thread -DSQLITE_CORE
KIND_coverage = -O0 -g --coverage -DSQLITE_CORE

define kind_rules
build/$(1)/%.o: %.c $$(HEADERS) build/tools
	@mkdir -p $$(@D)
	@$$(CC) $$(FLAGS) $$(KIND_$(1)) -c -o $$@ $$<
build/$(1)/test_%: build/$(1)/tests/test_%.o $$(SRC:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) -o $$@ $$^ -lcmocka -lm
$(FAULTS:%=build/$(1)/%): build/$(1)/%: build/$(1)/tests/faults/%.o \
    $$(SRC:%.c=build/$(1)/%.o) $$(EXT:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) -o $$@ $$^ $$(LDFLAGS) -lcmocka -lsqlite3 -lm
build/$(1)/oom_table: LDFLAGS = -Wl,--wrap=realloc,--wrap=calloc
build/$(1)/shared_cache: LDFLAGS = -Wl,--wrap=sqlite3_bind_int64,--wrap=sqlite3_prepare_v2
build/$(1)/stress: build/$(1)/tests/stress/stress.o $$(SRC:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) -o $$@ $$^ -lm
build/$(1)/replay: $$(FUZZ:%.c=build/$(1)/%.o) $$(SRC:%.c=build/$(1)/%.o) $$(EXT:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) -o $$@ $$^ -lsqlite3 -lm
endef
$(foreach kind,pic so plain asan tsan coverage,$(eval $(call kind_rules,$(kind))))

# With ThreadSanitizer: tests/threads.sh. SQLITE_LIBRARY is the SQLite that is linked.
SQLITE_LIBRARY = -lsqlite3
build/tsan/library build/tsan/connections: build/tsan/%: build/tsan/tests/threads/%.o \
    $(SRC:%.c=build/tsan/%.o) $(EXT:%.c=build/tsan/%.o)
	@$(CC) $(KIND_tsan) -o $@ $^ -lcmocka $(SQLITE_LIBRARY) -lm -lpthread

build/plain/loading: tests/faults/loading.c $(HEADERS)
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O1 -g -o $@ $< -lcmocka -lsqlite3

# The 64-bit product of machines without a 128-bit integer.
build/plain/bits_portable: tests/test_bits.c $(HEADERS)
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O1 -g -U__SIZEOF_INT128__ -o $@ $< -lcmocka

## rooms: who uses whom, against the order in tests/rooms.txt; sizes and counts of src and ext
rooms: deps-test
	@$(MAKE) -s -j$(CORES) $(SRC:%.c=build/plain/%.o) $(EXT:%.c=build/plain/%.o)
	@$(PYTHON) tests/rooms.py build/plain --report

### The long forms of what make test does in part
## mutants: breaks each rule marked in src in every way that mutants.py knows; some test must notice
mutants: deps-test
	@$(PYTHON) tests/stress/mutants.py

## valgrind: all unit tests under valgrind, ten minutes
valgrind: deps-test
	@$(MAKE) -s -j$(CORES) $(UNITS:%=build/plain/%)
	@sh tests/run.sh valgrind

## fuzz: libFuzzer (clang), three minutes for each target; FUZZ_SECONDS=n for another time
fuzz: deps-test build/asan/replay
	@sh tests/fuzz/run.sh

## stress: six million operations with collisions made likely, then the mutants; CUCKOO_TEST_SEED=n
stress: deps-test build/plain/stress
	@build/plain/stress long
	@$(PYTHON) tests/stress/mutants.py

## attack: random statements against filters that follow a table, until ROWS=1000000 rows have changed
attack: deps-test build/cuckoo.so
	@CUCKOO_ATTACK_ROWS=$(or $(ROWS),1000000) $(PYTHON) -m pytest -q -s -p no:cacheprovider --tb=short \
	    tests/python/test_random_statements.py

## faults: persistent filters: every request for memory and every call to the disk fails once, and the
##       power goes at every write; hours
faults: deps-test build/plain/oom_table build/plain/vfs_faults
	@build/plain/oom_table all
	@build/plain/vfs_faults all

### More
## test-versions: the tests of the persistent table on other SQLites; VERSIONS="folder ...", each with
##       sqlite3.c and sqlite3.h; VERSION_TESTS="file ..." for other tests
test-versions: deps-test build/cuckoo.so
	@VERSION_TESTS="$(VERSION_TESTS)" sh tests/versions.sh $(VERSIONS)

## test-cluster: three dqlite nodes (SQLite, replicated by Raft) with filter tables; leaders are killed while
##       they are written to; a minute. deps-cluster installs what it needs, on Debian
test-cluster:
	@sh tests/cluster.sh

deps-cluster:
	@sh tests/deps.sh $(NEEDED) libdqlite-dev golang-go golang-github-canonical-go-dqlite-dev

## coverage: branch coverage of src and ext by the C tests and the SQL
coverage: deps-test
	@sh tests/coverage.sh

## bench: all figures of tests/bench/RESULTS.md, in an hour and a quarter; bench-quick: in three minutes
bench bench-quick: deps-bench build/cuckoo.so $(BENCHES:%=build/bench/%)
	@sh tests/bench/run.sh $(filter bench-quick,$@)

$(BENCHES:%=build/bench/%): build/bench/%: build/bench/tests/bench/%.o $(KINDS:%.c=build/bench/%.o) \
    $(SRC:%.c=build/bench/%.o)
	@$(CC) -o $@ $^ -lsqlite3 -lm
build/bench/%.o: %.c $(HEADERS) build/tools
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) -O2 -DNDEBUG -c -o $@ $<

## bench-check: before a commit, in 20 seconds: no hot path takes 10 % more instructions than committed;
##       bench-accept: the figures of now are right, commit them (tests/bench/instructions.txt)
bench-check bench-accept: deps-test
	@CC="$(CC)" CFLAGS="$(CFLAGS)" MAKE="$(MAKE)" sh tests/bench/check.sh $(patsubst bench-%,%,$@)

build/bench/real_queries: build/bench/tests/bench/real_data.o

# With the objects that ship.
build/bench/instructions: tests/bench/instructions.c tests/bench/instructions_sql.c tests/bench/bench.c \
    tests/bench/database.c $(SRC:%.c=build/pic/%.o)
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) $(CFLAGS) -DNDEBUG -o $@ $^ -lsqlite3 -lm

build/bench/calibrate: tests/bench/calibrate.c $(SRC) $(HEADERS)
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O2 -DNDEBUG -o $@ $< $(SRC) -lm

## clean: removes the build folder
clean:
	rm -rf build

## help: this list
help:
	@awk '/^### / { print ""; print substr($$0, 5); next } /^##  / { print "                 " $$0; next } \
	    /^## / { name = $$2; sub(/^## [^ ]* /, ""); printf "  %-15s%s\n", name, $$0 }' Makefile | sed 's/##  *//'

.PHONY: always all demo check test test-versions test-cluster deps-cluster deps deps-build deps-demo deps-test \
        deps-bench rooms mutants valgrind fuzz stress attack faults coverage bench bench-quick bench-check bench-accept clean help
.SECONDARY:
