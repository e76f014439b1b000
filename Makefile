.PHONY: help setup demo test check

help: ## show this
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

setup: ## install everything into .venv and the cache of this user
	@scripts/setup

demo: setup ## run the word count on an emulated network
	@.venv/bin/streambed run examples/word_count/experiment.yaml

test: ## set up, check style and run every test
	@scripts/setup --for-tests
	@scripts/check
	@scripts/test

check: ## check style, types, imports and tidiness
	@scripts/check
