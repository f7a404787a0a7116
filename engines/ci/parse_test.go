package ci

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/test/golden"
	"savant/think/flow"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestParsersReadWhatToolsWrite feeds the parsers real output of go test -json, of node
// --test with its tap and junit reporters, of jest-junit, vitest, mocha and gotestsum, and output made after the
// documentation of pytest and surefire and the specifications of TAP 13 and 14.
func TestParsersReadWhatToolsWrite(t *testing.T) {
	for file, parser := range map[string]string{"go.json": parserGo, "go_build.json": parserGo, "node.tap": parserTAP, "node.xml": parserJUnit,
		"go_more.json": parserGo, "gotestsum.xml": parserJUnit, "pytest.xml": parserJUnit, "surefire.xml": parserJUnit,
		"jest.xml": parserJUnit, "vitest.xml": parserJUnit, "mocha.tap": parserTAP, "tap13.tap": parserTAP, "tap14.tap": parserTAP, "skipped.tap": parserTAP} {
		t.Run(file, func(t *testing.T) {
			dir, err := os.OpenRoot("testdata")
			require.NoError(t, err)
			t.Cleanup(func() { _ = dir.Close() })
			out := newOutput(newReading(parser), redactorOf(nil), engines.Call{})
			if parser != parserJUnit {
				data, err := dir.ReadFile(file)
				require.NoError(t, err)
				_, err = out.stream(true).Write(data)
				require.NoError(t, err)
				out.close()
			}
			var report Report
			out.conclude(&report, dir, file, time.Time{})
			report.Tail, report.Truncated = out.tail.text()
			got, err := json.MarshalIndent(report, "", "  ")
			require.NoError(t, err)
			golden.Compare(t, *update, filepath.Join("testdata", file+".golden"), string(got)+"\n")
		})
	}
}

// Tests that were running when the output ended have failed, whatever the exit code:
// the command reached its timeout, or its output was cut.
func TestGoTestsThatWereRunningAtTheEndOfTheOutputFailed(t *testing.T) {
	reading := newReading(parserGo)
	for line := range strings.SplitSeq(`{"Action":"run","Package":"q","Test":"TestLater"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestWaits"}
{"Action":"pause","Package":"p","Test":"TestWaits"}
{"Action":"run","Package":"p","Test":"TestHangs"}
{"Action":"run","Package":"p","Test":"TestHangs/inside"}
{"Action":"run","Package":"done","Test":"BenchmarkX"}
{"Action":"pass","Package":"done"}
{"Action":"pass","Package":"q","Test":"TestLa`, "\n") {
		reading.line(line)
	}
	found, note := reading.conclude(nil, "", time.Time{})
	require.Empty(t, note)
	require.Equal(t, tests{passed: 1, failed: 3, failedTests: []string{"p.TestHangs (did not end)", "p.TestHangs/inside (did not end)", "q.TestLater (did not end)"}}, *found)
}

// A report is read in each encoding, with characters that XML does not have, and with an & that
// stands for itself: what a runner copies from a test's output.
func TestReportsAsRunnersWriteThem(t *testing.T) {
	utf16 := func(order binary.AppendByteOrder, text string) string {
		var out []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			out = order.AppendUint16(out, unit)
		}
		return string(out)
	}
	report := func(encoding, inside string) string {
		return `<?xml version="1.0"` + encoding + `?><testsuite name="s"><testcase name="a"/><testcase name="b"><failure>` + inside + `</failure></testcase></testsuite>`
	}
	for name, text := range map[string]string{
		"UTF-8 with its mark":     "\ufeff" + report(` encoding="UTF-8"`, "größe"),
		"UTF-16":                  utf16(binary.LittleEndian, "\ufeff"+report(` encoding="UTF-16"`, "größe")),
		"UTF-16, big":             utf16(binary.BigEndian, "\ufeff"+report(` encoding='utf-16'`, "größe")),
		"UTF-16 without its mark": utf16(binary.LittleEndian, report(` encoding="UTF-16LE"`, "größe")),
		"Windows":                 report(` encoding="windows-1252"`, "it\x92s \x80"),
		"Latin":                   report(` encoding="ISO-8859-1"`, "gr\xf6\xdfe"),
		"Chinese":                 report(` encoding="GBK"`, "\xca\xa7\xb0\xdc"),
		"half a character":        report(` encoding="UTF-8"`, "gr\xf6"),
		"colours and zeros":       report("", "\x1b[31mred\x1b[0m\x00"),
		"entities of HTML":        report("", "a&nbsp;b &hellip;"),
		"an & that means &":       report("", "a & b"),
	} {
		reading := &junitReading{tests: &tests{}}
		require.NoError(t, reading.read(strings.NewReader(text)), name)
		require.Equal(t, tests{passed: 1, failed: 1, failedTests: []string{"s > b"}}, *reading.tests, name)
		require.ErrorContains(t, (&junitReading{tests: &tests{}}).read(strings.NewReader(text[:len(text)*3/4])), "unexpected EOF", name)
	}
}

// go test writes no event when a benchmark ends well. Benchmarks that ran before a
// failed one are not counted as failed.
func TestBenchmarksBeforeOneThatFailedHaveNotFailed(t *testing.T) {
	reading := newReading(parserGo)
	for line := range strings.SplitSeq(`{"Action":"run","Package":"x","Test":"BenchmarkGood"}
{"Action":"run","Package":"x","Test":"BenchmarkBad"}
{"Action":"fail","Package":"x","Test":"BenchmarkBad"}
{"Action":"fail","Package":"x"}`, "\n") {
		reading.line(line)
	}
	found, _ := reading.conclude(nil, "", time.Time{})
	require.Equal(t, tests{failed: 1, failedTests: []string{"x.BenchmarkBad"}}, *found)
}

// A program that writes many events of its own does not slow the parser down. This took
// minutes when each event was compared with all running tests.
func TestManyGoTestsThatRunAtOnceAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	const many = 200_000
	reading := newReading(parserGo)
	for i := range many {
		reading.line(`{"Action":"run","Package":"p","Test":"T` + strconv.Itoa(i) + `"}`)
	}
	found, _ := reading.conclude(nil, "", time.Time{})
	require.Equal(t, many, found.failed)
}

func TestDirectivesOfTAP(t *testing.T) {
	reading := &tapReading{tests: &tests{}}
	for line := range strings.SplitSeq("TAP version 14\nok\nnot ok 2 - later # TODO not written\nok 3 - off # SKIP no network\nok 4 - a \\# skip\n  ---\n  not ok 9\n  ...\nBail out! disk full\nokay is no point", "\n") {
		reading.line(line)
	}
	require.Equal(t, tests{passed: 2, failed: 1, skipped: 2, failedTests: []string{"bail out: disk full"}, skippedTests: []string{"later", "off"}}, *reading.tests)
}

// What was planned and did not come, and what came and was not planned, failed,
// as https://testanything.org/tap-version-14-specification.html says.
func TestPlansOfTAPAreHeldAgainstResults(t *testing.T) {
	for text, want := range map[string][]string{
		"1..3\nok 1\nok 2":             {"no result of test 3 of the plan 1..3"},
		"ok\nok\n1..3":                 {"no result of test 3 of the plan 1..3"},
		"1..9\nok 9\nok 2\nok 3\nok 5": {"no result of tests 1, 4, 6, 7, 8 of the plan 1..9"},
		"1..1\nok 1\nok 2\nok 3":       {"tests 2, 3 beyond the plan 1..1"},
		"1..2\nok 1\nok 1\nok 2":       {"3 results for the plan 1..2"},
		"1..2\nok 2\nok 2":             {"no result of test 1 of the plan 1..2"},
		"1..1\n":                       {"no result of test 1 of the plan 1..1"},
		"1..0\nok 1":                   {"test 1 beyond the plan 1..0"},
		"1..1\n# Subtest: a\n    1..2\n    ok 1\nok 1 - a":       {"a > no result of test 2 of the plan 1..2"},
		"# Subtest: a\n    1..2\n    ok 1\n# Subtest: b\nok 1":   {"a > no result of test 2 of the plan 1..2"},
		"1..1\nok 1\n1..1\nok 1\nTAP version 14\n1..1\nok 1":     nil,
		"ok 1\nok 2\n1..2\nok 1\n1..1":                           nil,
		"ok 1\nok 2":                                             nil,
		"1..2 # both\nok 1\n  ---\n  1..7\n  ...\nok 2":          nil,
		"1..99999999999999999999\nok 99999999999999999999\nok 1": {"no result of tests 2, 3, 4, 5, 6, 7, 8, 9, … of the plan 1..1073741824"},
		"1..3\nok 1\nBail out! no disk":                          {"bail out: no disk"},
	} {
		reading := newReading(parserTAP)
		for line := range strings.SplitSeq(text, "\n") {
			reading.line(line)
		}
		found, note := reading.conclude(nil, "", time.Time{})
		require.Empty(t, note)
		require.Equal(t, want, found.failedTests, text)
		require.Equal(t, len(want), found.failed, text)
	}
}

func TestTheTailIsBounded(t *testing.T) {
	out := newOutput(noReading{}, redactorOf([]string{"s3cret", "s3cret-longer", "abc"}), engines.Call{})
	stream := out.stream(false)
	for range 1000 {
		_, err := stream.Write([]byte("10%\r50%\rline \x1b[31ms3cret-longer\x1b[0m abc\r\n"))
		require.NoError(t, err)
	}
	_, err := stream.Write([]byte(strings.Repeat("é", 2<<20)))
	require.NoError(t, err)
	out.close()
	text, cut := out.tail.text()
	require.True(t, cut)
	require.LessOrEqual(t, len(text), maxTailBytes)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.LessOrEqual(t, len(lines), maxTailLines)
	require.Equal(t, "line [redacted] abc", lines[0])
	require.Less(t, len(lines[len(lines)-1]), maxShownLine+20)
}

func TestProjectsAreRecognised(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		project  fstest.MapFS
		commands []string
		holds    string
	}{
		"go":    {fstest.MapFS{"go.mod": file("module x")}, []string{"tests"}, "[go, test, -json, ./...]"},
		"npm":   {fstest.MapFS{"package.json": file(`{"scripts":{"test":"node --test"}}`)}, []string{"tests"}, "[npm, test]"},
		"pnpm":  {fstest.MapFS{"package.json": file(`{"scripts":{"test":"vitest"}}`), "pnpm-lock.yaml": file("")}, []string{"tests"}, "[pnpm, test, --reporter=default, --reporter=junit, --outputFile.junit=.savant/ci/vitest.xml]\n    parser: junit\n    report: .savant/ci/vitest.xml"},
		"yarn":  {fstest.MapFS{"package.json": file(`{"scripts":{"test":"ava"}}`), "yarn.lock": file("")}, []string{"tests"}, "[yarn, test]"},
		"node":  {fstest.MapFS{"package.json": file(`{"scripts":{"test":"node --enable-source-maps --test test/*.js"}}`)}, []string{"tests"}, "[npm, test]\n    env: {NODE_OPTIONS: --test-reporter=tap}\n    parser: tap"},
		"mocha": {fstest.MapFS{"package.json": file(`{"scripts":{"test":"eslint . && nyc mocha 'test/**'"}}`)}, []string{"tests"}, "[npm, test, --, --reporter=tap]\n    parser: tap"},
		"yarn mocha": {fstest.MapFS{"package.json": file(`{"scripts":{"test":"cross-env A=1 node_modules/.bin/mocha"}}`), "yarn.lock": file("")}, []string{"tests"},
			"[yarn, test, --reporter=tap]"},
		"not last":          {fstest.MapFS{"package.json": file(`{"scripts":{"test":"mocha && eslint ."}}`)}, []string{"tests"}, "[npm, test]\n    timeout"},
		"a byte order mark": {fstest.MapFS{"package.json": file("\ufeff" + `{"scripts":{"test":"vitest run"}}`)}, []string{"tests"}, "vitest.xml"},
		"jest-like":         {fstest.MapFS{"package.json": file(`{"scripts":{"test":"node run-jest-later.js"}}`)}, []string{"tests"}, "[npm, test]\n    timeout"},
		"jest": {fstest.MapFS{"package.json": file(`{"scripts":{"test":"npm run unit","unit":"node node_modules/jest/bin/jest.js"},"devDependencies":{"jest-junit":"16"}}`)}, []string{"tests"},
			"[npm, run, unit, --, --reporters=default, --reporters=jest-junit]"},
		"jest's files":          {fstest.MapFS{"package.json": file(`{"scripts":{"test":"jest"},"devDependencies":{"jest-junit":"17"}}`)}, []string{"tests"}, `JEST_JUNIT_REPORT_TEST_SUITE_ERRORS: "true"`},
		"jest without a report": {fstest.MapFS{"package.json": file(`{"scripts":{"test":"jest"}}`)}, []string{"tests"}, "jest-junit would write the report"},
		"scripts in a circle":   {fstest.MapFS{"package.json": file(`{"scripts":{"test":"npm run a","a":"npm test"}}`)}, []string{"tests"}, "npm, "},
		"no test":               {fstest.MapFS{"package.json": file(`{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`)}, nil, ""},
		"pytest":                {fstest.MapFS{"pyproject.toml": file("[tool.pytest.ini_options]"), "uv.lock": file("")}, []string{"tests"}, "[uv, run, pytest,"},
		"tox":                   {fstest.MapFS{"tox.ini": file("[tox]")}, []string{"tests"}, "[tox]"},
		"unittest":              {fstest.MapFS{"setup.py": file("import setuptools"), "tests/test_a.py": file("import unittest"), "poetry.lock": file("")}, []string{"tests"}, "[poetry, run, python3, -m, unittest, discover, -s, tests]"},
		"a linter's settings":   {fstest.MapFS{"pyproject.toml": file("[tool.ruff]")}, nil, ""},
		"several":               {fstest.MapFS{"go.mod": file(""), "Makefile": file("all:\n\ntest: all\n"), "conftest.py": file("")}, []string{"tests", "tests-python", "tests-make"}, "[make, test]"},
		"a check":               {fstest.MapFS{"GNUmakefile": file(".PHONY: check\nall check: lint\n\ttrue\n")}, []string{"tests"}, "[make, check]"},
		"a workspace of Rust":   {fstest.MapFS{"Cargo.toml": file("[workspace]")}, []string{"tests"}, "[cargo, test, --workspace]"},
		"a workspace of Go":     {fstest.MapFS{"go.work": file("use ./a"), "go.mod": file("")}, []string{"tests"}, "[go, test, -json, work]"},
		"deno":                  {fstest.MapFS{"deno.jsonc": file("{}")}, []string{"tests"}, "[deno, test, --junit-path=.savant/ci/deno.xml]"},
		"a task of deno":        {fstest.MapFS{"deno.json": file(`{"tasks": {"test": "deno test -A"}}`)}, []string{"tests"}, "[deno, task, test, --junit-path=.savant/ci/deno.xml]"},
		"bun":                   {fstest.MapFS{"package.json": file("{}"), "bun.lock": file("")}, []string{"tests"}, "[bun, test, --reporter=junit, --reporter-outfile=.savant/bun.xml]"},
		"a script for bun":      {fstest.MapFS{"package.json": file(`{"scripts":{"test":"bun test src"}}`), "bun.lockb": file("")}, []string{"tests"}, "[bun, run, test, --reporter=junit, --reporter-outfile=.savant/bun.xml]"},
		"pnpm workspaces":       {fstest.MapFS{"package.json": file(`{}`), "pnpm-workspace.yaml": file("packages: [a]")}, []string{"tests"}, "[pnpm, -r, --if-present, test]"},
		"yarn workspaces":       {fstest.MapFS{"package.json": file(`{"workspaces":["a"]}`), "yarn.lock": file("")}, []string{"tests"}, "[yarn, workspaces, run, test]"},
		"yarn 4 workspaces":     {fstest.MapFS{"package.json": file(`{"workspaces":{"packages":["a"]}}`), "yarn.lock": file(""), ".yarnrc.yml": file("")}, []string{"tests"}, "[yarn, workspaces, foreach, -A, run, test]"},
		"npm workspaces":        {fstest.MapFS{"package.json": file(`{"workspaces":["a"]}`)}, []string{"tests"}, "[npm, test, --workspaces, --if-present]"},
		"rake":                  {fstest.MapFS{"Rakefile": file("Rake::TestTask.new\n")}, []string{"tests"}, "[bundle, exec, rake, test]"},
		"rspec":                 {fstest.MapFS{"spec/spec_helper.rb": file("")}, []string{"tests"}, "[bundle, exec, rspec]"},
		"rails":                 {fstest.MapFS{"bin/rails": file(""), "Rakefile": file("Rails.application.load_tasks\n")}, []string{"tests"}, "[bin/rails, test]"},
		"pest":                  {fstest.MapFS{"composer.json": file(`{"require-dev": {"pestphp/pest": "2"}}`)}, []string{"tests"}, "[vendor/bin/pest, --log-junit, .savant/ci/phpunit.xml]"},
		"flutter":               {fstest.MapFS{"pubspec.yaml": file("name: x\ndependencies:\n  flutter:\n    sdk: flutter\n")}, []string{"tests"}, "[flutter, test]"},
		"dart":                  {fstest.MapFS{"pubspec.yaml": file("name: x\n")}, []string{"tests"}, "[dart, test]"},
		"zig":                   {fstest.MapFS{"build.zig": file("const t = b.step(\"test\", \"Run tests\");\n")}, []string{"tests"}, "[zig, build, test]"},
		"gradle":                {fstest.MapFS{"gradlew": file(""), "build.gradle.kts": file("")}, []string{"tests"}, "[./gradlew, --no-build-cache, --continue, cleanTest, test]\n    parser: junit\n    report: \"**/build/test-results/*/TEST-*.xml\""},
		"gradle of android":     {fstest.MapFS{"settings.gradle": file(`pluginManagement { id("com.android.application") }`)}, []string{"tests"}, "[gradle, test]\n    timeout"},
		"maven":                 {fstest.MapFS{"mvnw": file(""), "pom.xml": file("")}, []string{"tests"}, "[./mvnw, -B, test]\n    parser: junit\n    report: \"**/target/surefire-reports/TEST-*.xml\""},
		"cmake":                 {fstest.MapFS{"CMakeLists.txt": file("include(CTest)\n")}, []string{"tests"}, "--no-tests=error"},
		"cmake without tests":   {fstest.MapFS{"CMakeLists.txt": file("project(x)\n")}, nil, ""},
		"julia":                 {fstest.MapFS{"test/runtests.jl": file("")}, []string{"tests"}, "using Pkg; Pkg.test()"},
		"bats":                  {fstest.MapFS{"tests/a.bats": file("")}, []string{"tests"}, "parser: tap"},
		"phpunit":               {fstest.MapFS{"composer.json": file("{}"), "phpunit.xml.dist": file("")}, []string{"tests"}, "[vendor/bin/phpunit, --log-junit, .savant/ci/phpunit.xml]"},
		"django": {fstest.MapFS{"manage.py": file("os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'site.settings')"), "requirements.txt": file("django"), "shop/tests.py": file("from django.test import TestCase")}, []string{"tests"},
			"[python3, manage.py, test, --no-input]"},
		"django by pytest":  {fstest.MapFS{"manage.py": file("DJANGO_SETTINGS_MODULE"), "pytest.ini": file("[pytest]\nDJANGO_SETTINGS_MODULE = site.settings")}, []string{"tests"}, "pytest, -q"},
		"clojure":           {fstest.MapFS{"deps.edn": file("{:aliases\n {:test {:extra-paths [\"test\"]\n :exec-fn cognitect.test-runner.api/test}}}")}, []string{"tests"}, "[clojure, -X:test]"},
		"clojure's main":    {fstest.MapFS{"deps.edn": file(`{:aliases {:test {:main-opts ["-m" "kaocha.runner"]}}}`)}, []string{"tests"}, "[clojure, -M:test]"},
		"busted":            {fstest.MapFS{"spec/a_spec.lua": file("")}, []string{"tests"}, "[busted, --output=TAP]\n    parser: tap"},
		"just":              {fstest.MapFS{"justfile": file("test *args:\n  true\n")}, []string{"tests"}, "[just, test]"},
		"no recipe of just": {fstest.MapFS{"justfile": file("tests := 'a'\ntest := 'b:c'\n")}, nil, ""},
		"no rule":           {fstest.MapFS{"Makefile": file("test := 1\n")}, nil, ""},
		"bad json":          {fstest.MapFS{"package.json": file("{")}, nil, ""},
		"nothing":           {fstest.MapFS{}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			proposal := Recognise(c.project)
			require.Equal(t, c.commands, proposal.Commands)
			require.Contains(t, string(proposal.YAML), c.holds)
			require.Equal(t, c.commands == nil, proposal.YAML == nil)
		})
	}
}

// TestEveryProposalIsRead: each command that is proposed, and any that a person names, is what
// the file then runs.
func TestEveryProposalIsRead(t *testing.T) {
	words := []string{"ctest", `a "b" \ <c>: #`, "", "é\n"}
	proposals := []Proposal{Named(words)}
	for _, each := range slices.Concat(append(otherKinds, goKinds)...) {
		proposals = append(proposals, proposalOf([]proposed{each.proposed("f")}))
	}
	reader := &runner{Options{Path: t.TempDir(), ReadYAML: flow.ReadYAMLPlaces}}
	for i, each := range proposals {
		read, err := reader.read(each.YAML)
		require.NoError(t, err, string(each.YAML))
		require.Greater(t, len(read[testsCommand].argv), 1)
		if i == 0 {
			require.Equal(t, words, read[testsCommand].argv)
		}
	}
}

// FuzzGoTests, FuzzTAP and FuzzJUnit show that no output, whatever its bytes, breaks a
// parser or exceeds a bound: a parser counts no more tests than the output can hold.
func FuzzGoTests(f *testing.F) {
	f.Add([]byte(`{"Action":"run","Package":"a","Test":"b"}` + "\n" + `{"Action":"fail","Package":"a"}`))
	fuzzLines(f, parserGo, "*.json")
}

func FuzzTAP(f *testing.F) {
	f.Add([]byte("# Subtest: x\n    ok 1\n  ---\n1..0 # skip\nBail out!\x1b]0;x\x07\r\n"))
	fuzzLines(f, parserTAP, "*.tap")
}

func fuzzLines(f *testing.F, parser, samples string) {
	addSamples(f, samples)
	f.Fuzz(func(t *testing.T, data []byte) {
		out := newOutput(newReading(parser), redactorOf(nil), engines.Call{})
		_, err := out.stream(true).Write(data)
		require.NoError(t, err)
		out.close()
		text, _ := out.tail.text()
		require.LessOrEqual(t, len(text), maxTailBytes)
		found, _ := out.reading.conclude(nil, "", time.Time{})
		requireBounds(t, found, data)
	})
}

func FuzzJUnit(f *testing.F) {
	f.Add([]byte("<testsuite><testcase name='a'><failure/></testcase></testsuite>"))
	addSamples(f, "*.xml")
	f.Fuzz(func(t *testing.T, data []byte) {
		junit := &junitReading{tests: &tests{}}
		_ = junit.read(bytes.NewReader(data)) // what is no report is an error
		requireBounds(t, junit.tests, data)
	})
}

func addSamples(f *testing.F, pattern string) {
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	require.NoError(f, err)
	require.NotEmpty(f, names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
}

func requireBounds(t *testing.T, found *tests, data []byte) {
	require.LessOrEqual(t, found.passed+found.failed+found.skipped, len(data))
	for _, names := range [][]string{found.failedTests, found.skippedTests} {
		require.LessOrEqual(t, len(names), maxNames)
		for _, name := range names {
			require.LessOrEqual(t, len(name), maxName+len("…"))
			require.True(t, utf8.ValidString(name))
		}
	}
}
