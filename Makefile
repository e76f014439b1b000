.PHONY: help setup demo quick test check

help: ## show this
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

setup: ## install everything into .venv and the cache of this user
	@scripts/setup

demo: setup ## run the pipeline of home gateways on an emulated network
	@.venv/bin/streambed run examples/gateways/demo.yaml

quick: ## run the tests that need neither Java nor namespaces, in under a minute
	@scripts/test --fast

test: ## set up, check style and run every test
	@scripts/setup --for-tests
	@scripts/check
	@scripts/test

check: ## check style, types, imports and tidiness
	@scripts/check
