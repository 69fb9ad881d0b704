# The entry point. Each command installs what it needs (scripts/bootstrap) and leaves the work to CMake (scripts/build).
BUILD := build
PREFIX := /usr/local
DESTDIR :=

VALIDATIONS := heap_model_test heap_exhaustive_test heap_bound_test heap_setup_test heap_test heap_realloc_test

SECONDS := 1200
# How much the campaigns of make check do. Of the planted faults every PLANTED_EVERY-th is tried.
FUNCTIONS := 100000
OPERATIONS := 1000000
PLANTED_EVERY := 1
PLANTED_FROM := 1

.DEFAULT_GOAL := help
.PHONY: help bench simulate test check long-tests test-on-6.1 failing-calls validate soundness soak real-programs calibrate results build install site \
        coverage format clean
MAKEFLAGS += --no-print-directory

help:
	@echo "Flatline: deterministic memory for C and C++"
	@echo
	@echo "  make bench                 measure the pool beside every allocator on this machine; about five minutes"
	@echo "  make simulate              policies of dispatch in simulated workloads: tables and a page; some 30 minutes"
	@echo "  make test                  build everything with warnings as errors and run the tests; within 15 minutes"
	@echo "  make check                 what takes longer: the next four, about an hour; FUNCTIONS and OPERATIONS make them shorter"
	@echo "  make long-tests            planted faults, model searches, fuzzing, emulated processors; some 20 minutes"
	@echo "  make test-on-6.1           the malloc's tests on Debian 12's own kernel, in an emulated machine; some five minutes"
	@echo "  make failing-calls         the malloc while its calls of the system fail at random: a million operations a policy"
	@echo "  make soundness             100,000 random functions, each proved and stepped through; some 20 minutes"
	@echo "  make validate              the heap beside its model for 100 million operations, its bound for as long; minutes"
	@echo "  make soak SECONDS=1200     threads that come, go, free each other's blocks and submit tasks, for so long each"
	@echo "  make real-programs         real programs with the malloc, and audited, each with its own tests; an hour"
	@echo "  make build                 the library and the program, in $(BUILD)/"
	@echo "  make install PREFIX=DIR    install them (default $(PREFIX); DESTDIR is honoured)"
	@echo "  make site                  the manual as a web site, in $(BUILD)/site/"
	@echo "  make calibrate             test the verdicts against a pool made slower on purpose; about 40 minutes"
	@echo "  make results               measure the reference results anew, and write the manual's tables; some five hours"
	@echo "  make coverage              line coverage of the allocators"
	@echo "  make format                format the sources with clang-format"
	@echo "  make clean                 remove $(BUILD)/"
	@echo
	@echo "Each command first installs the packages it lacks, on Debian, as root or by sudo: see scripts/bootstrap."

bench: build
	$(BUILD)/bin/flatline bench --quick --html $(BUILD)/bench.html --json $(BUILD)/bench.json
	@echo
	@echo "The report, for a browser:  $(abspath $(BUILD))/bench.html"
	@echo "The figures, as JSON:       $(abspath $(BUILD))/bench.json"

simulate:
	@scripts/bootstrap bench
	@scripts/build $(BUILD) -DFLATLINE_PEERS=OFF --target flatline-program
	$(BUILD)/bin/flatline simulate --all --json $(BUILD)/simulate.json --html $(BUILD)/simulate.html

build:
	@scripts/bootstrap bench
	@scripts/build $(BUILD) -DFLATLINE_PEERS=ON

# The labels of those tests that `make test` leaves to `make check`: see tests/CMakeLists.txt.
LONG_TESTS := ^(planted|model|fuzz|long|aarch64|peers)$$

# One more at a time than there are processors, since some tests wait. Of planted faults one fewer: threads that must meet
# in time to show one do so less often where they are kept from running.
TESTS := ctest --test-dir $(BUILD) --output-on-failure
RUN_TESTS := $(TESTS) --parallel $$(($$(nproc) + 1))

# No test here needs the mallocs that no package has, which take a minute to fetch and build.
test:
	@scripts/bootstrap test
	@scripts/build $(BUILD) -DFLATLINE_TESTS=ON -DFLATLINE_WERROR=ON -DFLATLINE_PEERS=OFF
	$(RUN_TESTS) --label-exclude '$(LONG_TESTS)'

long-tests:
	@scripts/bootstrap test
	@scripts/build $(BUILD) -DFLATLINE_TESTS=ON -DFLATLINE_WERROR=ON -DFLATLINE_PEERS=ON
	$(RUN_TESTS) --label-regex '$(LONG_TESTS)' --label-exclude '^planted$$'
	$(TESTS) --parallel $$(nproc) --label-regex '^planted$$' --tests-information $(PLANTED_FROM),,$(PLANTED_EVERY)

# For ctest the emulated machine is a separate configuration. There khugepaged, which can make untouched memory resident,
# rests for 1 ms only, so that a test that it disturbs fails soon.
KHUGEPAGED := /sys/kernel/mm/transparent_hugepage/khugepaged
GUEST_TESTS := ctest --test-dir $(BUILD) -C guest -L guest --no-tests=error --output-on-failure --parallel 2

test-on-6.1:
	@scripts/bootstrap guest
	@scripts/build $(BUILD) -DFLATLINE_TESTS=ON -DFLATLINE_WERROR=ON --target guest-tests
	tests/guest/guest_test.py $(BUILD)
	scripts/guest --kernel 6.1 --set $(KHUGEPAGED)/scan_sleep_millisecs=1 --set $(KHUGEPAGED)/alloc_sleep_millisecs=1 \
		--env FLATLINE_TEST_SCALE=0.05 --seconds 900 "$(GUEST_TESTS)"

check: long-tests test-on-6.1 failing-calls soundness

failing-calls:
	@scripts/bootstrap test
	@scripts/build $(BUILD) -DFLATLINE_TESTS=ON --target flatline-malloc failing_round failing-calls
	@for policy in latency balanced memory; do tests/malloc/failing_campaign.py --policy $$policy --jobs $$(nproc) --operations $(OPERATIONS) \
		--round $(BUILD)/tests/failing_round --failing $(BUILD)/tests/libfailing-calls.so \
		--malloc $(BUILD)/lib/libflatline-malloc.so || exit 1; done

validate:
	@scripts/bootstrap test
	@scripts/build $(BUILD) -DFLATLINE_TESTS=ON --target $(VALIDATIONS)
	@for test in $(VALIDATIONS); do FLATLINE_TEST_SCALE=50 $(BUILD)/tests/$$test || exit 1; done

soundness:
	@scripts/bootstrap test
	@scripts/build $(BUILD) -DFLATLINE_TESTS=ON --target prove_counts
	tests/prove/soundness/libraries.py --counts $(BUILD)/tests/prove_counts
	tests/prove/soundness/campaign.py --counts $(BUILD)/tests/prove_counts --steps tests/prove/soundness/steps.cpp \
	    --work $(BUILD)/soundness --functions $(FUNCTIONS)

soak:
	@scripts/bootstrap test
	@scripts/build $(BUILD) -DFLATLINE_TESTS=ON --target percore_soak malloc_soak engine_soak
	$(BUILD)/tests/percore_soak $(SECONDS)
	$(BUILD)/tests/malloc_soak $(SECONDS)
	$(BUILD)/tests/engine_soak $(SECONDS)

real-programs:
	@scripts/bootstrap real-programs
	@scripts/build $(BUILD) --target flatline-malloc flatline-audit flatline-program
	tests/malloc/real_programs.py $(BUILD)/lib/libflatline-malloc.so $(BUILD)/real-programs
	tests/malloc/real_programs.py $(BUILD)/lib/libflatline-audit.so $(BUILD)/real-programs/audited --audit $(BUILD)/bin/flatline

calibrate:
	@scripts/bootstrap test
	@scripts/build $(BUILD) -DFLATLINE_TESTS=ON
	scripts/calibrate $(BUILD)

results: build
	@scripts/bootstrap programs
	scripts/results measure $(BUILD) $(BUILD)/results

install: build
	cmake --install $(BUILD) --prefix "$(abspath $(PREFIX))"

site:
	@scripts/bootstrap site
	@mkdocs build --strict --quiet --site-dir $(abspath $(BUILD))/site
	@echo "The manual, for a browser:  $(abspath $(BUILD))/site/index.html"

coverage:
	@scripts/bootstrap test
	@scripts/coverage

format:
	@scripts/bootstrap format
	@scripts/format

clean:
	rm -rf $(BUILD)
