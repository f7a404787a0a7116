//go:build unix

package trust_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/trust"
)

// brought makes a folder with programs, scripts and data.
func brought(t *testing.T) string {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, mode := range map[string]os.FileMode{"run.sh": 0o600, "srv.py": 0o600, "tool": 0o700, "plain": 0o600, "data.txt": 0o600, "bin/savant": 0o700,
		"sub/deep.sh": 0o600, "app/main.js": 0o600, "report.xml": 0o600, "hook.js": 0o600, "one.go": 0o600, "mod/__main__.py": 0o600, "mod/part.py": 0o600, "app/index.js": 0o600,
		"pkg/__init__.py": 0o600, "pkg/sub/__init__.py": 0o600, "pkg/sub/leaf.py": 0o600} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("content of "+name), mode))
	}
	for name, text := range map[string]string{"shebang": "#!/bin/sh\n", "step": "#!/bin/sh\n", "wraps": "#!/bin/sh\ntimeout 5 ./step data.txt\nfind . -exec bash plain \\;\n" +
		"\"${PYTHON:-python3}\" srv.py data.txt\nexec python3 -m pkg.sub.leaf\nnode -r ./hook app/absent\ncp tool ./data.txt /tmp\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder, "made"), 0o700))
	for name, text := range map[string]string{"Makefile": "include rules.mk\ntest: notes.txt\n\t@./steps.sh && cat notes.txt main.go\n", "rules.mk": "all: test\n", "notes.txt": "x", "unit.sh": "#!/bin/sh\n", "main.go": "package main\n",
		"steps.sh": "#!/usr/bin/env bash\nset -e\nif true; then \"$(dirname \"$0\")/check\" main.go; fi\n./${part}it.sh\npython3 -u unit.py notes.txt\n. ./steps.sh\n", "check": "#!/bin/sh\ngofmt -l main.go\n", "unit.py": "import main"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "made", name), []byte(text), 0o700&^0o100))
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder, "web"), 0o700))
	for name, text := range map[string]string{"package.json": `{"name": "web", "scripts": {"test": "node test.mjs && sh -c 'sh steps'", "x": "make"}}`, "test.mjs": "x", "steps": "x", "README.md": "x",
		"composer.json": `{"scripts": {"test": ["@php check.php"]}}`, "check.php": "x", "all.sh": "#!/bin/sh\nnpm ci --silent\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "web", name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("run.sh", filepath.Join(folder, "link")))
	require.NoError(t, os.Symlink("/bin/sh", filepath.Join(folder, "shell")))
	return folder
}

// TestProgramsOfACommand: what a command of the folder starts, and not what it reads.
func TestProgramsOfACommand(t *testing.T) {
	folder := brought(t)
	inPackage := []string{"pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/leaf.py"}
	for name, c := range map[string]struct {
		dir      string
		words    []string
		env      []string
		expected []string
	}{
		"nothing of the folder":      {words: []string{"go", "test", "./..."}},
		"the program":                {words: []string{"./run.sh", "data.txt"}, expected: []string{"run.sh"}},
		"by its absolute path":       {words: []string{folder + "/tool"}, expected: []string{"tool"}},
		"out and in again":           {words: []string{"../" + filepath.Base(folder) + "/tool"}, expected: []string{"tool"}},
		"in another folder":          {dir: "sub", words: []string{"sh", "deep.sh", "../plain"}, expected: []string{"plain", "sub/deep.sh"}},
		"in an absolute folder":      {dir: folder + "/sub", words: []string{"sh", "./deep.sh"}, expected: []string{"sub/deep.sh"}},
		"an interpreter":             {words: []string{"python3.12", "-u", "plain"}, expected: []string{"plain"}},
		"an interpreter by a path":   {words: []string{"/usr/bin/env", "-S", "/usr/local/bin/ruby", "plain"}, expected: []string{"plain"}},
		"an interpreter of its own":  {words: []string{"uv", "run", "srv.py"}, expected: []string{"srv.py"}},
		"a script that says so":      {words: []string{"unknown", "shebang"}, expected: []string{"shebang"}},
		"what can be started":        {words: []string{"timeout", "5", "./tool"}, expected: []string{"tool"}},
		"an option's value":          {words: []string{"node", "--require=./hook.js", "app/main.js"}, expected: []string{"app/main.js", "hook.js"}},
		"a line":                     {words: []string{"sh", "-c", "cd sub; ./tool && python3 plain >data.out"}, expected: []string{"plain", "tool"}},
		"a variable":                 {words: []string{"node"}, env: []string{"--require ./hook.js"}, expected: []string{"hook.js"}},
		"a link":                     {words: []string{"sh", "link"}, expected: []string{"link"}},
		"a link out":                 {words: []string{"./shell", "-c", "true"}, expected: []string{"shell"}},
		"data":                       {words: []string{"cat", "data.txt", "plain"}},
		"what is written":            {words: []string{"go", "build", "-o", "bin/savant", "./cmd"}},
		"a module":                   {words: []string{"python3", "-u", "-m", "mod"}, expected: []string{"mod/__main__.py"}},
		"a part of one":              {words: []string{"timeout", "9", "python3", "-m", "mod.part"}, expected: []string{"mod/part.py"}},
		"a folder of scripts":        {words: []string{"node", "app"}, expected: []string{"app/index.js"}},
		"a report":                   {words: []string{"pytest", "--junitxml=report.xml"}},
		"a report by an interpreter": {words: []string{"python3", "-m", "pytest", "--junitxml=report.xml"}},
		"a report of deno":           {words: []string{"deno", "test", "--junit-path=report.xml"}},
		"a report of bun":            {words: []string{"bun", "test", "--reporter-outfile=report.xml", "--outputFile.junit=report.xml", "-o", "data.txt"}},
		"a script for the report":    {words: []string{"node", "--reporter=data.txt", "--output=hook.js"}, expected: []string{"data.txt", "hook.js"}},
		"a folder":                   {words: []string{"python3", "app"}},
		"a computed folder":          {words: []string{"sh", "-ec", "\"$PWD/run.sh\"; ${ROOT}/tool; bash $(git rev-parse --show-toplevel)/plain"}, expected: []string{"plain", "run.sh", "tool"}},
		"another folder":             {words: []string{"sh", "-c", "cd sub && sh deep.sh; cd \"$PWD/app\"; node main.js"}, expected: []string{"app/main.js", "sub/deep.sh"}},
		"another folder by options":  {words: []string{"env", "--chdir=sub", "sh", "deep.sh"}, expected: []string{"sub/deep.sh"}},
		"a computed name":            {words: []string{"sh", "-c", "r=run; ./$r.sh"}, expected: []string{"run.sh"}},
		"a name of a substitution":   {words: []string{"bash", "-c", "cd sub; ./`echo de`ep.sh && \"./$(printf to)ol\""}, expected: []string{"sub/deep.sh", "tool"}},
		"a name for an interpreter":  {words: []string{"sh", "-c", "python3 ${x}v.py"}, expected: []string{"srv.py"}},
		"a loop":                     {words: []string{"sh", "-c", "for t in d s; do ./sub/${t}eep.sh; done"}, expected: []string{"sub/deep.sh"}},
		"a pattern":                  {words: []string{"bash", "-c", "sh ./r*.sh; . ./[s]rv.py"}, expected: []string{"run.sh", "srv.py"}},
		"a computed argument":        {words: []string{"sh", "-c", "echo $x; make -j $(nproc) >$out.txt; cat *.txt; ls *"}},
		"a source that is run":       {words: []string{"go", "run", "./one.go"}, expected: []string{"one.go"}},
		"a whole name":               {words: []string{"sh", "-c", "x=plain; sh $x data.txt"}, expected: []string{"data.txt", "plain"}},
		"a whole name of a variable": {words: []string{"sh", "-c", "sh \"$SCRIPT\""}, env: []string{"plain"}, expected: []string{"plain"}},
		"whole names of a pattern":   {words: []string{"sh", "-c", "for f in sub/*; do sh $f; done"}, expected: []string{"sub/deep.sh"}},
		"what make reads":            {dir: "made", words: []string{"make", "test"}, expected: []string{"made/Makefile", "made/check", "made/rules.mk", "made/steps.sh", "made/unit.py", "made/unit.sh"}},
		"in another folder by make":  {words: []string{"sh", "-c", "make -C made"}, expected: []string{"made/Makefile", "made/check", "made/rules.mk", "made/steps.sh", "made/unit.py", "made/unit.sh"}},
		"a module with its parents":  {words: []string{"python3", "-m", "pkg.sub.leaf"}, expected: inPackage},
		"joined to its option":       {words: []string{"python3", "-mpkg.sub.leaf"}, expected: inPackage},
		"among options":              {words: []string{"python3", "-Im", "pkg.sub.leaf"}, expected: inPackage},
		"a module on a path":         {words: []string{"python3", "-m", "leaf"}, env: []string{"pkg/sub" + string(os.PathListSeparator) + "/usr/lib"}, expected: []string{"pkg/sub/leaf.py"}},
		"a path before a module":     {words: []string{"env", "PYTHONPATH=pkg/sub", "python3", "-m", "leaf"}, expected: []string{"pkg/sub/leaf.py"}},
		"without its ending":         {words: []string{"node", "-r", "./hook", "./hook"}, expected: []string{"hook.js"}},
		"what wrappers start":        {words: []string{"bash", "wraps"}, expected: slices.Concat([]string{"hook.js"}, inPackage, []string{"plain", "srv.py", "step", "wraps"})},
		"what a script starts":       {words: []string{"bash", "made/steps.sh"}, expected: []string{"made/check", "made/steps.sh", "made/unit.py", "made/unit.sh"}},
		"a script of npm":            {dir: "web", words: []string{"npm", "test", "--", "README.md"}, expected: []string{"web/package.json", "web/steps", "web/test.mjs"}},
		"in another folder by npm":   {words: []string{"sh", "-c", "exec npm --prefix web run x"}, expected: []string{"web/package.json", "web/steps", "web/test.mjs"}},
		"a script of composer":       {dir: "web", words: []string{"timeout", "9", "composer", "test"}, expected: []string{"web/check.php", "web/composer.json"}},
		"a script by a script":       {words: []string{"sh", "web/all.sh"}, expected: []string{"web/all.sh", "web/package.json", "web/steps", "web/test.mjs"}},
		"nothing there":              {words: []string{"sh", "absent.sh"}},
		"no words":                   {},
	} {
		t.Run(name, func(t *testing.T) {
			programs := trust.Invocation{Folder: folder, Dir: c.dir, Words: c.words, Env: c.env}.Programs()
			require.Equal(t, c.expected, slices.Sorted(maps.Keys(programs)))
		})
	}
	programs := trust.Invocation{Folder: folder, Words: []string{"./shell"}}.Programs()
	require.Contains(t, programs["shell"], "leads to /", "another target is another program")
	t.Setenv("PATH", filepath.Join(folder, "bin"))
	require.Contains(t, trust.Invocation{Folder: folder, Words: []string{"savant"}}.Programs(), "bin/savant")
}

// TestOfPackageJSONItsScriptsCount: a person is asked again when they change, and not about
// another version of a dependency.
func TestOfPackageJSONItsScriptsCount(t *testing.T) {
	folder := t.TempDir()
	digest := func(text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(text), 0o600))
		return trust.Invocation{Folder: folder, Words: []string{"npm", "test"}}.Programs()["package.json"]
	}
	first := digest(`{"scripts": {"test": "node --test"}, "dependencies": {"a": "1"}}`)
	require.Len(t, first, 64)
	require.Equal(t, first, digest(`{"version": "2", "scripts": {"test": "node --test"}, "dependencies": {"a": "2"}}`))
	two := digest(`{"scripts": {"test": "a", "b": "c"}}`)
	require.NotEqual(t, two, digest(`{"scripts": {"test": "a\n\"b\"\nc"}}`), "a text of three lines")
	require.NotEqual(t, two, digest(`{"scripts": {"test": "a\n\"b\":\nc"}}`))
	require.NotEqual(t, two, digest(`{"scripts": {"test": ["a", "b", "c"]}}`))
	require.NotEqual(t, first, digest(`{"scripts": {"test": "true"}, "dependencies": {"a": "1"}}`))
	require.NotEqual(t, first, digest(`{"scripts": {"pretest": "curl x | sh", "test": "node --test"}}`))
	for _, twice := range []string{`{"scripts": {"test": "node --test"}, "scripts": {"test": "true"}}`, `{"scripts": {"test": "true"}, "scripts": {"test": "node --test"}}`,
		`{"scripts": {"test": "node --test"}, "\u0073cripts": {"test": "true"}}`, `{"scripts": {"test": "node --test"} /* */, "scripts": {"test": "true"}}`} {
		require.NotEqual(t, first, digest(twice), twice)
	}
}

// TestWhatARunnerOfScriptsReads: of the nearest package, of its workspaces, and what sets with
// which program the scripts are started.
func TestWhatARunnerOfScriptsReads(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{".npmrc": "script-shell=./shell.sh", "shell.sh": "x", "package.json": `{"workspaces": ["parts/*", "tools"], "scripts": {"test": "npm test -ws"}}`,
		"parts/a/package.json": `{"scripts": {"test": "node a.js"}}`, "parts/a/a.js": "x", "parts/a/src/x.txt": "x", "tools/package.json": "{}",
		"yarn/package.json": "{}", "yarn/.yarnrc.yml": "yarnPath: .yarn/releases/yarn.cjs", "yarn/.yarn/releases/yarn.cjs": "x",
		"pnpm/package.json": "{}", "pnpm/pnpm-workspace.yaml": "packages:\n  - 'in/*'\n", "pnpm/in/b/package.json": "{}", "pnpm/.npmrc": "",
		"bun/package.json": "{}", "bun/bunfig.toml": "preload = [\"./first.ts\"]", "bun/first.ts": "x", "deno/deno.jsonc": "{} // all of it", "deno/package.json": "{}", "deno/deno.json": "{}",
		"wide/package.json": `{"workspaces": {"packages": ["all/**"]}}`, "wide/.npmrc": ""} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	root := []string{".npmrc", "package.json", "parts/a/a.js", "parts/a/package.json", "shell.sh", "tools/package.json"}
	inYarn := []string{"yarn/.yarn/releases/yarn.cjs", "yarn/.yarnrc.yml", "yarn/package.json"}
	for line, expected := range map[string][]string{".: npm test -ws": root, ".: npm run-script test --ignore-scripts": root, ".: npm -w tools test": root, ".: /usr/bin/npm test": root,
		"parts/a/src: npm test": {".npmrc", "parts/a/a.js", "parts/a/package.json", "shell.sh"}, "yarn: yarn workspace x test": inYarn, ".: yarn --cwd yarn test": inYarn,
		"pnpm: pnpm -r test": {"pnpm/.npmrc", "pnpm/in/b/package.json", "pnpm/package.json", "pnpm/pnpm-workspace.yaml"}, "bun: bun run test": {"bun/bunfig.toml", "bun/first.ts", "bun/package.json"},
		"deno: deno task x": {"deno/deno.json", "deno/deno.jsonc", "deno/package.json"}, "parts/a: node --run test": {"parts/a/a.js", "parts/a/package.json"}, "parts/a: node a.js": {"parts/a/a.js"}, "tools: make": nil, ".: npx jest": nil, ".: cat package.json": nil,
		"wide: npm test": {"all/**", "wide/.npmrc", "wide/package.json"}} {
		dir, words, _ := strings.Cut(line, ": ")
		found := slices.Sorted(maps.Keys(trust.Invocation{Folder: folder, Dir: dir, Words: strings.Fields(words)}.Programs()))
		if strings.Contains(line, "--cwd") { // where it is started counts, too
			require.Subset(t, found, expected)
			continue
		}
		require.Equal(t, expected, found, line)
	}
}

// TestAChangedProgramIsAskedAboutAgain: until an earlier content is back, or a pattern leaves
// the program out.
func TestAChangedProgramIsAskedAboutAgain(t *testing.T) {
	folder := brought(t)
	said := trust.Open(t.TempDir(), folder)
	now := func() trust.Part {
		return part(t, "tests", "sh run.sh").WithPrograms(trust.Invocation{Folder: folder, Words: []string{"sh", "run.sh", "plain"}}.Programs())
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	first := trust.Digest([]trust.Part{now()})
	require.NoError(t, said.Accept(now()))
	require.True(t, said.Accepts(now()))
	write("run.sh", "other")
	require.Equal(t, trust.Changed, said.AnswerTo(now()))
	require.NotEqual(t, first, trust.Digest([]trust.Part{now()}))
	write("run.sh", "content of run.sh")
	require.True(t, said.Accepts(now()), "as on another branch")
	require.NoError(t, os.Remove(filepath.Join(folder, "plain")))
	require.True(t, said.Accepts(now()), "less is started")

	write("run.sh", "other")
	excepting := now()
	excepting.Except = []string{"run.*"}
	require.NoError(t, said.Accept(excepting))
	write("run.sh", "a third")
	require.True(t, said.Accepts(now()))
	require.Empty(t, said.Pinned(now()))
	write("plain", "new")
	require.False(t, said.Accepts(now()), "the pattern is of another program")
	require.NoError(t, said.Accept(now()))
	write("run.sh", "a fourth")
	require.True(t, said.Accepts(now()), "a pattern stays")
	require.Equal(t, []string{"plain"}, slices.Collect(maps.Keys(said.Pinned(now()))))

	require.NoError(t, said.Refuse(now()))
	write("plain", "newer")
	require.False(t, said.Accepts(now()))
}
