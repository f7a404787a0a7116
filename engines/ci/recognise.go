package ci

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"savant/internal/pattern"
	"savant/internal/regular"
)

// Proposal is a proposed ci.yaml.
type Proposal struct {
	// Kinds are the recognised kinds of project, for a person: "Go (go.mod)".
	Kinds []string
	// Commands are the names of the commands, the first of them `tests`.
	Commands []string
	// YAML is the file.
	YAML []byte
}

// proposed is one proposed command; kind is what was recognised, or empty.
type proposed struct {
	kind, name, comment string
	lines               []string
}

const header = `# The commands that ci.run_tests (the one named tests) and ci.run may run, and
# nothing else. Each is started without a shell, in SAVANT_PATH or below it
# (dir), with a small environment; env adds to it, and "${NAME}" takes a value
# from Savant's own. Extra arguments of ci.run must match one of args wholly.
commands:
`

// Recognise proposes commands for the project in a folder, by the files at its top and tests
// just below it. The first command becomes `tests`. It returns an empty proposal for an unknown
// project.
func Recognise(project fs.FS) Proposal {
	commands := []proposed{recogniseOne(project, goKinds), recogniseNode(project), recognisePython(project)}
	for _, each := range otherKinds {
		commands = append(commands, recogniseOne(project, each))
	}
	return proposalOf(commands)
}

// Named proposes the command that a person named for the tests.
func Named(words []string) Proposal {
	list, _ := json.Marshal(words) // texts have a form
	return proposalOf([]proposed{{kind: strings.Join(words, " "), comment: uncounted, lines: append([]string{"command: " + string(list)}, slow...)}})
}

func proposalOf(commands []proposed) Proposal {
	var proposal Proposal
	var text strings.Builder
	text.WriteString(header)
	for _, command := range commands {
		if command.kind == "" {
			continue
		}
		if len(proposal.Commands) == 0 {
			command.name = testsCommand
		}
		proposal.Kinds = append(proposal.Kinds, command.kind)
		proposal.Commands = append(proposal.Commands, command.name)
		command.write(&text)
	}
	if len(proposal.Commands) > 0 {
		proposal.YAML = []byte(text.String())
	}
	return proposal
}

func (p proposed) write(to *strings.Builder) {
	fmt.Fprintf(to, "  # %s\n  %s:\n", p.comment, p.name)
	for _, line := range p.lines {
		fmt.Fprintf(to, "    %s\n", line)
	}
}

// maxRecognised bounds how much of a project's file is read.
const maxRecognised = 1 << 20

func contentOf(project fs.FS, name string) (string, bool) {
	data, err := regular.ReadFS(project, name, maxRecognised)
	return strings.TrimPrefix(string(data), "\ufeff"), err == nil
}

func exists(project fs.FS, name string) bool {
	_, err := fs.Stat(project, name)
	return err == nil
}

// kind is a kind of project with one command for its tests.
type kind struct {
	label   string
	files   string                // a pattern of the file that tells it
	sign    func() *regexp.Regexp // matches the file; nil matches any
	command string
	comment string
	setting []string
}

// goKinds and each list of otherKinds are alternatives: the first that is there counts.
var (
	goKinds = []kind{
		{"Go", "go.work", nil, "go, test, -json, work", goArgs, goSetting},
		{"Go", "go.mod", nil, "go, test, -json, ./...", goArgs, goSetting},
	}
	goArgs    = "ci.run may add -run=REGEXP, and -count=1 to pass by the cache."
	goSetting = []string{"parser: go-test-json", "timeout: 10m", `args: ['-run=[^\s]{1,200}', '-count=1', '-short', '-race']`}

	otherKinds = [][]kind{
		{{"Rust", "Cargo.toml", nil, "cargo, test, --workspace", "Cargo builds first.", slow}},
		{{"Deno", "deno.json*", pattern.Lazy(`"test"\s*:`), "deno, task, test, --junit-path=.savant/ci/deno.xml", "The task test.", denoSetting},
			{"Deno", "deno.json*", nil, "deno, test, --junit-path=.savant/ci/deno.xml", "deno test may need permissions, such as --allow-read.", denoSetting}},
		{{"Gradle", "*.gradle*", pattern.Lazy(`android`), "gradle, test", uncounted, slow}, {"Gradle", "*.gradle*", nil, "gradle, --no-build-cache, --continue, cleanTest, test", written, gradleSetting}},
		{{"Maven", "pom.xml", nil, "mvn, -B, test", written, mavenSetting}},
		{{"sbt", "build.sbt", nil, "sbt, test", uncounted, slow}},
		{{"Ant", "build.xml", pattern.Lazy(`<target[^>]*\bname=["']test["']`), "ant, test", uncounted, slow}},
		{{"Bazel", "MODULE.bazel", nil, "bazel, test, //...", uncounted, slow}, {"Bazel", "WORKSPACE*", nil, "bazel, test, //...", uncounted, slow}},
		{{"CMake", "CMakeLists.txt", pattern.Lazy(`(?i)enable_testing|include\s*\(\s*CTest`), "ctest, --build-and-test, ., build, --build-generator, Unix Makefiles, --build-noclean, --test-command, ctest, --no-tests=error, --output-on-failure", uncounted, slow}},
		{{"Meson", "meson.build", nil, "meson, test, -C, build", "It needs a folder that meson setup build made. No test is counted.", slow}},
		{{".NET", "*.sln*", nil, "dotnet, test", uncounted, slow}, {".NET", "*.csproj", nil, "dotnet, test", uncounted, slow}},
		{{"Haskell", "stack.yaml", nil, "stack, test", uncounted, slow}, {"Haskell", "*.cabal", nil, "cabal, test, all", uncounted, slow}},
		{{"OCaml", "dune-project", nil, "dune, test", uncounted, slow}},
		{{"Clojure", "project.clj", nil, "lein, test", uncounted, slow}, {"Clojure", "deps.edn", pattern.Lazy(`:test\s*\{[^;]*?:exec-fn`), "clojure, -X:test", uncounted, slow},
			{"Clojure", "deps.edn", pattern.Lazy(`:test\s*\{[^;]*?:main-opts`), "clojure, -M:test", uncounted, slow}},
		{{"Erlang", "rebar.config", nil, "rebar3, eunit", uncounted, slow}},
		{{"Elixir", "mix.exs", nil, "mix, test", uncounted, slow}},
		{{"Swift", "Package.swift", nil, "swift, test", uncounted, slow}},
		{{"PHP", "composer.json", pattern.Lazy(`"test"\s*:`), "composer, test", uncounted, slow}, {"PHP", "phpunit.xml*", nil, "vendor/bin/phpunit, --log-junit, .savant/ci/phpunit.xml", written, phpSetting},
			{"PHP", "composer.json", pattern.Lazy(`"pestphp/pest"`), "vendor/bin/pest, --log-junit, .savant/ci/phpunit.xml", written, phpSetting}},
		{{"Ruby", ".rspec", nil, "bundle, exec, rspec", uncounted, slow}, {"Ruby", "spec/spec_helper.rb", nil, "bundle, exec, rspec", uncounted, slow},
			{"Rails", "bin/rails", nil, "bin/rails, test", uncounted, slow}, {"Ruby", "Rakefile", pattern.Lazy(`TestTask|(?m)^\s*task\W+test\b`), "bundle, exec, rake, test", uncounted, slow}},
		{{"Flutter", "pubspec.yaml", pattern.Lazy(`(?m)^\s+sdk:\s*flutter\b`), "flutter, test", uncounted, slow}, {"Dart", "pubspec.yaml", nil, "dart, test", uncounted, slow}},
		{{"Perl", "t/*.t", nil, "prove, -lr, t", uncounted, slow}},
		{{"Julia", "test/runtests.jl", nil, "julia, --project, -e, using Pkg; Pkg.test()", uncounted, slow}},
		{{"R", "tests/testthat.R", nil, "Rscript, -e, testthat::test_local()", uncounted, slow}},
		{{"Nim", "*.nimble", nil, "nimble, test", uncounted, slow}},
		{{"Crystal", "shard.yml", nil, "crystal, spec", uncounted, slow}},
		{{"Gleam", "gleam.toml", nil, "gleam, test", uncounted, slow}},
		{{"Bats", "test*/*.bats", nil, "bats, --tap, -r, .", tapComment, tapSetting}},
		{{"Lua", ".busted", nil, "busted, --output=TAP", tapComment, tapSetting}, {"Lua", "spec/*_spec.lua", nil, "busted, --output=TAP", tapComment, tapSetting}},
		{{"Zig", "build.zig", pattern.Lazy(`step\("test"`), "zig, build, test", uncounted, slow}},
		{{"just", "[jJ]ustfile", pattern.Lazy(`(?m)^@?test\b[^\n=]*:(?:[^=]|$)`), "just, test", uncounted, slow}},
		{{"Task", "[tT]askfile.y*ml", pattern.Lazy(`(?m)^  test:`), "task, test", uncounted, slow}},
		{{"Make", makefiles, target("test"), "make, test", uncounted, slow}, {"Make", makefiles, target("check"), "make, check", uncounted, slow}},
	}
	slow        = []string{"timeout: 30m"}
	denoSetting = []string{"parser: junit", "report: .savant/ci/deno.xml", "timeout: 10m"}
	phpSetting  = []string{"parser: junit", "report: .savant/ci/phpunit.xml", "timeout: 30m"}
	tapSetting  = []string{"parser: tap", "timeout: 30m"}
	// gradleSetting and mavenSetting read the reports of modules, too.
	gradleSetting = []string{"parser: junit", `report: "**/build/test-results/*/TEST-*.xml"`, "timeout: 30m"}
	mavenSetting  = []string{"parser: junit", `report: "**/target/surefire-reports/TEST-*.xml"`, "timeout: 30m"}
)

const (
	uncounted  = "Passed is an exit status of 0: no test is counted."
	written    = "The results are read from the reports that it writes."
	tapComment = "The results are read from its output."
	makefiles  = "*akefile" // GNUmakefile, Makefile and makefile
)

// target returns what matches a Makefile with a rule for a target.
func target(name string) func() *regexp.Regexp {
	return pattern.Lazy(`(?m)^(?:[^\s:#=][^:#=\n]*\s)?` + name + `(?:\s[^:#=\n]*)?:(?:[^=]|$)`)
}

// recogniseOne proposes the command of the first kind that is there.
func recogniseOne(project fs.FS, kinds []kind) proposed {
	for _, each := range kinds {
		names, _ := regular.Glob(project, each.files) // no pattern is malformed
		for _, name := range names {
			if text, ok := contentOf(project, name); ok && (each.sign == nil || each.sign().MatchString(text)) {
				if program, _, _ := strings.Cut(each.command, ","); exists(project, program+"w") { // as gradlew and mvnw
					each.command = "./" + strings.Replace(each.command, program, program+"w", 1)
				}
				return each.proposed(name)
			}
		}
	}
	return proposed{}
}

func (k kind) proposed(file string) proposed {
	return proposed{kind: k.label + " (" + file + ")", name: "tests-" + strings.ToLower(strings.Trim(k.label, ".")), comment: k.comment,
		lines: append([]string{"command: [" + k.command + "]"}, k.setting...)}
}

var (
	// pythonFiles match the files that make a project of Python, those first that say what runs its tests.
	pythonFiles = []string{"tox.ini", "pytest.ini", "conftest.py", "pyproject.toml", "setup.cfg", "setup.py", "manage.py", "requirements*.txt", "test_*.py", "*_test.py", "test*/*test*.py"}
	pythonSign  = pattern.Lazy(`(?m)pytest|conftest|\A\S*test\S*\.py$|\Asetup\.py$|DJANGO_SETTINGS_MODULE|^\[(?:project|build-system|metadata|tool\.poetry)\b|` + toxSign)
	byTox       = pattern.Lazy(`(?m)` + toxSign)
	byPytest    = pattern.Lazy(`pytest|conftest`)
	byUnittest  = pattern.Lazy(`(?m)^(?:import|from) unittest\b`)
)

const toxSign = `^\[(?:tox|testenv|tool\.tox|tox:tox)\b`

func recognisePython(project fs.FS) proposed {
	first, folder, all := "", ".", ""
	for _, form := range pythonFiles {
		names, _ := regular.Glob(project, form) // no form is malformed
		for _, name := range names[:min(len(names), 20)] {
			if text, ok := contentOf(project, name); ok && pythonSign().MatchString(name+"\n"+text) {
				first, folder, all = cmp.Or(first, name), path.Dir(name), all+name+"\n"+text+"\n"
			}
		}
	}
	if first == "" {
		return proposed{}
	}
	started := ""
	switch {
	case exists(project, "uv.lock"):
		started = "uv, run, "
	case exists(project, "poetry.lock"):
		started = "poetry, run, "
	}
	made := func(by, comment string, lines ...string) proposed {
		return proposed{kind: "Python (" + first + ", " + by + ")", name: "tests-python", comment: comment, lines: lines}
	}
	switch {
	case byTox().MatchString(all):
		return made("tox", "tox runs what its settings say.", "command: ["+started+"tox]", "timeout: 30m")
	case !byPytest().MatchString(all) && strings.Contains(all, "DJANGO_SETTINGS_MODULE") && exists(project, "manage.py"):
		return made("Django", uncounted, "command: ["+started+"python3, manage.py, test, --no-input]", "timeout: 30m")
	case !byPytest().MatchString(all) && byUnittest().MatchString(all):
		command := started + "python3, -m, unittest"
		if folder != "." && !exists(project, folder+"/__init__.py") { // unittest looks into packages alone
			command += ", discover, -s, " + folder
		}
		return made("unittest", "No test is counted: unittest writes no report; pytest would.", "command: ["+command+"]", "timeout: 10m")
	case started == "":
		started = "python3, -m, "
	}
	return made("pytest", "ci.run may add -k=EXPRESSION.", "command: ["+started+"pytest, -q, --junitxml=.savant/ci/pytest.xml]", "parser: junit",
		"report: .savant/ci/pytest.xml", "timeout: 10m", `args: ['-k=[A-Za-z0-9_ ]{1,200}']`)
}
