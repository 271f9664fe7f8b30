# make demo | test | fuzz | build: each first installs what it needs.
PRESET ?= release
BUILD  := build/$(PRESET)
JOBS   ?= $(shell nproc)

.PHONY: all build demo test fuzz check reference packages deps configure format clean

all: build

packages:
	@tools/install-packages
deps: packages
	@tools/get-libtorch
configure: deps
	@cmake --preset $(PRESET) > $(PRESET)-configure.log 2>&1 || { cat $(PRESET)-configure.log; rm -f $(PRESET)-configure.log; exit 1; }
	@rm -f $(PRESET)-configure.log

build: configure
	cmake --build $(BUILD) -j $(JOBS) --target quench quench_cli

demo: configure
	@cmake --build $(BUILD) -j $(JOBS) --target quench quench_cli
	@examples/demo/run $(BUILD)

test: configure
	@tools/install-packages --browser || echo 'the test of the HTML report will be skipped'
	tools/check
	cmake --build $(BUILD) -j $(JOBS)
	tools/check-includes --compile $(BUILD)
	ctest --test-dir $(BUILD) --output-on-failure

# A short run of every fuzzer, the same every time; bench/fuzz --seconds N takes longer ones.
fuzz: deps
	@bench/fuzz --runs 2000 --work build/fuzz/short

reference: build
	$(BUILD)/quench list --markdown > docs/reference.md

check:
	tools/check

format:
	git ls-files '*.cpp' '*.h' '*.cu' | xargs clang-format-19 -i

clean:
	rm -rf build
