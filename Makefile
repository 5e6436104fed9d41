# What `make help` shows are the comments behind two hashes.

GOLANGCI = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 30s
TORTURE  ?= Torture|Killed|Many

.DEFAULT_GOAL := help
.PHONY: help run check test torture race bench lint fuzz tidy build

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## run snip on files in ./snip-data
	go run ./cmd/snip

check: ## the fast look before a commit: format, vet, short tests
	scripts/check-format
	go vet ./...
	go test -short -timeout 2m ./...

test: ## everything that must pass; installs what the tests need
	scripts/setup-test
	scripts/test

torture: ## every engine through every fault, for 20 minutes: docs/proof.md
	SNIP_TORTURE=20 go test ./test -run '$(TORTURE)' -v -count=1 -timeout 60m

race: ## every test of the packages below test/ with the race detector
	go test -race -count=1 -timeout 30m $$(go list ./... | grep -v '^snip/test$$')

bench: ## everything that has a bar beside its reference, into bench/RESULTS.md
	scripts/setup-bench
	cd bench && go run . -results RESULTS.md all

lint: ## golangci-lint, with .golangci.yml
	go run $(GOLANGCI) run

fuzz: ## every fuzz target for FUZZTIME=30s each
	scripts/fuzz $(FUZZTIME)

tidy: ## go.mod, go.sum and the format of the code
	go mod tidy
	go run $(GOLANGCI) fmt

build: ## a static binary, bin/snip
	CGO_ENABLED=0 go build -trimpath -buildvcs=auto -ldflags '-s -w' -o bin/snip ./cmd/snip
