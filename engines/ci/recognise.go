package ci

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
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

// Recognise proposes commands for the project in a folder: Go by go.mod, Node by the test
// script of package.json and the runner that it starts, Python by its settings and tests, Rust
// by Cargo.toml, Make by a target test. The first becomes `tests`. It returns an empty proposal
// for an unknown project. It reads only files at the top of the folder and tests just below it.
func Recognise(project fs.FS) Proposal {
	var proposal Proposal
	var text strings.Builder
	text.WriteString(header)
	for _, kind := range []func(fs.FS) proposed{recogniseGo, recogniseNode, recognisePython, recogniseRust, recogniseMake} {
		command := kind(project)
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

func recogniseGo(project fs.FS) proposed {
	if !exists(project, "go.mod") {
		return proposed{}
	}
	return proposed{kind: "Go (go.mod)", name: "tests-go", comment: "ci.run may add -run=REGEXP, and -count=1 to pass by the cache.", lines: []string{
		"command: [go, test, -json, ./...]",
		"parser: go-test-json",
		"timeout: 10m",
		`args: ['-run=[^\s]{1,200}', '-count=1', '-short', '-race']`,
	}}
}

func recogniseRust(project fs.FS) proposed {
	if !exists(project, "Cargo.toml") {
		return proposed{}
	}
	return proposed{kind: "Rust (Cargo.toml)", name: "tests-rust", comment: "Cargo builds first.", lines: []string{"command: [cargo, test]", "timeout: 30m"}}
}

var (
	// pythonFiles match the files that make a project of Python, those first that say what runs its tests.
	pythonFiles = []string{"tox.ini", "pytest.ini", "conftest.py", "pyproject.toml", "setup.cfg", "setup.py", "requirements*.txt", "test_*.py", "*_test.py", "test*/*test*.py"}
	pythonSign  = pattern.Lazy(`(?m)pytest|conftest|\A\S*test\S*\.py$|\Asetup\.py$|^\[(?:project|build-system|metadata|tool\.poetry)\b|` + toxSign)
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

var makeTarget = pattern.Lazy(`(?m)^test\s*:([^=]|$)`)

func recogniseMake(project fs.FS) proposed {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // the order in which make looks
		text, ok := contentOf(project, name)
		if !ok {
			continue
		}
		if !makeTarget().MatchString(text) {
			return proposed{}
		}
		return proposed{kind: "Make (" + name + ")", name: "make-test", comment: "The target test of " + name + ".",
			lines: []string{"command: [make, test]", "timeout: 30m"}}
	}
	return proposed{}
}
