# SPDX-License-Identifier: MIT
# What users get besides the extension: one file, libraries, packages, WebAssembly; and make install. Part of the
# Makefile.

PREFIX       ?= /usr/local
LIBDIR       ?= $(PREFIX)/lib
INCLUDEDIR   ?= $(PREFIX)/include
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
DOCDIR       ?= $(PREFIX)/share/doc/cuckoofilter
MANDIR       ?= $(PREFIX)/share/man
# SQLite has no folder of its own for extensions. They are no libraries to link with, so they do not stand among these.
EXTENSIONDIR ?= $(LIBDIR)/sqlite3
INSTALL      ?= install
# What project.json says; nothing while that is to be filled in.
PROJECT = ext/packages/project.json
project = $(shell sed -n 's/^ *"$(1)": "\([^<].*\)",*$$/\1/p' $(PROJECT))
PROJECT_MAINTAINER = $(or $(call project,author),The maintainers of cuckoo) <$(or $(call project,email),cuckoo@example.org)>
PROJECT_URL = $(or $(call project,homepage),https://example.org/cuckoo)

### To ship it
## amalgamation: build/dist/cuckoo.c and cuckoo_filter.h: all of it in one file, for any build system
amalgamation: build/dist/cuckoo.c
build/dist/cuckoo.c: $(SRC) $(EXT) $(HEADERS) $(wildcard ext/amalgamate.*) LICENSE tests/rooms.txt build/options
	@sh ext/amalgamate.sh

## static: build/libcuckoofilter.a, the C library; build/libcuckoo_sqlite.a, the extension for programs that link it
static: build/libcuckoofilter.a build/libcuckoo_sqlite.a build/cuckoofilter.pc build/cuckoo_sqlite.pc

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

export PLACES := $(PREFIX) $(LIBDIR) $(INCLUDEDIR) $(EXTENSIONDIR) $(DOCDIR) $(PROJECT_URL) $(VERSION) $(SUFFIX)
build/places: always ; $(call keep,PLACES)
build/%.pc: ext/%.pc.in build/places build/libraries
	$(filled)
build/cuckoo.7: ext/packages/man/cuckoo.7 build/places build/libraries
	$(filled)
filled = @sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(subst $(PREFIX)/,$${prefix}/,$(LIBDIR))|' \
    -e 's|@INCLUDEDIR@|$(subst $(PREFIX)/,$${prefix}/,$(INCLUDEDIR))|' -e 's|@EXTENSIONDIR@|$(EXTENSIONDIR)|' \
    -e 's|@DOCDIR@|$(DOCDIR)|' -e 's|@URL@|$(PROJECT_URL)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@SUFFIX@|$(SUFFIX)|' \
    -e "s|@LIBRARIES@|$$(cat build/libraries)|" $< > $@
build/sql/%.sql: sql/%.sql build/places
	@mkdir -p $(@D)
	@sed 's|^\.load build/|.load $(EXTENSIONDIR)/|' $< > $@

# What goes where. The manual page of the command comes with the command: the Python package.
SQLDIR   = $(DOCDIR)/sql
MAN7DIR  = $(MANDIR)/man7
INTO     = EXTENSIONDIR LIBDIR INCLUDEDIR PKGCONFIGDIR MAN7DIR DOCDIR SQLDIR
FILES_EXTENSIONDIR = $(EXTENSION)
FILES_LIBDIR       = build/libcuckoofilter.a build/libcuckoo_sqlite.a
FILES_INCLUDEDIR   = build/dist/cuckoo_filter.h
FILES_PKGCONFIGDIR = build/cuckoofilter.pc build/cuckoo_sqlite.pc
FILES_MAN7DIR      = build/cuckoo.7
FILES_DOCDIR       = build/dist/LICENSE ext/REFERENCE.md ext/COMPATIBILITY.md ext/CHANGES.md
FILES_SQLDIR       = $(patsubst %,build/%,$(wildcard sql/*.sql))

## install: extension, C libraries (make static), pkg-config files, manual page and documents below PREFIX. Debian's folder
##       for libraries is not the default: LIBDIR=/usr/lib/x86_64-linux-gnu. uninstall: takes all of it away
install: all static build/cuckoo.7 $(FILES_SQLDIR)
	$(foreach into,$(INTO),$(INSTALL) -d "$(DESTDIR)$($(into))" && \
	    $(INSTALL) -m $(if $(filter EXTENSIONDIR,$(into)),755,644) $(FILES_$(into)) "$(DESTDIR)$($(into))" &&) :
	@echo 'Load the extension with: .load $(EXTENSIONDIR)/cuckoo'

uninstall:
	rm -f $(foreach into,$(INTO),$(patsubst %,"$(DESTDIR)$($(into))/%",$(notdir $(FILES_$(into)))))
	rmdir "$(DESTDIR)$(SQLDIR)" "$(DESTDIR)$(DOCDIR)" 2> /dev/null || :

# The C library as WebAssembly, where clang can make it: what the npm package has for programs without SQLite. There
# is no C library for it: libc.h stands for its headers. Small, because it travels, but not at any price: with -Oz it has
# an eighth less and takes twice as long. wasm-opt is of binaryen. The stack never comes near address 0.
WASM = $(if $(and $(shell command -v clang),$(shell command -v wasm-ld)),build/filter.wasm)
export WASM_BY := $(shell for tool in clang wasm-ld wasm-opt; do command -v $$tool || :; done)
build/wasm_tools: always ; $(call keep,WASM_BY)
WASM_FEATURES = bulk-memory nontrapping-fptoint sign-ext
build/filter.wasm: build/dist/cuckoo.c $(wildcard ext/packages/filter/*.[ch]) build/wasm_tools
	@rm -rf build/wasm
	@mkdir -p build/wasm
	@for name in assert math stdlib string; do cp ext/packages/filter/libc.h build/wasm/$$name.h; done
	@clang --target=wasm32 -ffreestanding -std=c11 -Os -mllvm -inline-threshold=-5 $(WASM_FEATURES:%=-m%) \
	    -Wall -Wextra -DXXH_NO_INLINE_HINTS=1 -isystem build/wasm -Ibuild/dist -fvisibility=hidden \
	    -c -o build/wasm/filter.o ext/packages/filter/exports.c
	@wasm-ld --no-entry --export=__heap_base --stack-first -z stack-size=65536 --strip-all \
	    --compress-relocations -o $@ build/wasm/filter.o
	@! command -v wasm-opt > /dev/null || wasm-opt -Os --converge --low-memory-unused --zero-filled-memory \
	    $(patsubst %,--enable-%,$(subst nontrapping-fptoint,nontrapping-float-to-int,$(WASM_FEATURES))) -o $@ $@

# The Python module of sqlite_cuckoo.Filter. It needs no header of Python (abi.h), and is for every CPython from 3.8 on.
MODULE = $(if $(filter so,$(SUFFIX)),build/_filter.abi3.so)
MODULE_FILES = $(wildcard ext/packages/python/*.[ch] ext/packages/filter/*.[ch])
MODULE_OPTIONS = -std=c11 -Wall -Wextra -fvisibility=hidden -DCUCKOO_PYTHON -Ibuild/dist -Iext/packages/filter $(PIC) -shared
build/_filter.abi3.so: MODULE_BY = $(CFLAGS) -DNDEBUG $(LINKED)
build/asan/_filter.abi3.so: MODULE_BY = $(SANITIZE) -DCUCKOO_SMALL
build/_filter.abi3.so build/asan/_filter.abi3.so: build/dist/cuckoo.c $(MODULE_FILES) build/linker
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(MODULE_BY) $(MODULE_OPTIONS) $(LDFLAGS) -o $@ ext/packages/python/module.c $(LIBS)

## dist: build/dist/: a Python wheel, its sources, an npm package, archives, sqlpkg.json, checksums (ext/packages/dist.py);
##       also for platforms that make test-platforms has built; OTHERS="file ..." for files of your own
OTHERS ?= $(wildcard $(patsubst %,build/platforms/%/cuckoo.*,i386 arm64 armhf s390x musl windows))
dist: need-dist
	$(BUILD) all static $(WASM) $(MODULE)
	@$(PYTHON) -B ext/packages/dist.py --version $(VERSION) \
	    --extension $(EXTENSION) $(OTHERS) \
	    --static build/libcuckoofilter.a build/libcuckoo_sqlite.a $(WASM:%=--wasm %) \
	    --sqlite $$(echo '#include <sqlite3ext.h>' | $(CC) $(CPPFLAGS) @build/options -M -x c - | \
	        tr -s ' \\' '\n' | grep '/sqlite3\(ext\)*\.h$$')

## deb: build/deb/: packages for Debian and their source package (ext/packages/debian); deps-deb installs what that needs
deb: need-deb build/dist/cuckoo.c
	@VERSION=$(VERSION) URL="$(PROJECT_URL)" MAINTAINER="$(PROJECT_MAINTAINER)" sh ext/packages/debian.sh

.PHONY: amalgamation static install uninstall dist deb
