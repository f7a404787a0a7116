# Targets for Savant's sources. They need only Go and git; the race
# detector (make race) also needs a C compiler.

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS  := -s -w -X main.version=$(VERSION)
SOURCES   = $(shell find . -name '*.go' -not -path '*/node_modules/*')
CLIENTS  := test/clients
SUITE    := test/conformance
GATED    := test/gated

# All targets share one build: static, as it is released, and quick to link.
export CGO_ENABLED ?= 0
# No debug information for debuggers: without it, everything compiles in an eighth less time.
# Stack traces and profiles keep functions and lines.
export GOFLAGS := $(GOFLAGS) -trimpath -gcflags=all=-dwarf=false

# Compiling, and tests that start many processes, take a quarter less processor time with
# fewer garbage collections.
build test race browser fuzz ferret: export GOGC ?= 600

# Flags for go test, the time for each benchmark and for each fuzz target.
TESTFLAGS ?=
BENCHTIME ?= 1s
FUZZTIME  ?= 10s

.PHONY: help demo-fleet build test browser pictures hub race lint bench fuzz ask demo clients gated conformance think-test ferret install dist dist-check vsix platforms clean

build: ## bin/savant
	go build -ldflags '$(LDFLAGS)' -o bin/savant ./cmd/savant

# man and bash look into the share/ beside the bin/ of a program on PATH.
install: ## the program into the folder of go install; manual pages and completion beside it
	go install -ldflags '$(LDFLAGS)' ./cmd/savant
	@program="$$(go list -f '{{.Target}}' ./cmd/savant)" && folder="$$(dirname "$$program")" && \
		go run ./cmd/manual -version '$(VERSION)' "$$(dirname "$$folder")/share" && echo "installed $$program" && \
		if [ "$$(command -v savant)" != "$$program" ]; then echo "put its folder first on your PATH: export PATH=\"$$folder:\$$PATH\""; fi

OWNER ?= OWNER
dist: ## packages for all platforms in dist/: make dist VERSION=v1.2.3 OWNER=name
	@if command -v npm >/dev/null; then cd editors/vscode && npm ci --no-progress --silent; fi
	cd internal/dist && go run . -source ../.. -out ../../dist -owner '$(OWNER)' \
	  $(if $(filter command environment,$(firstword $(origin VERSION))),-version '$(VERSION)') $(if $(TARGETS),-targets '$(TARGETS)')

dist-check: ## a release of this platform, twice, and each package tried
	cd internal/dist && go test $(TESTFLAGS) ./...

vsix: ## dist/savant-editor.vsix, the extension of VS Code; needs Node 20 and npm
	cd editors/vscode && npm ci --no-progress
	cd internal/dist && go run . -source ../.. -vsix ../../dist/savant-editor.vsix \
	  $(if $(filter command environment,$(firstword $(origin VERSION))),-version '$(VERSION)')

# The package that takes longest begins first, so that no processor waits for it at the end.
LONGEST := ./test/program
test: ## all tests
	@echo 'compiling what changed since the last time, which takes minutes the first time; then testing, the longest first'
	go test $(TESTFLAGS) $(LONGEST) ./...

ferret: bin/ferret ## bin/ferret, a database server for tests; with it, make test tests the MongoDB store too

# The tests make it each time they start a server: while its sources are older, go is not asked.
bin/ferret: $(wildcard test/ferret/*)
	cd test/ferret && go build -tags ferretdb_no_postgresql -o ../../bin/ferret .

# axe-core, and the library of MCP Apps for hosts, are installed into a scratch folder, where there is npm.
HOST := @modelcontextprotocol/ext-apps@2.0.4 @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/core@2.4.0 @modelcontextprotocol/server@2.4.0 zod@4.6.7 esbuild@0.28.2
browser: ## the pages of the hub in a real browser; needs chromium, and npm for axe-core
	@scratch=$$(mktemp -d) && trap 'exit 130' INT TERM HUP && trap 'rm -rf "$$scratch"' EXIT && if command -v npm >/dev/null; then \
		npm install --no-progress --silent --prefix "$$scratch" axe-core@4.14.1 $(HOST) && export SAVANT_AXE="$$scratch/node_modules/axe-core/axe.min.js" && \
		printf 'export * from "@modelcontextprotocol/ext-apps/app-bridge"; export {Client} from "@modelcontextprotocol/client";' >"$$scratch/host.js" && \
		export SAVANT_APP_BRIDGE="$$scratch/bridge.js" && "$$scratch/node_modules/.bin/esbuild" --log-level=error --bundle --format=esm --outfile="$$SAVANT_APP_BRIDGE" "$$scratch/host.js"; fi && \
		export SAVANT_BROWSER_TESTS=1 && go test -vet=off -timeout 30m -count=1 -run '^TestThePage' $(TESTFLAGS) ./proof && \
		go test -vet=off -timeout 30m -count=1 -parallel 4 $(TESTFLAGS) ./test/browser

pictures: ## pictures of the pages of the hub, in bin/pictures; those of docs/ are made anew
	SAVANT_BROWSER_TESTS=1 SAVANT_PICTURES='$(CURDIR)/bin/pictures' go test -count=1 -run TestPictures ./test/browser
	@mkdir -p docs/pictures && for each in docs/pictures/*.png; do cp "bin/pictures/$$(basename "$$each")" "$$each"; done

# Only the packages that start goroutines, themselves or in tests: others have no races of
# their own. Those of modules of their own, and the pages, which need a browser, are left out.
# Not vetted: with the race detector each package would be vetted once more.
RACES = $(sort $(dir $(shell grep -rlE --include='*.go' --exclude-dir=node_modules --exclude-dir=browser --exclude-dir=ferret \
	--exclude-dir=dist '^[[:space:]]*go [a-zA-Z]|\.Go\>|httptest\.NewServer' .)))
race: ## tests in short with the race detector, where goroutines are started; needs a C compiler
	CGO_ENABLED=1 go test -race -short -vet=off -timeout 30m $(TESTFLAGS) $(LONGEST) $(RACES)

lint: ## formatting, vet and staticcheck
	@unformatted=$$(gofmt -l $(SOURCES)); test -z "$$unformatted" || { echo "gofmt -w $$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...

# Only the packages that have some: linking the tests of all takes a minute. Not vetted: make lint is.
bench: ## cost of steps, plans and starts, as ratios
	go test -vet=off -run '^$$' -bench . -benchtime $(BENCHTIME) $(TESTFLAGS) $(sort $(dir $(shell grep -rl --include='*_test.go' --exclude-dir=node_modules '^func Benchmark' .)))

platforms: ## type-checks the code for Windows and macOS; nothing is run there
	CI=true go test -count=1 -run '^TestOtherSystems$$' .

fuzz: ## each fuzz target for FUZZTIME
	.ci/fuzz $(FUZZTIME)

# Where make hub listens.
address ?= 127.0.0.1:9999

question ?= Where is the stdio loop and how does it end?
# The question goes through the environment, so that neither make nor the shell
# interprets it.
unexport question
ask: export SAVANT_QUESTION = $(value question)
ask: build ## the agent answers a question about this repository, offline: make ask question='…'
	@bin/savant run -- "$$SAVANT_QUESTION"

demo: build ## a whole run on this repository
	bin/savant demo

think-test: ## the cases of the bundled workflows, or of one: make think-test workflow=hello
	go run ./cmd/savant --path . workflows test $(workflow) --coverage --min 100

demo-fleet: ferret ## 20 agent runs and 20 guided runs by two servers and three workers, one of each killed on the way
	SAVANT_DEMO_FLEET=1 go test ./test/program -run '^TestFleet$$' -count=1 -v

hub: build ## the hub with a demo run in each state, in a scratch folder; Ctrl-C ends it
	@scratch=$$(mktemp -d) && trap 'exit 130' INT TERM HUP && \
	trap 'running=$$(cat $$scratch/demo/.savant/demo.pid 2>/dev/null); while kill $$running 2>/dev/null; do sleep 0.1; done; rm -rf $$scratch' EXIT && \
	export XDG_CONFIG_HOME=$$scratch/configuration PATH='$(CURDIR)/bin':$$PATH && .ci/demo-runs $$scratch/demo . && \
	savant hub --path $$scratch/demo --address '$(address)'

clients: build ## public MCP clients against bin/savant; needs Node 20 and npm
	cd $(CLIENTS) && npm ci --no-progress && SAVANT_BINARY='$(CURDIR)/bin/savant' node --test --test-reporter=tap

gated: build ## real clients, each with a model that tries to leave its run; needs npm and 2 GB
	cd $(GATED) && npm install --no-save --no-progress --no-audit --no-fund --loglevel=error && SAVANT_BINARY='$(CURDIR)/bin/savant' node --test --test-reporter=tap

conformance: build ## the official MCP conformance suite against bin/savant over HTTP; needs npm
	go build -o bin/fixtures ./$(SUITE)/testdata/fixtures
	cd $(SUITE) && npm ci --no-progress && SAVANT_BINARY='$(CURDIR)/bin/savant' SAVANT_FIXTURES='$(CURDIR)/bin/fixtures' node run.mjs

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

clean: ## removes what was built
	rm -rf bin dist editors/vscode/node_modules $(CLIENTS)/node_modules $(SUITE)/node_modules $(GATED)/node_modules
