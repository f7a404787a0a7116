package git_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/git"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// workshop is a folder with a repository in it and the engine's tools on it.
type workshop struct {
	t     testing.TB
	root  string
	table *engines.Registry
}

func newWorkshop(t testing.TB, initArgs ...string) *workshop {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	w := &workshop{t: t, root: t.TempDir()}
	w.table = w.engine(git.Options{Roots: []string{w.root}})
	w.git(append([]string{"init", "-q", "--template=", "-b", "main"}, initArgs...)...)
	return w
}

func (w *workshop) engine(options git.Options) *engines.Registry {
	w.t.Helper()
	table := engines.NewRegistry(engines.Options{})
	require.NoError(w.t, table.Add(git.Tools(options)...))
	return table
}

// git prepares the repository.
func (w *workshop) git(args ...string) string { return w.gitIn(w.root, args...) }

func (w *workshop) gitIn(folder string, args ...string) string {
	w.t.Helper()
	command := exec.Command("git", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=2026-07-28T10:00:00+02:00", "GIT_COMMITTER_DATE=2026-07-28T10:00:00+02:00",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
		"GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false") // which would start another process after each commit
	out, err := command.CombinedOutput()
	require.NoError(w.t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (w *workshop) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.root, filepath.FromSlash(name))
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o644))
}

// commit writes files, given as name and text in turn, and commits them.
func (w *workshop) commit(message string, files ...string) string {
	w.t.Helper()
	for i := 0; i < len(files); i += 2 {
		w.write(files[i], files[i+1])
	}
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", message)
	return w.head()
}

// head returns the hash of HEAD, which it reads without starting git.
func (w *workshop) head() string {
	w.t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(w.root, ".git", filepath.FromSlash(name)))
		require.NoError(w.t, err)
		return strings.TrimSpace(string(text))
	}
	head := read("HEAD")
	if branch, ok := strings.CutPrefix(head, "ref: "); ok {
		return read(branch)
	}
	return head
}

var loadSchemas = sync.OnceValues(func() (*schemas.Set, error) { return schemas.Load() })

// call runs a tool and checks its result against its output schema.
func (w *workshop) call(name, args string) (map[string]any, error) {
	w.t.Helper()
	result, err := w.table.Call(w.t.Context(), name, json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(result)
	require.NoError(w.t, err)
	value, err := jsonvalue.Decode(data)
	require.NoError(w.t, err)
	tool, _ := w.table.Resolve(name)
	output, err := jsonvalue.Decode(tool.OutputSchema())
	require.NoError(w.t, err)
	set, err := loadSchemas()
	require.NoError(w.t, err)
	schema, err := set.Inline(output)
	require.NoError(w.t, err)
	require.NoError(w.t, schema.Check(value), "%s %s", name, data)
	return value.(map[string]any), nil
}

func (w *workshop) must(name, args string) map[string]any {
	w.t.Helper()
	result, err := w.call(name, args)
	require.NoError(w.t, err, "%s %s", name, args)
	return result
}

// refuses calls a tool that must fail, and returns what it says.
func (w *workshop) refuses(code fault.Code, name, args string) string {
	w.t.Helper()
	_, err := w.call(name, args)
	require.ErrorIs(w.t, err, code, "%s %s", name, args)
	data, fail := json.Marshal(err)
	require.NoError(w.t, fail)
	return string(data)
}

// rows returns one field of each object of a list.
func rows(list any, field string) []any {
	var values []any
	for _, each := range list.([]any) {
		values = append(values, each.(map[string]any)[field])
	}
	return values
}

func TestToolsAreDescribed(t *testing.T) {
	total := 0
	for _, tool := range git.Tools(git.Options{}) {
		require.NoError(t, tool.Check())
		require.NotEmpty(t, tool.Title)
		require.True(t, tool.ReadOnly && tool.Idempotent && !tool.Destructive)
		total += len(tool.InputSchema()) + len(tool.Description)
	}
	require.Less(t, total, 6000, "a model reads all of it with every request")
}

func TestRepositoryWithoutCommits(t *testing.T) {
	w := newWorkshop(t)
	w.write("a.txt", "one\n")
	require.Equal(t, map[string]any{"branch": "main", "head": "", "ahead": 0, "behind": 0, "clean": false, "truncated": false,
		"files": []any{map[string]any{"path": "a.txt", "worktree": "untracked"}}}, w.must("git.status", `{}`))
	require.Empty(t, w.must("git.log", `{}`)["commits"])
	require.Empty(t, w.must("git.diff", `{}`)["files"])
	require.Empty(t, w.must("git.files", `{}`)["files"])
	require.Equal(t, []any{"a.txt"}, w.must("git.files", `{"untracked":true}`)["files"])
	w.git("add", ".")
	require.Equal(t, []any{"a.txt"}, rows(w.must("git.diff", `{}`)["files"], "path"))
	require.Equal(t, []any{"a.txt"}, rows(w.must("git.diff", `{"staged":true}`)["files"], "path"))
	w.refuses(fault.InvalidParams, "git.show", `{}`)
	w.refuses(fault.InvalidParams, "git.log", `{"ref":"nowhere"}`)
}

func TestStatusSaysHowEachFileDiffers(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "changed.txt", "1\n", "gone.txt", "2\n", "old name.txt", "a file long enough to be found again\n", "staged.txt", "3\n")
	w.git("mv", "old name.txt", "new\tname\n.txt")
	w.write("changed.txt", "other\n")
	w.write("staged.txt", "other\n")
	w.git("add", "staged.txt")
	w.write("staged.txt", "another\n")
	require.NoError(t, os.Remove(filepath.Join(w.root, "gone.txt")))
	w.write("größe.txt", "untracked")

	status := w.must("git.status", `{}`)
	require.Equal(t, false, status["clean"])
	require.Equal(t, []any{
		map[string]any{"path": "changed.txt", "worktree": "modified"},
		map[string]any{"path": "gone.txt", "worktree": "deleted"},
		map[string]any{"path": "new\tname\n.txt", "index": "renamed", "renamed_from": "old name.txt"},
		map[string]any{"path": "staged.txt", "index": "modified", "worktree": "modified"},
		map[string]any{"path": "größe.txt", "worktree": "untracked"},
	}, status["files"])

	few := w.must("git.status", `{"limit":2}`)
	require.Len(t, few["files"], 2)
	require.Equal(t, true, few["truncated"])
	require.Equal(t, "only the first 2 files are listed", few["note"])
}

// TestStatusWithoutLargeRules: git would hold all of a .gitignore of 1 GB in memory.
func TestStatusWithoutLargeRules(t *testing.T) {
	for _, name := range []string{".gitignore", ".savant/.gitignore"} {
		w := newWorkshop(t)
		w.write("a.txt", "a")
		w.commit("first")
		w.write("a.txt", "b")
		w.write("new.txt", "new")
		w.write(name, "x")
		require.NoError(t, os.Truncate(filepath.Join(w.root, filepath.FromSlash(name)), 1<<30))
		out, err := w.call("git.status", `{}`)
		require.NoError(t, err)
		require.Contains(t, out["note"], name+" has more than 1048576 bytes")
		require.Len(t, out["files"], 1, "the changed one")
	}
}

// git maps or holds each file of its folder: one that is large is named, before git reads it.
// Objects and the index have their own bound, which is git's memory.
func TestALargeFileOfTheGitFolder(t *testing.T) {
	for _, name := range []string{"packed-refs", "HEAD", "commondir", "MERGE_HEAD", "info/grafts", "info/exclude", "info/attributes", "refs/heads/large", "sequencer/todo"} {
		w := newWorkshop(t)
		w.write("a.txt", "a")
		w.commit("first")
		w.write(".git/"+name, "x")
		require.NoError(t, os.Truncate(filepath.Join(w.root, ".git", filepath.FromSlash(name)), 1<<30))
		for _, tool := range []string{"git.status", "git.log", "git.diff"} {
			require.Contains(t, w.refuses(fault.LimitExceeded, tool, `{}`), path.Base(name)+" of the repository has more than")
		}
		require.Contains(t, w.refuses(fault.LimitExceeded, "git.blame", `{"path":"a.txt"}`), "has more than")
	}
	w := newWorkshop(t)
	w.write("a.txt", "a")
	w.commit("first")
	w.write(".git/refs/heads/large", "x")
	require.NoError(t, os.Symlink("refs", filepath.Join(w.root, ".git", "backup"))) // whose files may be large
	require.NoError(t, os.Truncate(filepath.Join(w.root, ".git", "refs", "heads", "large"), 1<<30))
	require.Contains(t, w.refuses(fault.LimitExceeded, "git.status", `{}`), "heads/large of the repository")

	w = newWorkshop(t)
	w.write("a.txt", "a")
	w.commit("first")
	for _, name := range []string{"objects/pack/large.keep", "sharedindex.1f", "svn/refs/large.map", "jj/store", "backup.bundle"} {
		w.write(".git/"+name, "x")
		require.NoError(t, os.Truncate(filepath.Join(w.root, ".git", filepath.FromSlash(name)), 1<<30))
	}
	require.NoError(t, os.Rename(filepath.Join(w.root, ".git", "objects"), filepath.Join(w.root, "a.objects")))
	w.write(".git/objects/info/alternates", "../../a.objects\n") // a clone that borrows
	w.write(".git/info/exclude", "a.objects\n")
	require.Equal(t, true, w.must("git.status", `{}`)["clean"])
}

// Rules in a folder of any depth do not keep git from saying the rest. What was not looked
// at is not called clean.
func TestStatusWithLargeRulesInside(t *testing.T) {
	w := newWorkshop(t)
	w.write("a.txt", "a")
	w.commit("first")
	require.Equal(t, true, w.must("git.status", `{}`)["clean"])
	w.write("deep/in/new.txt", "new")
	w.write("deep/in/.gitignore", "x")
	require.NoError(t, os.Truncate(filepath.Join(w.root, "deep", "in", ".gitignore"), 1<<30))
	out := w.must("git.status", `{"all_untracked":true}`)
	require.Contains(t, out["note"], "because a .gitignore below, or a file of your own settings, has more than 1048576 bytes")
	require.Equal(t, false, out["clean"])
}

// A setting of the repository that names a file of 1 GB is left out and told; blame and
// the rest go on.
func TestALargeFileThatASettingNames(t *testing.T) {
	for _, key := range []string{"core.excludesFile", "core.attributesFile", "mailmap.file"} {
		w := newWorkshop(t)
		w.write("a.txt", "a")
		w.commit("first")
		w.write("large", "x")
		require.NoError(t, os.Truncate(filepath.Join(w.root, "large"), 1<<30))
		w.git("config", key, "large")
		out := w.must("git.status", `{}`)
		require.Equal(t, "the file of "+strings.ToLower(key)+" is not applied, because it has more than 1048576 bytes", out["note"])
		require.Len(t, out["files"], 1, "the large one")
		require.NotEmpty(t, w.must("git.blame", `{"path":"a.txt"}`)["lines"])
	}
}

func TestStatusOfBranches(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first")
	w.git("branch", "base")
	w.git("branch", "--set-upstream-to=base", "main")
	head := w.commit("second")
	status := w.must("git.status", `{}`)
	require.Equal(t, []any{"main", head, "base", 1, 0, true},
		[]any{status["branch"], status["head"], status["upstream"], status["ahead"], status["behind"], status["clean"]})
	w.git("checkout", "-q", "--detach")
	status = w.must("git.status", `{}`)
	require.Equal(t, []any{"", head}, []any{status["branch"], status["head"]})
}

// Remotes are listed if asked for, without what may be secret in an address.
func TestStatusOfRemotes(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first")
	require.NotContains(t, w.must("git.status", `{"remotes":true}`), "remotes")
	w.git("remote", "add", "a", "https://ada:hunter2@example.com/ada/it.git?key=hunter2#hunter2")
	w.git("remote", "add", "b", "hunter2@example.com:ada/it.git")
	w.git("remote", "add", "c", "../it")
	w.git("remote", "add", "d", "ssh://git@example.com:2222/ada/it")
	w.git("remote", "add", "e", "https://ada:hunter2@example.com/%zz")
	w.git("config", "remote.d.partialclonefilter", "blob:none")
	require.NotContains(t, w.must("git.status", `{}`), "remotes")
	require.Equal(t, []any{
		map[string]any{"name": "a", "url": "https://example.com/ada/it.git"},
		map[string]any{"name": "b", "url": "example.com:ada/it.git"},
		map[string]any{"name": "c", "url": "../it"},
		map[string]any{"name": "d", "url": "ssh://example.com:2222/ada/it"},
		map[string]any{"name": "e", "url": ""},
	}, w.must("git.status", `{"remotes":true}`)["remotes"])
}

func TestConflictsAreUnmerged(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	w.git("checkout", "-q", "-b", "other")
	w.commit("theirs", "a.txt", "2\n")
	w.git("checkout", "-q", "main")
	w.commit("ours", "a.txt", "3\n")
	command := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@b", "merge", "other")
	command.Dir = w.root
	require.Error(t, command.Run())
	require.Equal(t, []any{map[string]any{"path": "a.txt", "index": "unmerged", "worktree": "unmerged"}}, w.must("git.status", `{}`)["files"])
	require.Contains(t, w.must("git.diff", `{}`)["files"].([]any)[0].(map[string]any)["patch"], "+<<<<<<< HEAD\n")
	staged := w.must("git.diff", `{"staged":true}`)["files"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"unmerged", "* Unmerged path a.txt\n"}, []any{staged["status"], staged["patch"]})
	require.Equal(t, []any{"a.txt"}, w.must("git.files", `{}`)["files"])
}

func TestLog(t *testing.T) {
	w := newWorkshop(t)
	first := w.commit("Begin\n\nWith a body,\nof two lines.", "a.txt", "1\n", "ü\n.txt", "2\n")
	second := w.commit("Change [a]", "a.txt", "3\n")
	w.git("tag", "v1")
	third := w.commit("Add b", "dir/b.txt", "4\n")

	commits := w.must("git.log", `{"files":true}`)["commits"].([]any)
	require.Len(t, commits, 3)
	require.Equal(t, map[string]any{"hash": first, "short": first[:7], "parents": []any{}, "author": "Ada", "email": "ada@example.com",
		"date": "2026-07-28T10:00:00+02:00", "subject": "Begin", "body": "With a body,\nof two lines.", "files": []any{"a.txt", "ü\n.txt"}}, commits[2])
	require.Equal(t, []any{"dir/b.txt"}, commits[0].(map[string]any)["files"])

	for args, want := range map[string][]any{
		`{"limit":1}`:                            {third},
		`{"ref":"v1"}`:                           {second, first},
		`{"from":"v1"}`:                          {third},
		`{"skip":1,"limit":1}`:                   {second},
		`{"paths":["a.txt"]}`:                    {second, first},
		`{"paths":["dir"]}`:                      {third},
		`{"text":"change [A]"}`:                  {second},
		`{"author":"ADA@","since":"2026-07-01"}`: {third, second, first},
		`{"author":"nobody"}`:                    nil,
		`{"until":"2026-07-01T00:00:00Z"}`:       nil,
	} {
		require.Equal(t, want, rows(w.must("git.log", args)["commits"], "hash"), args)
	}
	counted := w.must("git.log", `{"limit":1,"authors":true,"paths":["a.txt"]}`)
	require.Equal(t, []any{map[string]any{"name": "Ada", "email": "ada@example.com", "commits": 2}}, counted["authors"])
	require.Nil(t, w.must("git.log", `{"authors":true,"author":"nobody"}`)["authors"])
	cut := w.must("git.log", `{"limit":2}`)
	require.Equal(t, true, cut["truncated"])
	require.Equal(t, "there are more than these 2 commits", cut["note"])
}

func TestDiffSides(t *testing.T) {
	w := newWorkshop(t)
	first := w.commit("first", "a.txt", "1\n")
	w.commit("second", "a.txt", "2\n")
	w.git("checkout", "-q", "-b", "side", first)
	w.commit("beside", "b.txt", "b\n")
	w.git("checkout", "-q", "main")
	w.write("a.txt", "3\n")
	w.git("add", ".")
	w.write("a.txt", "4\n")

	for args, want := range map[string][2]string{
		`{}`:                                   {"-2", "+4"},
		`{"staged":true}`:                      {"-2", "+3"},
		`{"from":"HEAD~1"}`:                    {"-1", "+4"},
		`{"from":"HEAD~1","to":"HEAD"}`:        {"-1", "+2"},
		`{"to":"HEAD"}`:                        {"-1", "+2"},
		`{"to":"HEAD~1"}`:                      {"", "+1"},
		`{"from":"HEAD","to":"HEAD~1"}`:        {"-2", "+1"},
		`{"from":"HEAD~1","staged":true}`:      {"-1", "+3"},
		`{"from":"side","merge_base":true}`:    {"-1", "+4"},
		`{"to":"HEAD","paths":["a.txt","zz"]}`: {"-1", "+2"},
	} {
		files := w.must("git.diff", args)["files"].([]any)
		require.Len(t, files, 1, args)
		file := files[0].(map[string]any)
		require.Equal(t, "a.txt", file["path"], args)
		require.Equal(t, 1, file["additions"], args)
		_, hunk, _ := strings.Cut(file["patch"].(string), "@@\n")
		require.Equal(t, strings.TrimPrefix(want[0]+"\n"+want[1]+"\n", "\n"), hunk, args)
	}
	beside := w.must("git.diff", `{"from":"main","to":"side","merge_base":true}`)
	require.Equal(t, []any{"b.txt"}, rows(beside["files"], "path"))
	require.Equal(t, "", w.must("git.diff", `{"no_patch":true}`)["files"].([]any)[0].(map[string]any)["patch"])

	w.refuses(fault.InvalidParams, "git.diff", `{"staged":true,"to":"HEAD"}`)
	w.refuses(fault.InvalidParams, "git.diff", `{"merge_base":true}`)
	require.Contains(t, w.refuses(fault.InvalidParams, "git.diff", `{"from":"nowhere"}`), `"path":"from"`)
}

func TestDiffOfEveryKindOfChange(t *testing.T) {
	w := newWorkshop(t)
	long := strings.Repeat("a line\n", 20)
	w.commit("first", "kind.txt", "1\n", "mode.sh", "x\n", "odd \"name\"\n\té.txt", long, "image.bin", "a\x00b", "gone.txt", "1\n2\n", "z.txt", "1\n")
	w.git("mv", "odd \"name\"\n\té.txt", "moved.txt")
	require.NoError(t, os.Remove(filepath.Join(w.root, "kind.txt")))
	require.NoError(t, os.Symlink("z.txt", filepath.Join(w.root, "kind.txt")))
	require.NoError(t, os.Chmod(filepath.Join(w.root, "mode.sh"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(w.root, "gone.txt")))
	w.commit("second", "image.bin", "a\x00c", "new\nname.txt", "diff --git a/x b/x\n", "z.txt", "diff --git a/y b/y\n")

	files := w.must("git.show", `{}`)["files"].([]any)
	got := map[string]map[string]any{}
	for _, each := range files {
		file := each.(map[string]any)
		got[file["path"].(string)] = file
		require.True(t, strings.HasPrefix(file["patch"].(string), "diff --git "), file)
	}
	require.Len(t, got, 7)
	require.Equal(t, "odd \"name\"\n\té.txt", got["moved.txt"]["renamed_from"])
	require.Equal(t, "renamed", got["moved.txt"]["status"])
	require.Equal(t, "type_changed", got["kind.txt"]["status"])
	require.Equal(t, 2, strings.Count(got["kind.txt"]["patch"].(string), "diff --git a/kind.txt"))
	require.Contains(t, got["mode.sh"]["patch"], "new mode 100755")
	require.Equal(t, true, got["image.bin"]["binary"])
	require.Equal(t, []any{"deleted", 2, 0}, []any{got["gone.txt"]["status"], got["gone.txt"]["deletions"], got["gone.txt"]["additions"]})
	require.Equal(t, "added", got["new\nname.txt"]["status"])
	require.Contains(t, got["new\nname.txt"]["patch"], "+diff --git a/x b/x\n")
	require.Contains(t, got["z.txt"]["patch"], "+diff --git a/y b/y\n", "the last one is not mixed up with those before it")
}

func TestShow(t *testing.T) {
	w := newWorkshop(t)
	first := w.commit("first", "a.txt", "1\n")
	w.git("checkout", "-q", "-b", "side")
	w.commit("beside", "b.txt", "b\n")
	w.git("checkout", "-q", "main")
	w.commit("second", "a.txt", "2\n")
	w.git("-c", "user.name=a", "-c", "user.email=a@b", "merge", "-q", "--no-edit", "side")

	merge := w.must("git.show", `{}`)
	require.Len(t, merge["commit"].(map[string]any)["parents"], 2)
	require.Equal(t, []any{"b.txt"}, rows(merge["files"], "path"), "against the first parent")
	root := w.must("git.show", `{"ref":"`+first+`"}`)
	require.Equal(t, []any{"added"}, rows(root["files"], "status"), "against the empty tree")
	require.Empty(t, w.must("git.show", `{"paths":["a.txt"]}`)["files"])
	require.Equal(t, []any{"b.txt"}, w.must("git.log", `{"limit":1,"files":true}`)["commits"].([]any)[0].(map[string]any)["files"])
}

func TestBlame(t *testing.T) {
	w := newWorkshop(t)
	first := w.commit("first", "a.txt", "one\ntwo\nthree\n", "empty.txt", "")
	second := w.commit("second", "a.txt", "one\nTWO\nthree\n")
	w.write("a.txt", "one\nTWO\nthree\n\tfour\n")

	lines := w.must("git.blame", `{"path":"a.txt"}`)["lines"].([]any)
	require.Equal(t, map[string]any{"line": 1, "hash": first, "author": "Ada", "date": "2026-07-28T10:00:00+02:00", "text": "one"}, lines[0])
	require.Equal(t, []any{first, second, first, strings.Repeat("0", 40)}, rows(lines, "hash"))
	require.Equal(t, "\tfour", lines[3].(map[string]any)["text"])
	require.Len(t, w.must("git.blame", `{"path":"a.txt","ref":"HEAD"}`)["lines"], 3)

	part := w.must("git.blame", `{"path":"a.txt","start":2,"lines":1}`)
	require.Equal(t, []any{"TWO"}, rows(part["lines"], "text"))
	require.Equal(t, true, part["truncated"])
	require.Empty(t, w.must("git.blame", `{"path":"empty.txt"}`)["lines"])
	w.refuses(fault.InvalidParams, "git.blame", `{"path":"a.txt","start":99}`)
	w.refuses(fault.ToolFailed, "git.blame", `{"path":"missing.txt"}`)
}

func TestFiles(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "", "dir/b.txt", "", ".gitignore", "*.log\n")
	w.commit("second", "dir/c\n.txt", "")
	w.write("x.log", "")
	w.write("new.txt", "")
	require.Equal(t, []any{".gitignore", "a.txt", "dir/b.txt", "dir/c\n.txt"}, w.must("git.files", `{}`)["files"])
	require.Equal(t, []any{".gitignore", "a.txt", "dir/b.txt"}, w.must("git.files", `{"ref":"HEAD~1"}`)["files"])
	require.Equal(t, []any{"dir/b.txt", "dir/c\n.txt"}, w.must("git.files", `{"ref":"HEAD","paths":["dir"]}`)["files"])
	require.Len(t, w.must("git.files", `{"ref":"HEAD","paths":["."]}`)["files"], 4)
	require.Contains(t, w.must("git.files", `{"untracked":true}`)["files"], "new.txt")
	require.NotContains(t, w.must("git.files", `{"untracked":true}`)["files"], "x.log")
	require.Equal(t, true, w.must("git.files", `{"limit":1}`)["truncated"])
	w.refuses(fault.InvalidParams, "git.files", `{"ref":"HEAD","untracked":true}`)
}

func TestEveryKindOfRepository(t *testing.T) {
	t.Run("sha256", func(t *testing.T) {
		w := newWorkshop(t, "--object-format=sha256")
		hash := w.commit("first", "a.txt", "1\n")
		require.Len(t, hash, 64)
		require.Equal(t, []any{"added"}, rows(w.must("git.show", `{}`)["files"], "status"))
		require.Equal(t, []any{hash}, rows(w.must("git.blame", `{"path":"a.txt"}`)["lines"], "hash"))
		require.Equal(t, []any{"a.txt"}, w.must("git.log", `{"files":true}`)["commits"].([]any)[0].(map[string]any)["files"])
	})
	t.Run("shallow clone", func(t *testing.T) {
		w := newWorkshop(t)
		w.commit("first", "a.txt", "1\n")
		w.commit("second", "a.txt", "2\n")
		w.git("clone", "-q", "--depth=1", "file://"+w.root, "clone")
		log := w.must("git.log", `{"repo":"clone"}`)
		require.Len(t, log["commits"], 1)
		require.Contains(t, log["note"], "shallow")
		shown := w.must("git.show", `{"repo":"clone"}`)
		require.Equal(t, []any{"added"}, rows(shown["files"], "status"))
		require.Contains(t, shown["note"], "git fetch --unshallow")
		require.Contains(t, w.must("git.blame", `{"repo":"clone","path":"a.txt"}`)["note"], "git fetch --unshallow")
		require.Nil(t, w.must("git.blame", `{"path":"a.txt"}`)["note"])
	})
	t.Run("nothing committed", func(t *testing.T) {
		w := newWorkshop(t)
		w.write("a.txt", "1\n")
		require.Contains(t, w.refuses(fault.InvalidParams, "git.blame", `{"path":"a.txt"}`), "there is no commit yet")
	})
	t.Run("linked working tree, submodule and subfolder", func(t *testing.T) {
		w := newWorkshop(t)
		w.commit("first", "dir/a.txt", "1\n")
		w.git("worktree", "add", "-q", "linked", "-b", "linked")
		require.Equal(t, "linked", w.must("git.status", `{"repo":"linked"}`)["branch"])
		w.git("submodule", "--quiet", "add", "./", "module")
		require.Equal(t, "main", w.must("git.status", `{"repo":"module"}`)["branch"])
		require.Equal(t, []any{"dir/a.txt"}, w.must("git.files", `{"repo":"dir","paths":["dir"]}`)["files"])
	})
	t.Run("orphan branch", func(t *testing.T) {
		w := newWorkshop(t)
		w.commit("first", "a.txt", "1\n")
		w.git("checkout", "-q", "--orphan", "new")
		require.Empty(t, w.must("git.log", `{}`)["commits"])
		require.Equal(t, []any{"added"}, rows(w.must("git.diff", `{}`)["files"], "status"))
	})
}

func TestAnswersAreBounded(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	w.commit("huge", "a.txt", "2\n", "b.txt", strings.Repeat("0123456789abcdef\n", 1<<16), "c.txt", "3\n")

	diff := w.must("git.diff", `{"to":"HEAD","max_bytes":5000}`)
	require.Equal(t, true, diff["truncated"])
	require.Contains(t, diff["note"], "cut at 5000 bytes: 3 files listed")
	files := diff["files"].([]any)
	require.Equal(t, []any{"a.txt", "b.txt", "c.txt"}, rows(files, "path"))
	require.Equal(t, []any{1, 65536, 1}, rows(files, "additions"))
	require.NotEmpty(t, files[0].(map[string]any)["patch"])
	require.Less(t, len(files[1].(map[string]any)["patch"].(string)), 5000)
	require.Empty(t, files[2].(map[string]any)["patch"])

	for _, args := range []string{`{"to":"HEAD"}`, `{"to":"HEAD","max_bytes":1000000}`} {
		require.Contains(t, w.must("git.diff", args)["note"], "cut at 262144 bytes")
	}
	blame := w.must("git.blame", `{"path":"b.txt"}`)
	require.Equal(t, true, blame["truncated"])
	require.NotEmpty(t, blame["lines"])
	for i := range 1200 {
		w.write(fmt.Sprint("many/", strings.Repeat("x", 240), i), "")
	}
	w.git("add", ".")
	for _, name := range []string{"git.status", "git.files"} {
		result := w.must(name, `{}`)
		require.Equal(t, true, result["truncated"], name)
		require.NotEmpty(t, result["files"], name)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	w := newWorkshop(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.table.Call(cancelled, "git.status", nil)
	require.ErrorIs(t, err, fault.ToolFailed)
	require.ErrorIs(t, err, context.Canceled)
}
