# SPDX-License-Identifier: MIT
# What measures; the Makefile includes it. Programs are linked with the objects that ship.

BENCHES = core growth exact maps size_table bench_sql bench_table

### Figures
## bench: the figures of this machine in a minute: lookups, adds, deletes, bytes, a build, a join, an insertion
bench: $(EXTENSION) build/bench/core
	@$(PYTHON) tests/bench/brief.py

## bench-full: all figures of tests/bench/RESULTS.md, ten runs, in an hour or two, to build/bench/report.html; it may be
##       stopped and called again; bench-quick: each of its programs once, in a small form, in half a minute
bench-full bench-quick: need-test $(EXTENSION) $(BENCHES:%=build/bench/%)
	@CC="$(CC)" CFLAGS="$(CFLAGS)" $(PYTHON) tests/bench/run.py $(@:bench-%=%)

$(BENCHES:%=build/bench/%) build/bench/year: build/bench/%: build/pic/tests/bench/%.o \
    $(patsubst %,build/pic/tests/bench/%.o,bench database) $(SRC:%.c=build/pic/%.o)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lsqlite3 $(LIBS)

## bench-check: before a commit, in 20 seconds: no hot path takes 10 % more instructions than committed;
##       bench-accept: the figures of now are right, commit them (tests/bench/instructions.txt);
##       bench-one-file: the same paths in build/dist/cuckoo.c, compared with the ordinary build
bench-check bench-accept bench-one-file: need-test
	@CC="$(CC)" CFLAGS="$(CFLAGS)" MAKE="$(MAKE)" sh tests/bench/check.sh $(@:bench-%=%)

INSTRUCTIONS = $(patsubst %,tests/bench/%.c,instructions instructions_sql bench database)
build/bench/instructions: $(INSTRUCTIONS) $(SRC:%.c=build/pic/%.o)
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) $(CFLAGS) -DNDEBUG -o $@ $^ -lsqlite3 -lm
build/bench/instructions_one_file: $(INSTRUCTIONS) build/libcuckoofilter.a
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) -O2 -DNDEBUG -o $@ $^ -lsqlite3 $(LIBS)
build/bench/one_file/cuckoo.so: build/dist/cuckoo.c
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) -O2 $(PIC) $(SHARED) @build/options -o $@ $< $(LIBS)

.PHONY: bench bench-full bench-quick bench-check bench-accept bench-one-file
