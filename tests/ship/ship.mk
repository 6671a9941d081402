# SPDX-License-Identifier: MIT
# What takes more than a compiler: other SQLites, languages, platforms, browsers. Part of the Makefile.

### What ships, tried
## test-versions: the SQL and Python tests on other SQLites; VERSIONS="folder ...", each with sqlite3.c
##       and sqlite3.h, or shells; else those of npm packages; VERSION_TESTS="file ..." for some tests
test-versions: need-test $(EXTENSION)
	@VERSION_TESTS="$(VERSION_TESTS)" sh tests/ship/versions.sh $(VERSIONS)

## test-clients: the program of each client in tests/ship/clients that is installed, and the README's table of them; then
##       test-packages, which has Deno, Bun, bundlers and workerd
test-clients: need-test $(EXTENSION)
	@CC="$(CC)" sh tests/ship/clients.sh
	@$(MAKE) --no-print-directory test-packages

## test-packages: installs what make dist makes in empty folders, by pip and npm, and runs README's example
test-packages: need-test
	$(BUILD) dist
	@CC="$(CC)" sh tests/ship/packages.sh

## test-browser: the filters without SQLite in headless Chromium: a page that builds, downloads and reopens a million
##       domains; and the page to look at a filter, by keyboard, on a phone, in the dark; deps-browser installs it
test-browser: need-browser
	$(BUILD) $(EXTENSION) $(WASM)
	@$(PYTHON) -B tests/ship/browser.py
	@$(PYTHON) -B tests/ship/page.py || [ $$? = 77 ]

## test-platforms: unit tests, SQL, bytes and databases on i386, arm64, armhf, s390x, musl, Windows, WebAssembly, where
##       their tools are; deps-platforms: installs these; PLATFORMS="name ..." for some; SQLITE_SOURCE=folder
test-platforms: need-demo build/dist/cuckoo.c
	@sh tests/ship/platforms.sh $(PLATFORMS)

# With ThreadSanitizer: tests/ship/threads.sh. SQLITE_LIBRARY is the SQLite that is linked.
SQLITE_LIBRARY = -lsqlite3
build/tsan/library build/tsan/connections: build/tsan/%: build/tsan/tests/ship/threads/%.o \
    $(SRC:%.c=build/tsan/%.o) $(EXT:%.c=build/tsan/%.o)
	@$(CC) $(KIND_tsan) -o $@ $^ -lcmocka $(SQLITE_LIBRARY) $(LIBS) -lpthread

.PHONY: test-versions test-clients test-packages test-browser test-platforms
