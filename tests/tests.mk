# SPDX-License-Identifier: MIT
# The programs of tests, the kinds in which they are built, and the targets that run them. Part of the Makefile.

# Warnings are errors in the project's own checks only: a newer compiler may warn of more.
CHECKED  = -Werror
SANITIZE = -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
# Inlined code is counted once, not once for each place it is inlined into. Threads may lose a count, which leaves a
# line reached: counting by atomic steps takes four times as long. Asserts are left out: a branch that no run may take
# is not one to be counted.
COVERAGE = -O0 -g --coverage -DNDEBUG -Dalways_inline=unused

# For programs, linked with SQLite itself, hence SQLITE_CORE; and for the extension (coverage_so).
# plain, asan, tsan: -O1 and -g1 (lines, no variables) take half the time to compile of -O2 -g. gdb: for make t GDB=1.
# portable: without what compilers offer beyond C11, small, and without asserts, as users compile it.
KIND_plain       = $(CHECKED) -O1 -g1 -DSQLITE_CORE
KIND_gdb         = -O0 -g -DSQLITE_CORE
KIND_asan        = $(CHECKED) $(SANITIZE) -fPIC -DSQLITE_CORE -D'CUCKOO_ENTRY=__attribute__((visibility("default")))'
# Races do not depend on what is inlined.
KIND_tsan        = $(CHECKED) -O1 -g1 -fsanitize=thread -DSQLITE_CORE -DCUCKOO_SMALL
KIND_fuzz        = -O2 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fno-sanitize-coverage=trace-cmp \
    -DLIBFUZZER -DSQLITE_CORE
KIND_portable    = $(CHECKED) -O1 -g -DCF_PLAIN_C -DCUCKOO_SMALL -DNDEBUG
KIND_coverage    = $(COVERAGE) -DSQLITE_CORE
KIND_coverage_so = $(COVERAGE) -fPIC
KINDS_OF_TESTS   = plain gdb asan tsan fuzz portable coverage
# What tests do is watched for bad addresses only: a quarter of the time to compile.
build/asan/tests/%: SANITIZE = -O1 -g1 -fno-omit-frame-pointer -fsanitize=address
build/asan/tests/unit/%: SANITIZE = -O0 -g1 -fsanitize=address
CLANG ?= clang
build/fuzz/%: CC = $(CLANG)

# Programs of tests, and the folders or files that they are made of. Units need src alone; so does the model.
TESTS  = $(sort $(wildcard tests/unit/*/test_*.c))
UNITS  = $(basename $(notdir $(TESTS)))
FAULTS = linked oom shared_cache
FAULT_FILES = $(foreach name,$(FAULTS),$(wildcard tests/faults/$(name).c tests/unit/ext/$(name).c))
OF_model = tests/model/model.c
OF_fuzz  = tests/model/fuzz.c
OF_sim   = $(sort $(wildcard tests/sim/*.c))

define program_rules
$$(foreach test,$$(TESTS) $$(FAULT_FILES),$$(eval build/$(1)/$$(basename $$(notdir $$(test))): build/$(1)/$$(test:.c=.o)))
$$(foreach name,model fuzz sim,$$(eval build/$(1)/$$(name): $$(OF_$$(name):%.c=build/$(1)/%.o)))
$(UNITS:%=build/$(1)/%) build/$(1)/model: $$(SRC:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) $$(LDFLAGS) -o $$@ $$^ -lcmocka $$(LIBS) -lpthread
$(FAULTS:%=build/$(1)/%) build/$(1)/sim build/$(1)/fuzz: $$(SRC:%.c=build/$(1)/%.o) $$(EXT:%.c=build/$(1)/%.o)
	@$$(CC) $$(KIND_$(1)) $$(LDFLAGS) -o $$@ $$^ $$(WRAP) -lcmocka -lsqlite3 $$(LIBS)
build/$(1)/sim: WRAP = -Wl,--wrap=realloc,--wrap=calloc
build/$(1)/shared_cache: WRAP = -Wl,--wrap=sqlite3_bind_int64,--wrap=sqlite3_prepare_v2
endef
$(foreach kind,$(KINDS_OF_TESTS) coverage_so,$(eval $(call kind_rules,$(kind))))
$(foreach kind,$(KINDS_OF_TESTS),$(eval $(call program_rules,$(kind))))

# Of the same objects as the programs: it calls the SQLite that Python and the shell have loaded, without the table of its
# functions.
build/asan/cuckoo.so: $(SRC:%.c=build/asan/%.o) $(EXT:%.c=build/asan/%.o)
	@mkdir -p $(@D)
	@$(CC) $(SANITIZE) -shared -o $@ $^ -lsqlite3 $(LIBS)

# The first stays mapped, since it writes its counts whenever it is unmapped; the second is for tests of loading.
build/coverage/cuckoo.so build/coverage_so/cuckoo.so: $(SRC:%.c=build/coverage_so/%.o) $(EXT:%.c=build/coverage_so/%.o)
	@mkdir -p $(@D)
	@$(CC) $(COVERAGE) -shared $(if $(filter build/coverage/%,$@),-Wl$(COMMA)-z$(COMMA)nodelete) -o $@ $^ $(LIBS)

build/plain/loading: build/plain/tests/faults/loading.o
	@$(CC) -o $@ $^ -lcmocka -lsqlite3

# The objects whose calls rooms.py reads.
OBJECTS  = $(SRC:%.c=build/plain/%.o) $(EXT:%.c=build/plain/%.o)
# What valgrind finds and the sanitizers do not: reads of bytes that were never written. A filter is such bytes. The
# model reaches all layouts, growth, the list, merges, shrinking and hostile blobs, the fuzz targets hostile SQL.
export VALGRIND = test_bucket model test_format test_open test_filter test_check fuzz
export PORTABLE = $(patsubst %,build/portable/test_%,hash format_vectors bucket arguments) build/portable/model

### Tests
## t: T=word: builds and runs the tests that have this word in their names; T=path: those of a file or a folder; SEED=n,
##       ASAN=1, GDB=1, LIMIT=seconds for a test (tests/t.sh)
t: need-test
	@T="$(T)" SEED="$(SEED)" ASAN="$(ASAN)" GDB="$(GDB)" LIMIT="$(LIMIT)" MAKE="$(MAKE)" sh tests/t.sh

## check: before a commit, some of everything, without sanitizers: models, C and Python tests, SQL scripts, README's examples
check: need-test
	$(BUILD) $(EXTENSION) $(MODULE) $(if $(wildcard build/filter.wasm),$(WASM)) $(OBJECTS) $(UNITS:%=build/plain/%) build/plain/model build/plain/fuzz build/plain/sim
	@sh tests/run.sh check

## test: in five minutes on two cores: everything, sanitizers included; of what takes longer a slice, which the commit chooses
test tests: deps-test
	$(BUILD) $(EXTENSION) $(MODULE) $(MODULE:build/%=build/asan/%) $(WASM) $(OBJECTS) static $(PORTABLE) build/asan/cuckoo.so build/plain/loading build/plain/sim \
	    $(addprefix build/asan/,$(UNITS) $(FAULTS) model fuzz sim) $(addprefix build/plain/,$(VALGRIND))
	@sh tests/run.sh

## rooms: which file uses which, against the order in tests/rooms.txt; sizes and counts of src and ext
rooms: need-test
	$(BUILD) $(OBJECTS)
	@$(PYTHON) tests/rooms.py build/plain --report

## mutants: breaks each rule marked in src in every way that mutants.py knows; some test must notice
mutants: need-test
	@$(PYTHON) tests/mutants/mutants.py

## valgrind: all unit tests under valgrind, ten minutes
valgrind: need-test
	$(BUILD) $(UNITS:%=build/plain/%)
	@sh tests/run.sh valgrind

## fuzz: libFuzzer (clang), three minutes for each target; FUZZ_SECONDS=n for another time
fuzz: need-test need-fuzz
	@CLANG="$(CLANG)" MAKE="$(MAKE)" sh tests/model/fuzz.sh

## model: random operations on filters of any shape, compared with an exact model, for SECONDS=60;
##       SEED=n repeats a run that failed
model: need-test build/plain/model
	@CUCKOO_TEST_SEED=$(or $(SEED),$(shell date +%s)) build/plain/model for $(or $(SECONDS),60)

## sim: random databases, statements, faults and crashes, compared with a twin without a filter, for SECONDS=60, or STEPS=n;
##       SEED=n repeats a run that failed; EACH=1: steps fail at each call that they make, EACH=n at every nth;
##       SIM_KNOWN=name asks for faults that are known; sim-holes: which faults put in by hand it finds (HOLES=pattern)
sim: need-test build/plain/sim
	@build/plain/sim $(or $(SEED),$(shell date +%s)) $(EACH:%=--each %) \
	    $(if $(SEED)$(SECONDS)$(STEPS),$(SECONDS:%=--seconds %) $(STEPS:%=--all %),--seconds 60)

sim-holes: need-test build/plain/sim
	@$(PYTHON) -B tests/sim/holes.py $(HOLES:%='%')

## fuzz-rows: damages rows of filter tables and uses these in every way, with sanitizers, for SECONDS=600
fuzz-rows: need-test build/asan/cuckoo.so
	@CUCKOO_DAMAGE_SECONDS=$(or $(SECONDS),600) sh tests/run.sh damage

## coverage: lines and branches of src and ext that unit tests, fault loops, SQL and Python reach together; in ten minutes
coverage: need-test
	@CC="$(CC)" sh tests/coverage.sh

## fixtures: before a release: blobs and databases as this version writes them, for the tests of all later ones
fixtures: need-test $(EXTENSION)
	@$(PYTHON) -B tests/python/fixtures/fixtures.py

.PHONY: fixtures t check test tests rooms mutants valgrind fuzz fuzz-rows model sim sim-holes coverage
