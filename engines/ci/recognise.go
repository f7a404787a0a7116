package ci

import (
	"fmt"
	"io/fs"
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

// Recognise proposes commands for the project in a folder: Go by go.mod, Node by the
// test script of package.json and the runner that it starts, Python by pytest or tox, Make by a target test. The
// first becomes `tests`. It returns an empty proposal for an unknown project. It reads
// only files at the top of the folder.
func Recognise(project fs.FS) Proposal {
	var proposal Proposal
	var text strings.Builder
	text.WriteString(header)
	for _, kind := range []func(fs.FS) proposed{recogniseGo, recogniseNode, recognisePython, recogniseMake} {
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
	return string(data), err == nil
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

func recognisePython(project fs.FS) proposed {
	if exists(project, "tox.ini") {
		return proposed{kind: "Python (tox.ini)", name: "tests-python", comment: "tox runs what tox.ini says.",
			lines: []string{"command: [tox]", "timeout: 30m"}}
	}
	manifest, hasManifest := contentOf(project, "pyproject.toml")
	by := ""
	switch {
	case strings.Contains(manifest, "[tool.tox"):
		return proposed{kind: "Python (pyproject.toml, tox)", name: "tests-python", comment: "tox runs what pyproject.toml says.",
			lines: []string{"command: [tox]", "timeout: 30m"}}
	case exists(project, "pytest.ini"):
		by = "pytest.ini"
	case exists(project, "conftest.py"):
		by = "conftest.py"
	case hasManifest && (strings.Contains(manifest, "pytest") || exists(project, "tests")):
		by = "pyproject.toml"
	default:
		return proposed{}
	}
	start := "python3, -m, pytest"
	switch {
	case exists(project, "uv.lock"):
		start = "uv, run, pytest"
	case exists(project, "poetry.lock"):
		start = "poetry, run, pytest"
	}
	return proposed{kind: "Python (" + by + ", pytest)", name: "tests-python", comment: "ci.run may add -k=EXPRESSION.", lines: []string{
		"command: [" + start + ", -q, --junitxml=.savant/ci/pytest.xml]",
		"parser: junit",
		"report: .savant/ci/pytest.xml",
		"timeout: 10m",
		`args: ['-k=[A-Za-z0-9_ ]{1,200}']`,
	}}
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
