# The everyday commands. `make help` lists them; CMakePresets.json has the other builds (debug, asan, tsan).
#   PREFIX=DIR     where install puts things            JOBS=N   processes to build and test with
#   PACKAGES=no    never touch the system's packages; libraries are then yours to provide

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
PACKAGES ?= yes
STEPS ?= 2000
BATCH ?= 128
ROUNDS ?= 3
THREADS ?= 2
PROCESSES ?= 2
DTYPE_POLICY ?= float32
ROWS ?=
HOURS ?=
CASES ?= mlp_tiny mlp_mnist mnist_cnn flowers180 flowers299 resnet20 resnet18 resnet50 resnet50_infer \
  transformer_small transformer_base transformer_base_d0

RELEASE := build/release
TENON := $(RELEASE)/bin/tenon
# Kept by hand: sdk/example, to be read on few pages, and the ABI with its history, which is read line by line.
SOURCES = git ls-files -- '*.c' '*.cc' '*.h' ':!sdk/example/*' ':!sdk/include/tenon/abi/*' ':!sdk/abi-history/*'

.PHONY: help quickstart build check check-long check-trust check-sanitizers check-mutants check-interop check-opencl check-compiler installed install bench bench-peers bench-processes format tidy deb kit clean packages configure

help:
	@echo 'make quickstart          train a convolutional network on Fashion-MNIST, from nothing'
	@echo 'make build               build everything: $(TENON), $(RELEASE)/lib/tenon/*.so'
	@echo 'make check               build, then run the tests, of nine long ones a part'
	@echo 'make check-long          all of what make check does a part of: faults of a backend, OpenCL, examples, the SDK'
	@echo 'make check-trust         show what is promised of safety, row by row (ROWS="1 4" SECONDS=1200 a row, or HOURS=N for all)'
	@echo 'make check-sanitizers    build with sanitizers, in build/asan and build/tsan, and run all tests (SANITIZER=address|thread TESTS=RE HOURS=6)'
	@echo 'make check-interop       exchange files with TensorFlow, Keras, PyTorch, ask the server; have TensorBoard read summaries'
	@echo 'make check-opencl        the whole conformance suite on opencl-gpu.so (8 minutes; at first far longer)'
	@echo 'make check-compiler      the whole conformance suite on the example that compiles graphs (10 minutes)'
	@echo 'make check-mutants       try the conformance suite on a sample of generated faults (FULL=yes SECONDS=N SEED=N SITES=RE)'
	@echo 'make install PREFIX=DIR  install the runner, backends, library, headers, CMake packages'
	@echo 'make bench [CASES=..]    time training steps and the input pipeline'
	@echo 'make bench-peers         time other frameworks on the same cases (CASES=.. ROUNDS=3 THREADS=2 PEERS=.. DTYPE_POLICY=..)'
	@echo 'make bench-processes     time PROCESSES=2 of one thread beside DDP of PyTorch, their sums beside those of MPI and gloo (CASES=.. ROUNDS=3)'
	@echo 'make format              rewrite the sources with clang-format'
	@echo 'make tidy                read the sources with clang-tidy'
	@echo 'make deb                 a Debian package in $(RELEASE)'
	@echo 'make kit                 an archive in build/kit that runs wherever it is unpacked, without packages'
	@echo 'make clean               remove $(RELEASE)'

packages:
ifneq ($(PACKAGES),no)
	@share/install_packages.sh build
endif

configure: packages
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) --log-level=WARNING

build: configure
	@cmake --build $(RELEASE) --parallel $(JOBS)

check: build
ifneq ($(PACKAGES),no)
	@share/install_packages.sh check
endif
	@ctest --test-dir $(RELEASE) --output-on-failure --no-tests=error --parallel $(JOBS)

# Tests NAME_whole (tests/CMakeLists.txt).
check-long: build
ifneq ($(PACKAGES),no)
	@share/install_packages.sh check
endif
	@ctest --test-dir $(RELEASE) --build-config long --label-regex long --output-on-failure --no-tests=error --parallel $(JOBS)

# share/doc/trust.md says what the rows promise. Both cores are a row's: one after another.
check-trust: build
ifneq ($(PACKAGES),no)
	@share/install_packages.sh check
endif
	@tests/trust/run --build $(RELEASE) --seconds $(or $(SECONDS),1200) $(if $(HOURS),--hours $(HOURS)) $(ROWS)

# SANITIZER=address or thread: one of them; TESTS: those that match; TARGETS: what these need, instead of all.
check-sanitizers: packages
ifneq ($(PACKAGES),no)
	@share/install_packages.sh check
endif
	@tests/trust/sanitizers --seconds $$(( $(or $(HOURS),6) * 3600 )) $(if $(value TESTS),--tests '$(value TESTS)') \
	  $(if $(TARGETS),--targets '$(TARGETS)') $(SANITIZER)

# The tests are left out: only what trains is built.
quickstart: configure
ifneq ($(PACKAGES),no)
	@share/install_packages.sh data
endif
	@cmake --build $(RELEASE) --parallel $(JOBS) --target apps/all plugins/all
	@share/quickstart.sh $(TENON) build/quickstart $(STEPS) $(BATCH)

# Against TensorFlow and TensorBoard themselves, which virtual environments under build/ get.
check-interop: build
ifneq ($(PACKAGES),no)
	@share/install_packages.sh interop
endif
	@share/interop/run.sh $(RELEASE)
	@share/interop/tensorboard.sh $(RELEASE)/bin/summary_tool

check-opencl: build
ifneq ($(PACKAGES),no)
	@share/install_packages.sh check
endif
	@$(RELEASE)/bin/tenon-conform $(RELEASE)/lib/tenon/opencl-gpu.so --level 3

check-compiler: build
	@$(RELEASE)/bin/tenon-conform $(RELEASE)/lib/tenon-examples/example-compiler.so --level 3

check-mutants: build
ifneq ($(PACKAGES),no)
	@share/install_packages.sh check
endif
	@cmake --build $(RELEASE) --parallel $(JOBS) --target mutant_runner runtime_test
	@python3 tests/conformance/mutants/generated/check.py . $(RELEASE) --jobs $(JOBS) $(if $(FULL),--full) \
	  $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(if $(SITES),--sites '$(SITES)')

# What is installed, without the tests.
installed: configure
	@cmake --build $(RELEASE) --parallel $(JOBS) --target core/all sdk/all plugins/all apps/tenon/all

install: installed
	@cmake --install $(RELEASE)

bench: build
	@cmake $(RELEASE) -DTENON_BUILD_BENCH=ON --log-level=WARNING >/dev/null
	@cmake --build $(RELEASE) --parallel $(JOBS) --target bench/all
	@for case in $(CASES); do $(TENON) bench step $$case || exit 1; done
	@$(TENON) bench input

# Beside other frameworks, which a virtual environment under build/ gets.
bench-peers: build
ifneq ($(PACKAGES),no)
	@share/install_packages.sh peers
endif
	@bench/peers/setup.sh build/peers/venv
	@python3 bench/peers/compare.py --tenon $(TENON) --python build/peers/venv/bin/python --out build/peers/results \
	  --cases $(CASES) --rounds $(ROUNDS) --threads $(THREADS) --dtype_policy $(DTYPE_POLICY) $(if $(PEERS),--peers $(PEERS))

# Several processes on one machine.
bench-processes: CASES = resnet20 transformer_small
bench-processes: THREADS = 1
bench-processes: build
ifneq ($(PACKAGES),no)
	@share/install_packages.sh peers
endif
	@bench/peers/setup.sh build/peers/venv
	@bench/peers/all_reduce.py --tenon $(TENON) --python build/peers/venv/bin/python --out build/peers/results \
	  --processes $(PROCESSES) --rounds $(ROUNDS)
	@python3 bench/peers/compare.py --tenon $(TENON) --python build/peers/venv/bin/python --out build/peers/results \
	  --processes $(PROCESSES) --cases $(CASES) --rounds $(ROUNDS) --threads $(THREADS) --dtype_policy $(DTYPE_POLICY) \
	  $(if $(PEERS),--peers $(PEERS))

format:
ifneq ($(PACKAGES),no)
	@share/install_packages.sh format
endif
	@$(SOURCES) | xargs clang-format -i

# By the debug build, as clang cannot read what GCC has precompiled; the targets are headers that are generated, for the two
# ways in which core is compiled.
tidy: packages
ifneq ($(PACKAGES),no)
	@share/install_packages.sh tidy
endif
	@cmake --preset debug --log-level=WARNING
	@cmake --build build/debug --target tenon_proto fuzz_proto
	@run-clang-tidy -quiet -p build/debug -j $(JOBS) '^(?!.*\.(pb\.cc|S)$$).*/(core|sdk|plugins|apps)/'

# One archive that runs wherever it is unpacked, and needs no package but a GPU's driver: share/kit/README.
kit: installed
ifneq ($(PACKAGES),no)
	@share/install_packages.sh data
endif
	@share/kit/make_kit.sh cmake $(RELEASE) build/kit

deb: PREFIX = /usr
deb: installed
ifneq ($(PACKAGES),no)
	@share/install_packages.sh deb
endif
	@cd $(RELEASE) && cpack -G DEB

clean:
	rm -rf $(RELEASE)
