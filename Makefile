# The two commands: `make demo` shows what fascia does, `make test` proves it. Both install what is missing first.
JOBS ?= $(shell nproc)
CTEST = ctest --output-on-failure -j $(JOBS)

.PHONY: all demo test format lint soak bench fuzz clean

all:
	@tools/setup build
	@cmake --preset release -DFASCIA_TESTS=OFF >build.log 2>&1 || { cat build.log; exit 1; }
	@cmake --build build -j $(JOBS)
	@rm -f build.log

demo: all
	@build/fascia demo -o demo

test:
	@tools/setup test
	@for p in asan clang release; do cmake --preset $$p -DFASCIA_TESTS=ON >/dev/null || exit 1; done
	@cmake --build --preset asan -j $(JOBS) --target unit_tests -- --quiet
	@cmake --build --preset clang -j $(JOBS) --target hash_tests -- --quiet
	@cmake --build --preset release -j $(JOBS) -- --quiet
	cd build-asan && FASCIA_SHORT=1 LSAN_OPTIONS=suppressions=../tools/lsan.supp:print_suppressions=0 $(CTEST) -L unit
	cd build-clang && $(CTEST) -L hash
	cd build && $(CTEST)
	@tools/table_trust build build-asan >build/trust.md

format:
	@tools/check_format --fix

lint:
	@tools/setup test
	@cmake --preset release -DFASCIA_TESTS=ON >/dev/null
	@tools/lint build

# about an hour; parts of it, and the form of hours: tools/soak --help
soak:
	@tools/setup test
	JOBS=$(JOBS) tools/soak

bench: all
	build/fascia bench blend --json

# a minute for each parser: make fuzz SECONDS=10 for less
SECONDS ?= 60
fuzz:
	@tools/setup test
	tools/fuzz $(SECONDS)

clean:
	rm -rf build build-* demo
