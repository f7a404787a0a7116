package git_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/git"
	"savant/fault"
)

// quoted writes a value as JSON for the arguments of a call.
func quoted(value string) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestArgumentsCannotBeOptions(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	target := filepath.Join(t.TempDir(), "written")
	attempts := []string{"--output=" + target, "-o" + target, "--upload-pack=touch " + target, "-c", "-ccore.pager=touch " + target,
		"--exec=touch " + target, "--ext-diff", "--no-index", "-", "--", "--git-dir=/", "HEAD --output=" + target, "HEAD\n--all", "HEAD\x00", "$(touch " + target + ")",
		"; touch " + target, "^HEAD", "HEAD..", "a..b", strings.Repeat("x", 400), "HEAD:a.txt", "@{-99}"}
	refused := []struct{ tool, arguments string }{{"git.log", `{"ref":%}`}, {"git.show", `{"ref":%}`}, {"git.diff", `{"from":%}`}, {"git.files", `{"ref":%}`},
		{"git.diff", `{"to":%}`}, {"git.diff", `{"from":%,"merge_base":true}`}, {"git.blame", `{"path":"a.txt","ref":%}`}}
	// Nothing is found for these; nothing may happen.
	harmless := []struct{ tool, arguments string }{{"git.log", `{"paths":[%]}`}, {"git.diff", `{"paths":[%]}`}, {"git.files", `{"paths":[%]}`},
		{"git.blame", `{"path":%}`}, {"git.log", `{"author":%,"text":%}`}, {"git.status", `{"repo":%}`}}
	for i, attempt := range attempts {
		for j, each := range refused {
			if os.Getenv("CI") != "" || (i+j)%len(refused) < 2 { // each call runs git several times
				w.refuses(fault.InvalidParams, each.tool, strings.ReplaceAll(each.arguments, "%", quoted(attempt)))
			}
		}
		for j, each := range harmless {
			if os.Getenv("CI") != "" || (i+j)%len(harmless) < 2 {
				_, _ = w.call(each.tool, strings.ReplaceAll(each.arguments, "%", quoted(attempt)))
			}
		}
	}
	require.NoFileExists(t, target)
	w.refuses(fault.InvalidParams, "git.log", `{"since":"--output=`+target+`"}`)
	w.refuses(fault.InvalidParams, "git.log", `{"author":"a\nb"}`)
	w.write("--output=x", "an option, by its name\n")
	require.Equal(t, []any{"--output=x"}, w.must("git.files", `{"untracked":true,"paths":["--output=x"]}`)["files"])
}

func TestPathsStayInTheRepository(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	require.NoError(t, os.Symlink("/etc", filepath.Join(w.root, "link")))
	w.commit("link")
	for _, path := range []string{"/etc/passwd", "../x", "dir/../../x", "", "a\x00b", ".."} {
		for name, args := range map[string]string{"git.log": `{"paths":[%]}`, "git.diff": `{"paths":[%]}`, "git.files": `{"paths":[%]}`, "git.blame": `{"path":%}`} {
			w.refuses(fault.InvalidParams, name, strings.Replace(args, "%", quoted(path), 1))
		}
	}
	w.refuses(fault.ToolFailed, "git.blame", `{"path":"link/passwd"}`)
	require.Equal(t, []any{"/etc"}, rows(w.must("git.blame", `{"path":"link"}`)["lines"], "text"), "the link itself, not what it leads to")
	require.Empty(t, w.must("git.files", `{"untracked":true,"paths":["link/passwd"]}`)["files"])
	require.Empty(t, w.must("git.files", `{"paths":[":(exclude)a.txt"]}`)["files"], "no pathspec magic")
}

func TestRepositoriesStayInTheRoots(t *testing.T) {
	outside := newWorkshop(t)
	outside.commit("secret", "secret.txt", "hunter2\n")
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	require.NoError(t, os.Symlink(outside.root, filepath.Join(w.root, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(w.root, "sub"), 0o755))

	gitfile := filepath.Join(w.root, "gitfile")
	require.NoError(t, os.Mkdir(gitfile, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(gitfile, ".git"), []byte("gitdir: "+outside.root+"/.git\n"), 0o644))

	worktree := filepath.Join(w.root, "worktree")
	w.git("init", "-q", "worktree")
	w.gitIn(worktree, "config", "core.worktree", outside.root)

	w.git("clone", "-q", "--shared", outside.root, "borrowed")

	linked := filepath.Join(w.root, "linked")
	w.git("init", "-q", "linked")
	require.NoError(t, os.RemoveAll(filepath.Join(linked, ".git", "objects")))
	require.NoError(t, os.Symlink(filepath.Join(outside.root, ".git", "objects"), filepath.Join(linked, ".git", "objects")))

	for _, repo := range []string{outside.root, "../" + filepath.Base(outside.root), "link", "link/missing", "gitfile", "worktree", "borrowed", "linked", "/", "..", "/nowhere/at/all"} {
		for _, name := range []string{"git.status", "git.log", "git.diff", "git.show", "git.files"} {
			said := w.refuses(fault.ToolDenied, name, `{"repo":`+quoted(repo)+`}`)
			require.NotContains(t, said, "hunter2")
			require.NotContains(t, said, outside.root)
		}
	}
	for _, repo := range []string{"missing", "a.txt", "a\u0000b"} {
		w.refuses(fault.InvalidParams, "git.status", `{"repo":`+quoted(repo)+`}`)
	}

	w.table = w.engine(git.Options{Roots: []string{filepath.Join(w.root, "sub")}})
	w.refuses(fault.InvalidParams, "git.status", `{}`) // the repository is above the root
	w.table = w.engine(git.Options{Roots: []string{filepath.Join(w.root, "nowhere")}})
	require.Contains(t, w.refuses(fault.ToolFailed, "git.status", `{}`), "SAVANT_PATH cannot be read: no such file or directory; it was moved or deleted")
	// Another root is not taken for the first.
	w.table = w.engine(git.Options{Roots: []string{filepath.Join(w.root, "nowhere"), w.root}})
	w.refuses(fault.ToolFailed, "git.status", `{}`)
	w.must("git.status", `{"repo":`+quoted(w.root)+`}`)
	w.table = w.engine(git.Options{Roots: []string{filepath.Join(w.root, "nowhere"), w.root, outside.root}})
	require.Equal(t, "main", w.must("git.status", `{"repo":`+quoted(outside.root)+`}`)["branch"])
}

func TestTheRootMayBeALink(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(w.root, link))
	w.table = w.engine(git.Options{Roots: []string{link}})
	require.Equal(t, true, w.must("git.status", `{}`)["clean"])
	require.Equal(t, true, w.must("git.status", `{"repo":`+quoted(link)+`}`)["clean"])
}

func TestABareRepositoryHasNothingToShow(t *testing.T) {
	w := newWorkshop(t)
	w.git("init", "-q", "--bare", "bare.git")
	said := w.refuses(fault.ToolFailed, "git.log", `{"repo":"bare.git"}`)
	require.Contains(t, said, "bare repository, which has no working tree; git worktree add")
	require.NotContains(t, said, "safe.bareRepository")
	w.git("init", "-q", "plain")
	w.gitIn(filepath.Join(w.root, "plain"), "config", "core.bare", "true")
	require.Contains(t, w.refuses(fault.ToolFailed, "git.log", `{"repo":"plain"}`), "git worktree add")
}

// A repository that git does not accept is not told as none.
func TestADamagedRepositoryIsNotTakenForNone(t *testing.T) {
	w := newWorkshop(t)
	w.write("src/a.txt", "")
	w.write(".git/HEAD", "garbage")
	require.Contains(t, w.refuses(fault.ToolFailed, "git.log", `{"repo":"src"}`), "repo: .git is damaged")
}

// The data of a main repository outside the roots is read for a working tree that it
// lists, and for no folder that only says so.
func TestALinkedWorkingTreeReadsItsMainRepository(t *testing.T) {
	outside := newWorkshop(t)
	outside.commit("hunter2 first", "secret.txt", "hunter2\n")
	outside.git("branch", "side")
	w := newWorkshop(t)
	linked := filepath.Join(w.root, "linked")
	outside.git("worktree", "add", "-q", linked, "side")
	outside.git("worktree", "add", "-q", filepath.Join(w.root, "other"), "-b", "other")
	outside.git("clone", "-q", "--bare", ".", filepath.Join(outside.root, "bare.git"))
	outside.gitIn(filepath.Join(outside.root, "bare.git"), "worktree", "add", "-q", filepath.Join(w.root, "ofbare"), "-b", "ofbare")
	for repo, branch := range map[string]string{"linked": "side", "ofbare": "ofbare"} {
		require.Equal(t, branch, w.must("git.status", `{"repo":"`+repo+`"}`)["branch"])
		require.Len(t, w.must("git.log", `{"repo":"`+repo+`"}`)["commits"], 1)
		require.Len(t, w.must("git.show", `{"repo":"`+repo+`"}`)["files"], 1)
	}
	require.NoError(t, os.Mkdir(filepath.Join(linked, "sub"), 0o755))
	require.Equal(t, "side", w.must("git.status", `{"repo":"linked/sub"}`)["branch"])
	w.refuses(fault.ToolDenied, "git.status", `{"repo":`+quoted(outside.root)+`}`)

	entry := filepath.Join(outside.root, ".git", "worktrees", "linked")
	pretend := func(name, gitdir string, files ...string) string {
		folder := filepath.Join(w.root, name)
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, ".git"), []byte("gitdir: "+gitdir+"\n"), 0o644))
		for i := 0; i < len(files); i += 2 {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(w.root, files[i])), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(w.root, files[i]), []byte(files[i+1]+"\n"), 0o644))
		}
		return name
	}
	own := filepath.Join(w.root, "own", "worktrees", "x")
	for _, repo := range []string{
		pretend("copied", entry),
		pretend("nested", filepath.Join(outside.root, ".git")),
		pretend("back", own, "own/worktrees/x/gitdir", filepath.Join(w.root, "back", ".git"), "own/worktrees/x/commondir", filepath.Join(outside.root, ".git"), "own/worktrees/x/HEAD", "ref: refs/heads/main"),
	} {
		for _, name := range []string{"git.status", "git.log", "git.diff", "git.show", "git.files"} {
			said := w.refuses(fault.ToolDenied, name, `{"repo":`+quoted(repo)+`}`)
			require.Contains(t, said, "SAVANT_GIT_ROOTS", repo)
			require.NotContains(t, said, "hunter2")
			require.NotContains(t, said, outside.root)
		}
	}
	// A link in the main repository does not lead further.
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hunter2\n"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(outside.root, ".git", "description2")))
	w.refuses(fault.ToolDenied, "git.log", `{"repo":"linked"}`)
	require.NoError(t, os.Remove(filepath.Join(outside.root, ".git", "description2")))
	require.NoError(t, os.Rename(linked, filepath.Join(w.root, "moved")))
	require.Contains(t, w.refuses(fault.ToolDenied, "git.log", `{"repo":"moved"}`), "git worktree repair")
}

// What a clone left out is named with the command that brings it.
func TestWhatACloneLeftOut(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	w.git("branch", "side")
	w.git("tag", "v1")
	w.commit("second", "a.txt", "2\n")
	w.git("config", "uploadpack.allowFilter", "true")
	w.git("clone", "-q", "--depth=1", "--no-single-branch", "file://"+w.root, "shallow")
	w.git("clone", "-q", "--single-branch", "file://"+w.root, "narrow")
	w.git("clone", "-q", "--filter=blob:none", "file://"+w.root, "partial")
	w.git("clone", "-q", "file://"+w.root, "whole")
	w.git("init", "-q", "empty")
	w.gitIn(filepath.Join(w.root, "shallow"), "commit", "-q", "--allow-empty", "-m", "third")
	for _, c := range []struct {
		code             fault.Code
		repo, tool, args string
		says             string
	}{
		{fault.InvalidParams, "shallow", "git.diff", `"from":"side","to":"HEAD","merge_base":true`, "git fetch --unshallow"},
		{fault.InvalidParams, "shallow", "git.show", `"ref":"HEAD~2"`, "git fetch --unshallow"},
		{fault.InvalidParams, "shallow", "git.log", `"ref":"v1"`, "git fetch --unshallow"},
		{fault.InvalidParams, "narrow", "git.log", `"ref":"side"`, "git fetch origin NAME:NAME"},
		{fault.InvalidParams, "empty", "git.diff", `"to":"main"`, "there is no commit yet: git add -A"},
		{fault.ToolFailed, "partial", "git.diff", `"from":"HEAD~1","to":"HEAD"`, "git fetch --refetch --no-filter"},
		{fault.ToolFailed, "partial", "git.show", `"ref":"HEAD~1"`, "partial clone"},
	} {
		if c.tool == "git.log" && c.repo == "shallow" {
			w.gitIn(filepath.Join(w.root, "shallow"), "tag", "-d", "v1")
		}
		require.Contains(t, w.refuses(c.code, c.tool, `{"repo":"`+c.repo+`",`+c.args+`}`), c.says)
	}
	said := w.refuses(fault.InvalidParams, "git.log", `{"repo":"whole","ref":"nowhere"}`)
	require.NotContains(t, said, "fetch")
	require.Len(t, w.must("git.log", `{"repo":"whole","ref":"side"}`)["commits"], 1, "a branch that only origin has")
	w.gitIn(filepath.Join(w.root, "partial"), "-c", "protocol.file.allow=always", "fetch", "-q", "--refetch", "--no-filter")
	w.must("git.show", `{"repo":"partial","ref":"HEAD~1"}`)
}

// TestNoProgramOfTheRepositoryIsRun configures every program git would run on
// what these tools do, each of which would leave a file behind.
func TestNoProgramOfTheRepositoryIsRun(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n", "b.txt", "b\n", ".gitattributes", "*.txt filter=evil diff=evil\n")
	marks := t.TempDir()
	script := filepath.Join(t.TempDir(), "evil.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntouch "+marks+"/$1\ncat\n"), 0o755))
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean",
		"filter.evil.smudge", "filter.evil.process", "gpg.program", "core.editor", "core.askPass", "core.alternateRefsCommand"} {
		w.git("config", key, script+" "+key)
	}
	w.git("config", "log.showSignature", "true")
	w.git("config", "filter.evil.required", "true")
	hooks := filepath.Join(w.root, ".git", "hooks")
	require.NoError(t, os.MkdirAll(hooks, 0o755))
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "post-checkout"} {
		require.NoError(t, os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\ntouch "+marks+"/"+hook+"\n"), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(w.root, "a.txt"), []byte("2\n"), 0o644))
	for _, variable := range []string{"GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS"} {
		t.Setenv(variable, script+" "+variable)
	}
	t.Setenv("GIT_DIR", "/nowhere")
	index, err := os.ReadFile(filepath.Join(w.root, ".git", "index"))
	require.NoError(t, err)

	callEverything(w)
	left, err := os.ReadDir(marks)
	require.NoError(t, err)
	require.Empty(t, left)
	after, err := os.ReadFile(filepath.Join(w.root, ".git", "index"))
	require.NoError(t, err)
	require.Equal(t, index, after, "nothing is written")
	require.Equal(t, "-1\n+2\n", strings.SplitAfterN(w.must("git.diff", `{}`)["files"].([]any)[0].(map[string]any)["patch"].(string), "@@\n", 2)[1])
}

func callEverything(w *workshop) {
	for name, args := range map[string]string{"git.status": `{}`, "git.log": `{"files":true}`, "git.diff": `{}`, "git.show": `{}`,
		"git.blame": `{"path":"a.txt"}`, "git.files": `{"untracked":true}`} {
		w.must(name, args)
	}
	w.must("git.diff", `{"staged":true}`)
	w.must("git.diff", `{"to":"HEAD"}`)
}

func TestAFilterThatCannotBeSwitchedOffIsRefused(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	w.git("config", "filter.a=b.clean", "touch x")
	w.refuses(fault.ToolDenied, "git.status", `{}`)
}

func TestNoProgramOfASubmoduleIsRun(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n", ".gitattributes", "a.txt filter=evil\n")
	w.git("submodule", "--quiet", "add", "./", "module")
	w.commit("second")
	mark := filepath.Join(t.TempDir(), "mark")
	w.gitIn(filepath.Join(w.root, "module"), "config", "filter.evil.clean", "touch "+mark+"; cat")
	w.write("module/a.txt", "2\n")
	callEverything(w)
	require.NoFileExists(t, mark)
}

// In another encoding the fields of a commit would be split at the wrong places, and the
// repository would decide what stands in which.
func TestCommitsAreReadInUTF8WhateverIsConfigured(t *testing.T) {
	w := newWorkshop(t)
	w.commit("Größe", "a.txt", "1\n")
	for _, encoding := range []string{"UTF-16", "ISO-8859-1"} {
		w.git("config", "i18n.logOutputEncoding", encoding)
		require.Equal(t, []any{"Größe"}, rows(w.must("git.log", `{}`)["commits"], "subject"), encoding)
		require.Equal(t, "Größe", w.must("git.show", `{}`)["commit"].(map[string]any)["subject"], encoding)
	}
}

func TestFilesGitIsConfiguredToReadAreNotQuoted(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hunter2 !\n"), 0o644))
	w.git("config", "diff.orderFile", secret)
	w.write("ignored-revs", "")
	w.git("config", "blame.ignoreRevsFile", "ignored-revs")
	callEverything(w)
	w.git("config", "blame.ignoreRevsFile", secret)
	require.NotContains(t, w.refuses(fault.ToolDenied, "git.blame", `{"path":"a.txt"}`), "hunter2")
	w.git("config", "include.path", secret)
	said := w.refuses(fault.ToolFailed, "git.status", `{}`)
	require.NotContains(t, said, "hunter2")
	require.NotContains(t, said, secret)
}

func TestNothingIsFetched(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	w.git("config", "uploadpack.allowFilter", "true")
	w.git("clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+w.root, "partial")
	w.refuses(fault.ToolFailed, "git.show", `{"repo":"partial"}`)
}

func TestGitMayBeMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	table := engines.NewRegistry(engines.Options{})
	require.NoError(t, table.Add(git.Tools(git.Options{Roots: []string{t.TempDir()}})...))
	_, err := table.Call(t.Context(), "git.status", nil)
	require.ErrorIs(t, err, fault.EngineOffline)
}

func TestAStuckGitIsEndedWithItsChildren(t *testing.T) {
	script := filepath.Join(t.TempDir(), "git")
	t.Setenv("PATH", filepath.Dir(script)+string(os.PathListSeparator)+os.Getenv("PATH"))
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nsleep 600 &\nsleep 600\n"), 0o755))
	table, tools := engines.NewRegistry(engines.Options{}), git.Tools(git.Options{Roots: []string{t.TempDir()}})
	require.Equal(t, time.Minute, tools[0].Timeout)
	tools[0].Timeout = 50 * time.Millisecond
	require.NoError(t, table.Add(tools...))
	_, err := table.Call(t.Context(), "git.status", nil)
	require.ErrorIs(t, err, fault.ToolTimeout)
	require.ErrorContains(t, err, "git.status")
	require.ErrorContains(t, err, "50ms", "the timeout")
}
