# Every way into the project. `make help` lists them.
.PHONY: help run scripts test test-all check bench contract docs deb

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Build the server and start it on http://127.0.0.1:3400, with its data in ./data
	@echo "Building the server. The first time takes five to ten minutes on two cores, less on more."
	@cargo build --bin latchkey
	@./target/debug/latchkey serve

scripts: ## Fetch the browser scripts (npm), so that the server serves them itself instead of naming a public CDN
	@scripts/browser-scripts.sh target/share/latchkey/browser-scripts
	@echo "The next start of the server serves them."

test: ## Install what the tests need and run those that must pass before a change lands (some 20 minutes)
	@scripts/test.sh

test-all: ## Run all tests: those of make test, whole browser suites, applications, schemathesis (some 45 minutes)
	@scripts/test.sh all

# What looks at lints. CI does so while it compiles the tests.
LINT = cargo clippy --workspace --all-targets -- -D warnings

check: ## Format, lints as errors, dependency policy
	cargo fmt --all -- --check
	$(LINT)
	scripts/policy.py

bench: ## Measure the server against bare baselines, in one run
	@scripts/bench.sh

contract: ## Write the OpenAPI documents to contract/
	@mkdir -p contract
	cargo run --quiet --bin latchkey -- openapi > contract/backend.json
	cargo run --quiet --bin latchkey -- openapi --frontend > contract/frontend.json

docs: ## Write the pages of docs/ that are made from the code
	@cargo build --quiet --bin latchkey
	cargo run --quiet --bin latchkey -- docs settings > docs/SETTINGS.md
	cargo run --quiet --bin latchkey -- docs frameworks > docs/FRAMEWORKS.md
	@UPDATE_OPERATIONS=1 cargo test --quiet -p latchkey-app --test it unbuilt::lists_of
	@UPDATE_OPERATIONS=1 cargo test --quiet -p latchkey-app --test it unbuilt::operations_page

deb: ## Make the Debian package, with its systemd unit, in target/deb
	@cargo build --release --bin latchkey
	@packaging/deb.sh target/release/latchkey target/deb
