package planner_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/engines/repo"
	"savant/reasoning"
)

// page is a page of documents that a project has in three versions.
const page = "# Operations\n\n## Backends\n\nThe following storage backends can be chosen:\n\n- `memory`: nothing survives a restart\n- `file`: one file for each queue\n" +
	"- `redis`: a Redis server\n\n## Backups\n\nCopy the folder of jobs. A backup of a running server may be torn.\n"

// depot is a project in Go.
var depot = fstest.MapFS{
	"README.md":          {Data: []byte("# Depot\n\nDepot is a job queue.\n\n## Features\n\nretries with backoff\n\n## License\n\nMIT\n")},
	"docs/operations.md": {Data: []byte(page)},
	"docs/states.md": {Data: []byte("# States\n\nThese are the stages that a message walks through:\n\n| stage | meaning |\n| --- | --- |\n| waiting | nobody took it |\n| buried | it failed |\n\n" +
		"A worker is started as follows:\n\n```sh\ndepot work --all\n```\n\nThe following colours are printed\n1. red\n2. green\n\nNothing else is.\n")},
	"docs/v1/operations.md": {Data: []byte(page)},
	"docs/v2/operations.md": {Data: []byte(page)},
	"config/config.go": {Data: []byte("// Package config reads the settings.\npackage config\n\nimport \"os\"\n\n// Load reads the environment.\nfunc Load() (c Config) {\n" +
		"\t// where the server listens\n\tc.Addr = os.Getenv(\"DEPOT_ADDR\")\n\t// how long a shutdown waits for running jobs\n\tc.Drain = os.Getenv(\"DEPOT_DRAIN\")\n\treturn c\n}\n")},
	"queue/queue.go": {Data: []byte("// Package queue has the jobs and their order.\npackage queue\n\nimport \"errors\"\n\n// ErrFull is returned by Push if there is no room.\nvar ErrFull = errors.New(\"full\")\n\n" +
		"// maxAttempts is how often a job is tried.\nconst maxAttempts = 5\n\n// Queue is a priority queue of jobs.\ntype Queue struct{ jobs []int }\n\n// Push adds a job.\nfunc (q *Queue) Push(job int) error { return ErrFull }\n")},
	"queue/backoff.go":       {Data: []byte("package queue\n\n// Delay returns the pause before attempt n: it doubles.\nfunc Delay(n int) int { return 1 << n }\n")},
	"queue/pause_test.go":    {Data: []byte("package queue\n\nimport \"testing\"\n\nfunc TestItDoubles(t *testing.T) {\n\tif Delay(1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n")},
	"server/server.go":       {Data: []byte("package server\n\n// authorized compares the bearer token of a request.\nfunc authorized(header string) bool { return header == \"\" }\n")},
	"server/server_test.go":  {Data: []byte("package server\n\nimport \"testing\"\n\nfunc TestWrongTokenIsRefused(t *testing.T) {\n\theader := \"Bearer a\"\n\tif header == \"\" {\n\t\tt.Fatal()\n\t}\n\tif authorized(header) {\n\t\tt.Fatal(\"it may\")\n\t}\n}\n")},
	"internal/clock/fake.go": {Data: []byte("// Package clock has the time, and a fake one.\npackage clock\n\n// Fake is a clock that stands still.\ntype Fake struct{}\n")},
}

// parlor is a project for Node.
var parlor = fstest.MapFS{
	"README.md":       {Data: []byte("# parlor\n\n## Configuration\n\n* `PORT`: where to listen\n* `ALLOWED_ORIGINS`: which sites may connect\n* `PARLOR_HISTORY`: how many messages a room remembers\n")},
	"src/settings.js": {Data: []byte("module.exports = {\n  history: process.env.PARLOR_HISTORY,\n  color: !process.env.NOCOLOR\n}\n")},
	"src/limiter.js":  {Data: []byte("/** Allows a number of events. */\nclass RateLimiter {\n  allow () { return true }\n}\n\nmodule.exports = { RateLimiter }\n")},
	"src/room.js":     {Data: []byte("const escapeHtml = text => text.replace('<', '&lt;')\n\nmodule.exports = { escapeHtml }\n")},
	"src/origin.js":   {Data: []byte("// originGuard refuses requests from other sites.\nexports.originGuard = origins => (req, res, next) => {\n  const origin = req.headers.origin\n  next()\n}\n")},
	"src/app.js": {Data: []byte("app.route = function route (path) {\n  return path\n};\n\n/**\n * Register the given template engine.\n *\n" + strings.Repeat(" * More of it.\n", 12) +
		" */\n\napp.engine = function engine (ext, fn) {\n  return ext\n};\n\n/**\n * Finds one.\n */\nView.lookup = function lookup (name) {\n  return name\n};\n")},
	"src/env.js": {Data: []byte("var mode = process.env.PARLOR_MODE || 'quiet'\n")},
	"src/hub.js": {Data: []byte("const { RateLimiter } = require('./limiter')\n\nfunction createHub (server) {\n  const limiter = new RateLimiter(10)\n  return limiter\n}\n\nfunction roomFor (name) { return name }\n")},
	"test/limits.test.js": {Data: []byte("const test = require('node:test')\nconst { RateLimiter } = require('../src/limiter')\nconst { escapeHtml } = require('../src/room')\n\n" +
		"test('the eleventh is refused', () => {\n  const limiter = new RateLimiter(10)\n  limiter.allow()\n})\n\ntest('angle brackets are harmless', () => {\n  escapeHtml('<b>')\n})\n")},
}

// harbor is a project in other languages.
var harbor = fstest.MapFS{
	"CHANGELOG.md":  {Data: []byte("# Changes\n\n## Supported flags\n\n* flags of Panama are supported\n")},
	"docs/flags.md": {Data: []byte("# Flags\n\nThese flags are supported:\n\n* `red`\n* `blue`\n\n## Lanes\n\n* `--fast-lane <n>`: boats of n knots do not wait for a pilot\n* `--slow-lane <n>`: a boat of n knots does\n")},
	"docs/pauses.md": {Data: []byte("# Settings\n\n- **Default**: `100ms`\n- **Description**: the pause between boats\n\n## Waiting\n\nThe pause between two boats is 100 milliseconds.\n\n" +
		"* `--brokers <list>`: a list of names and addresses, separated by commas, of those who may order a boat for somebody else, also by radio, " +
		"and who are asked before one is turned away, if there is a doubt. Taken from `$HARBOR_BROKERS` where it is not given\n")},
	"pilot/lane.py": {Data: []byte("class Channel:\n    def __init__(self, slow_lane):\n        self.slow_lane = slow_lane\n")},
	"pilot/limit.py": {Data: []byte("\"\"\"Limits of a pilot.\"\"\"\n\n# boats wait for a pilot, a number of boats at most\nBOAT_LIMIT: int = 30\n\n\ndef recompute():\n    # Recompute the depth\n    return depth(1)\n\n\n" +
		"def depth(\n    tide,\n):\n    \"\"\"The depth below a boat.\"\"\"\n    return tide\n")},
	"crane/src/hook.rs": {Data: []byte("/// Lifts a box.\npub(crate) fn lift(weight: u32) -> bool {\n    weight < 9\n}\n\n/// The heaviest box.\npub(crate) const HEAVIEST: u32 = 9;\n\n" +
		"mod tests {\n    use super::lift;\n\n    #[test]\n    fn nine_is_too_much() {\n        assert!(!lift(9));\n    }\n}\n")},
	"dock/Berth.java":   {Data: []byte("/** A place for a ship. */\npublic class Berth {\n  // where a rope is tied\n  public static final int MAX_ROPES = 4;\n\n  /** Moors a ship. */\n  public void moor(Ship ship) {\n    ship.tie(MAX_ROPES);\n  }\n}\n")},
	"gate/lib/gate.js":  {Data: []byte("// the gate of the harbor\nclass Gate {\n  openFor (ship) {\n    return ship\n  }\n}\n\ngate.close = function close () {}\n")},
	"gate/test/gate.js": {Data: []byte("const Gate = require('../lib/gate')\n\ndescribe('Gate', function () {\n  it('is opened for a ship', function () {\n    new Gate().openFor(1)\n  })\n})\n")},
}

// searched is a project with the search that Savant has.
func searched(t *testing.T, tree fs.FS) (*world, []reasoning.Tool) {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(folder, "project"), tree))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	search := repo.NewSearch(repo.SearchOptions{Path: filepath.Join(folder, "project")})
	t.Cleanup(func() { require.NoError(t, search.Close()) })
	w := newWorld(t, tree)
	w.real = search.Tools()[0].Call
	return w, append([]reasoning.Tool{{Name: "context.search", Description: "Full-text search of the repository.", ReadOnly: true, InputSchema: []byte(
		`{"type":"object","properties":{"query":{},"limit":{},"paths":{},"per_file":{},"counts":{}}}`)}}, offered[1])
}

// The words by which a question asks are not words of the code. What they ask for is found,
// and first.
func TestFormsOfQuestions(t *testing.T) {
	for name, project := range map[string]struct {
		tree      fstest.MapFS
		questions map[string]string
	}{
		"go": {depot, map[string]string{
			"Where is the maximum number of attempts defined?":   `queue/queue.go:10, maxAttempts\n`,
			"Where is ErrFull declared?":                         `queue/queue.go:7, ErrFull\n`,
			"Where is the definition of ErrFull located?":        `queue/queue.go:7, ErrFull\n`,
			"Where is the delay before an attempt computed?":     `queue/backoff.go:4, Delay\n`,
			"Where is the fake clock implemented?":               `internal/clock/fake.go:5, Fake\n`,
			"In what package does Push live?":                    `queue/queue.go:16, Push\n`,
			"Which file contains the priority queue?":            `queue/queue.go:13, Queue\n`,
			"Which function checks the token?":                   `server/server.go:4, authorized\n`,
			"Which tests cover Delay?":                           `queue/pause_test.go:5, TestItDoubles\n`,
			"Is there a test for Delay?":                         `queue/pause_test.go:5, TestItDoubles\n`,
			"How is authorized tested?":                          `server/server_test.go:5, TestWrongTokenIsRefused\n`,
			"What tests exist for authorized?":                   `server/server_test.go:5, TestWrongTokenIsRefused\n`,
			"How can I configure where the server listens?":      `config/config.go:\d+\n(.*\n)* .*DEPOT_ADDR`,
			"Which variable controls how long a shutdown waits?": `config/config.go:\d+\n(.*\n)* .*DEPOT_DRAIN`,
			"Which storage backends can be chosen?":              `docs/operations.md:[35], under "Backends"\n(.*\n)* .*redis`,
			"How are storage backends chosen?":                   `docs/operations.md:[35], under "Backends"\n(.*\n)* .*redis`,
			"What does a message walk through?":                  `docs/states.md:3, under "States"\n(.*\n)* .*buried`,
			"How is a worker started?":                           `docs/states.md:10, under "States"\n(.*\n)* .*depot work --all`,
			"What colours are printed?":                          `docs/states.md:16, under "States"\n(.*\n)* .*2. green\n`,
			"Find the definition of Delay":                       `queue/backoff.go:4, Delay\n`,
			"Show me where ErrFull is declared":                  `queue/queue.go:7, ErrFull\n`,
			"Where's Push implemented?":                          `queue/queue.go:16, Push\n`,
			"Tests for the token":                                `server/server_test.go:5, TestWrongTokenIsRefused\n`,
			"What license is it under?":                          `README.md:9, under "License"\n(.*\n)* .*MIT`,
		}},
		"node": {parlor, map[string]string{
			"Where is RateLimiter defined?":                                    `src/limiter.js:2, RateLimiter\n`,
			"Where is escapeHtml defined?":                                     `src/room.js:1, escapeHtml\n`,
			"Where is the origin validated?":                                   `src/origin.js:2, originGuard\n`,
			"Where are template engines registered?":                           `src/app.js:22, engine\n`,
			"Where are views looked up?":                                       `src/app.js:29, lookup\n`,
			"Which environment variable decides the mode?":                     `src/env.js:1(, mode)?\n(.*\n)* .*PARLOR_MODE`,
			"Who calls roomFor?":                                               `src/hub.js:8, roomFor\n`,
			"Which tests cover the limiter?":                                   `test/limits.test.js:5\n(.*\n)* .*eleventh`,
			"Which tests cover escapeHtml?":                                    `test/limits.test.js:10\n(.*\n)* .*angle`,
			"How do I change the port?":                                        `README.md:5, under "Configuration"\n(.*\n)* .*PORT`,
			"How do I turn off color?":                                         `src/settings.js:\d\n(.*\n)* .*NOCOLOR`,
			"Which environment variable disables color?":                       `src/settings.js:\d\n(.*\n)* .*NOCOLOR`,
			"Which environment variable restricts the sites that may connect?": `README.md:6, under "Configuration"\n(.*\n)* .*ALLOWED_ORIGINS`,
		}},
		"others": {harbor, map[string]string{
			"Where is the limit of boats defined?":   `pilot/limit.py:4, BOAT_LIMIT\n`,
			"Where is the depth computed?":           `pilot/limit.py:\d+, depth\n`,
			"Where is the heaviest box declared?":    `crane/src/hook.rs:7, HEAVIEST\n`,
			"Which tests cover lift?":                `crane/src/hook.rs:13, nine_is_too_much\n`,
			"Where is the maximum of ropes defined?": `dock/Berth.java:4, MAX_ROPES\n`,
			"Where is a ship moored?":                `dock/Berth.java:7, moor\n`,
			"Where is the gate opened for a ship?":   `gate/lib/gate.js:3, openFor\n`,
			"Which tests cover openFor?":             `gate/test/gate.js:\d+\n(.*\n)* .*opened for`,
			"Who calls depth?":                       `pilot/limit.py:\d+(, recompute)?\n(.*\n)* .*return depth\(1\)`,
			"What is the default pause of boats?":    `docs/pauses.md:8, under "Waiting"\n.*100 milli`,
			"Which variable has the brokers?":        `docs/pauses.md:10, under "Waiting"\n.*HARBOR_BROKERS`,
			"What does slow-lane do?":                `docs/flags.md:11, under "Lanes"\n.*knots does`,
			"Which flags are supported?":             `docs/flags.md:\d(, under "Flags")?\n(.*\n)* .*blue`,
		}},
	} {
		w, tools := searched(t, project.tree)
		for goal, first := range project.questions {
			t.Run(name+"/"+goal, func(t *testing.T) {
				_, final := pursue(t, w, reasoning.Request{Goal: goal, Tools: tools})
				_, answer, _ := strings.Cut(final, "\n1. ")
				answer, _, _ = strings.Cut(answer, "\n2. ")
				require.Regexp(t, regexp.MustCompile(`\A`+first), answer, final)
				require.Contains(t, final, "Found for")
				require.NotRegexp(t, `Not found: .*"(calls|defined|declared|located|implemented|live|exist)"`, final)
				w.checkQuotes(t, final)
			})
		}
	}
}

// What no file speaks of is not found, however the question is put.
func TestFormsOfQuestionsAboutWhatIsNotThere(t *testing.T) {
	w, tools := searched(t, depot)
	for _, goal := range []string{"Where is the unicorn defined?", "Which tests cover the unicorn?", "Which environment variable feeds the unicorn?",
		"Which function feeds the unicorn?", "Which function checks the unicorn?", "Where are unicorns returned?", "Which environment variable sets the unicorn?", "Where is the unicorn of the server fed?", "Why do unicorns push?"} {
		_, final := pursue(t, w, reasoning.Request{Goal: goal, Tools: tools})
		require.Contains(t, final, "Nothing fits", goal)
		require.Regexp(t, `Not found: .*"unicorns?"`, final, goal)
	}
}

// Copies of one page take one place of an answer.
func TestCopiesOfAPageAreQuotedOnce(t *testing.T) {
	w, tools := searched(t, depot)
	_, final := pursue(t, w, reasoning.Request{Goal: "How do I make a backup?", Tools: tools})
	require.Contains(t, final, "\n1. docs/operations.md:")
	require.Equal(t, 1, strings.Count(final, "may be torn"), final)
}
