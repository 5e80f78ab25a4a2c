# Every recipe is plain lines that also work when typed by hand.
# .venv holds the built wheel, never the source tree: what is tested is what gets installed.
# Needs Python >= 3.10 with venv, and a Rust toolchain with a C compiler: tools/prerequisites.py says
# what is missing. All else is installed here: by `make demo` 210 MB into .venv and 300 MB into target,
# by `make test` 650 MB more into .venv, and as root fio, nbdkit and chromium by apt, 350 MB.

BIN := .venv/bin
# One more than the smallest machine has cores: some tests wait for a scheduler, a browser, a kill.
PYTEST := $(BIN)/pytest -n 3 --dist loadfile
# Directories are listed beside the files: they change when a file is deleted.
SOURCES := $(shell find crates python pyproject.toml Cargo.toml Cargo.lock README.md LICENSE THIRD-PARTY.txt SBOM.cdx.json \
	-not -name '*.pyc' -not -name __pycache__ -not -name proptest-regressions 2>/dev/null)

PREFIX ?= /usr/local

export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH
# Cargo would take the jobs of this make for its own, and cannot reach them.
unexport MAKEFLAGS MFLAGS

.PHONY: help demo test rust-test python-test quick weights test-long system check rust-lint python-lint audit fmt
.PHONY: system-nvme raw-library generate record record-check docs figures bench slopes roof performance
.PHONY: release fuzz clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

demo: .venv/installed ## install, then run the main job
	$(BIN)/opennandlab benchmark --workload W2 --config tlc_standard

test: rust-test python-test ## the tests, Python's against the installed wheel

rust-test: ## those of the Rust code
	cargo test --locked --all-features

python-test: .venv/installed .venv/dev system ## those of the installed wheel
	$(PYTEST) -m 'not long'

quick: ## the tests nearest to what was edited, on the sources as they are, in a minute
	@test -e .venv/dev || make .venv/dev
	$(BIN)/python tools/quick.py

weights: ## record what each test takes, for `make quick`; as long as all of them
	@test -e .venv/dev || make .venv/dev
	$(BIN)/python tools/quick.py --weigh

test-long: .venv/installed .venv/dev system ## what `make test` leaves out: some 30 minutes; before a version
	$(PYTEST) -m long
	$(BIN)/python tools/nvme_guest.py
	CARGO_PROFILE_TEST_OPT_LEVEL=3 cargo test --locked --all-features -- --ignored
	$(BIN)/python tools/slopes.py --check

system: ## install fio, an NBD server and a browser for the tests that need them
	python3 tools/system.py

system-nvme: .venv/installed ## a real Linux uses drives served over NVMe, in QEMU; one by ONLY=smoke
	$(BIN)/python tools/nvme_guest.py $(ONLY)

check: rust-lint python-lint audit record-check test ## what CI runs: formats, lints, types, tidy, tests

rust-lint: ## format and lints of the Rust code
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --all-features -- -D warnings

python-lint: .venv/installed .venv/dev ## format, lints and types of the Python code, tidy, generated files
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	$(BIN)/mypy --strict python/opennandlab tools
	$(BIN)/python tools/tidy.py
	$(BIN)/python tools/generate.py --check

audit: .venv/installed ## known faults, licences and sources of what we build on; licence texts in the wheel
	$(BIN)/python tools/audit.py

fmt: .venv/dev ## lay out all code
	cargo fmt --all
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

generate: .venv/installed ## rewrite docs/reference/ from the installed package
	$(BIN)/python tools/generate.py

docs: .venv/installed .venv/dev ## build the site into docs/_build/html: offline, searchable
	$(BIN)/python -m sphinx -qW --keep-going -b html -c docs . docs/_build/html

record: .venv/installed ## make examples/results/ anew, in 5 minutes; a part by ONLY='pts/*'
	$(BIN)/python tools/record.py --only '$(or $(ONLY),*)'

record-check: .venv/installed ## run a sample of examples/results/ again and compare digests
	$(BIN)/python tools/record.py --check --sample 6

figures: .venv/installed .venv/dev ## draw the figures of the docs anew; some minutes
	$(BIN)/python tools/draw.py
	$(BIN)/python tools/screens.py
	$(BIN)/python tools/notebooks.py

raw-library: ## the C library of raw chips and its header, into PREFIX
	cargo build --release --locked -p opennandlab-raw
	install -d $(PREFIX)/lib $(PREFIX)/include
	install -m 755 $${CARGO_TARGET_DIR:-target}/release/libopennandlab_raw.so $(PREFIX)/lib
	install -m 644 crates/raw/include/opennandlab_raw.h $(PREFIX)/include

bench: ## rates of the simulator and of the codes on this machine
	cargo bench --locked -p opennandlab-sim -p opennandlab-ecc -p opennandlab-nvme

slopes: ## instructions that a command costs, by valgrind: the same on a busy machine
	python3 tools/slopes.py

roof: .venv/installed ## untimed writes and what bare memory allows here, on one core and two; 4 minutes, 1 GB
	$(BIN)/python benches/roof.py

# Of a released wheel: PYTHON=, that of its environment. AGAINST= is that of another build, MQSIM= a
# program of benches/peers.md, ONLY= words of the commands to run.
performance: .venv/installed ## write docs/performance.md from what is measured here; half an hour
	$(or $(PYTHON),$(BIN)/python) tools/performance.py $(if $(ONLY),--only $(ONLY))

release: .venv/installed ## build wheel and source archive into dist/release, and check both
	$(BIN)/python tools/release.py

fuzz: .venv/installed .venv/dev ## hostile inputs through every verb; property tests with 50 times as many cases
	$(BIN)/python tests/hostile/fuzz.py --count 7500 --seed 1
	PROPTEST_CASES=12800 CARGO_PROFILE_TEST_OPT_LEVEL=3 cargo test --locked --all-features

clean: ## remove everything that was built or installed here
	rm -rf .venv dist target

# A file is as old as the start of its recipe, so that an edit made during the build counts as newer.
.venv/installed: $(SOURCES) | $(BIN)/maturin
	touch .venv/started && rm -f dist/*.whl
	$(BIN)/maturin build --profile demo --locked --interpreter $(BIN)/python --out dist
	$(BIN)/pip install --quiet --force-reinstall --no-deps dist/*.whl
	$(BIN)/pip install --quiet "$$(echo dist/*.whl)[all]"
	mv .venv/started $@

.venv/dev: pyproject.toml | .venv/installed
	$(BIN)/pip install --quiet "$$(echo dist/*.whl)[dev]"
	touch $@

# The range is the one of pyproject.toml, [build-system].
$(BIN)/maturin:
	@python3 tools/prerequisites.py
	python3 -m venv .venv
	$(BIN)/pip install --quiet 'maturin>=1.12,<2'
