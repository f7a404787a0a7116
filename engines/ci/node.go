package ci

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"

	"savant/internal/pattern"
)

// manifest is what of package.json says how tests are run.
type manifest struct {
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]string `json:"dependencies"`
	DevDependencies map[string]string `json:"devDependencies"`
	Workspaces      json.RawMessage   `json:"workspaces"`
}

// runner is a test runner of Node with its arguments, settings and parser for a report.
type nodeRunner struct {
	name    string
	starts  func() *regexp.Regexp // matches the last command of a script that starts it
	needs   string                // the package that writes the report, if the runner does not
	args    []string
	setting []string
}

var nodeRunners = []nodeRunner{
	{name: "node --test", starts: pattern.Lazy(`(?:^|[\s/])node\s(?:\S+\s+)*--test(?:\s|$)`),
		setting: []string{"env: {NODE_OPTIONS: --test-reporter=tap}", "parser: tap"}}, // an argument would stand behind the files
	{name: "jest", starts: starting("jest"), needs: "jest-junit", args: []string{"--reporters=default", "--reporters=jest-junit"},
		setting: []string{`env: {JEST_JUNIT_OUTPUT_DIR: .savant/ci, JEST_JUNIT_OUTPUT_NAME: jest.xml, JEST_JUNIT_CLASSNAME: "{filepath}", JEST_JUNIT_REPORT_TEST_SUITE_ERRORS: "true"}`,
			"parser: junit", "report: .savant/ci/jest.xml"}}, // a file that does not load has failed, too
	{name: "vitest", starts: starting("vitest"), args: []string{"--reporter=default", "--reporter=junit", "--outputFile.junit=.savant/ci/vitest.xml"},
		setting: []string{"parser: junit", "report: .savant/ci/vitest.xml"}},
	{name: "bun test", starts: starting("bun test"), args: []string{"--reporter=junit", "--reporter-outfile=.savant/bun.xml"},
		setting: []string{"parser: junit", "report: .savant/bun.xml"}},
	{name: "mocha", starts: starting("mocha"), args: []string{"--reporter=tap"}, setting: []string{"parser: tap"}},
}

func starting(name string) func() *regexp.Regexp {
	return pattern.Lazy(`(?:^|[\s/])` + name + `(?:\.m?js)?(?:\s|$)`)
}

var (
	// otherScript matches a script that only runs another one.
	otherScript = pattern.Lazy(`^(?:npm|pnpm|yarn|bun)(?: run)? ([\w:.-]+)$`)
	betweenRuns = pattern.Lazy(`&&|\|\||[;|&]`)
)

// maxScripts bounds how many scripts are followed from one to the next.
const maxScripts = 5

// programOf returns the program that runs a project's scripts, by its lock file.
func programOf(project fs.FS) string {
	for _, each := range [][2]string{{"pnpm-lock.yaml", "pnpm"}, {"pnpm-workspace.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if exists(project, each[0]) {
			return each[1]
		}
	}
	return "npm"
}

// withoutScript proposes the command of a project whose package.json has no test script: those
// of its workspaces, or bun's own runner.
func withoutScript(project fs.FS, program string, read manifest) proposed {
	made := proposed{kind: "Node (workspaces, " + program + ")", name: "tests-node", comment: "The test script of each workspace. " + uncounted}
	command := ""
	switch {
	case exists(project, "pnpm-workspace.yaml"):
		command = "pnpm, -r, --if-present, test"
	case program == "bun":
		made.kind, made.comment = "Bun (package.json)", "The results are read from what bun test writes."
		command = "bun, test, --reporter=junit, --reporter-outfile=.savant/bun.xml"
		made.lines = []string{"parser: junit", "report: .savant/bun.xml"}
	case len(read.Workspaces) == 0:
		return proposed{}
	case program == "yarn" && exists(project, ".yarnrc.yml"):
		command = "yarn, workspaces, foreach, -A, run, test"
	case program == "yarn":
		command = "yarn, workspaces, run, test"
	default:
		command = "npm, test, --workspaces, --if-present"
	}
	made.lines = append([]string{"command: [" + command + "]"}, append(made.lines, "timeout: 10m")...)
	return made
}

func recogniseNode(project fs.FS) proposed {
	text, ok := contentOf(project, "package.json")
	var read manifest
	if !ok || json.Unmarshal([]byte(text), &read) != nil {
		return proposed{}
	}
	program := programOf(project)
	name, script := "test", strings.TrimSpace(read.Scripts["test"])
	if script == "" || strings.Contains(script, "no test specified") { // npm init writes this
		return withoutScript(project, program, read)
	}
	for range maxScripts {
		match := otherScript().FindStringSubmatch(script)
		if match == nil || read.Scripts[match[1]] == "" {
			break
		}
		name, script = match[1], strings.TrimSpace(read.Scripts[match[1]])
	}
	command := name
	if name != "test" || program == "bun" { // bun test is bun's own runner
		command = "run, " + name
	}
	made := proposed{kind: "Node (package.json, " + program + ")", name: "tests-node",
		comment: "With a runner that writes TAP or JUnit, set parser: tap, or junit and report.",
		lines:   []string{"command: [" + program + ", " + command + "]", "timeout: 10m"}}
	commands := betweenRuns().Split(script, -1)
	for _, runner := range nodeRunners {
		if !runner.starts().MatchString(commands[len(commands)-1]) {
			continue
		}
		made.kind = "Node (package.json, " + program + ", " + runner.name + ")"
		if runner.needs != "" && read.Dependencies[runner.needs] == "" && read.DevDependencies[runner.needs] == "" {
			made.comment = "No test is counted: " + runner.needs + " would write the report. Install it, and run savant init again without this file."
			break
		}
		args := runner.args
		if program == "npm" && len(args) > 0 { // npm keeps arguments for itself
			args = append([]string{"--"}, args...)
		}
		made.comment = "The results are read from what " + runner.name + " writes."
		made.lines = append([]string{"command: [" + strings.Join(append([]string{program, command}, args...), ", ") + "]"}, append(runner.setting, "timeout: 10m")...)
		break
	}
	return made
}
