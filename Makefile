# Cuckoo filters for SQLite.
#
#   make            build/cuckoo.so
#   make demo       a tour on real data
#   make test       everything, sanitizers included
#   make help       the other targets
#
# Variables you may set: CC, CFLAGS (optimisation), PYTHON, SQLITE3, ASSUME_DEPS=1 (do not look for packages)

CC       ?= cc
CFLAGS   ?= -O2
PYTHON   ?= /usr/bin/python3
SQLITE3  ?= /usr/bin/sqlite3
WARNINGS  = -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes -Wpedantic -Werror
ALL       = -std=c11 $(WARNINGS) -fvisibility=hidden

SRC  = $(sort $(wildcard src/*.c))
EXT  = $(sort $(wildcard ext/*.c))
HEAD = $(wildcard src/*.h ext/*.h)

all: build/cuckoo.so

build/cuckoo.so: $(SRC:%.c=build/pic/%.o) $(EXT:%.c=build/pic/%.o)
	$(CC) -shared -o $@ $^ -lm

build/pic/%.o: %.c $(HEAD)
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) -fPIC -c -o $@ $<
