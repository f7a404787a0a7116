//go:build unix

package git_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/git"
	"savant/fault"
	"savant/internal/withheld"
)

// TestNoLinkOfARepositoryLeavesTheRoots replaces each kind of file and folder that
// git reads by a link to another repository's.
func TestNoLinkOfARepositoryLeavesTheRoots(t *testing.T) {
	outside := newWorkshop(t)
	secret := outside.commit("hunter2 in the message", "secret.txt", "hunter2\n")
	outside.git("gc", "-q")
	elsewhere := func(name string) string { return filepath.Join(outside.root, ".git", name) }
	require.NoError(t, os.WriteFile(filepath.Join(outside.root, "line"), []byte("hunter2 and more\n"), 0o644))
	line := filepath.Join(outside.root, "line")

	for name, target := range map[string]string{
		"objects/" + secret[:2]: filepath.Dir(elsewhere("objects/" + secret[:2] + "/x")), "objects/pack": elsewhere("objects/pack"), "objects/info": elsewhere("objects/info"),
		"refs": elsewhere("refs"), "refs/heads": elsewhere("refs/heads"), "refs/heads/theirs": elsewhere("packed-refs"), "packed-refs": elsewhere("packed-refs"), "HEAD": elsewhere("HEAD"),
		"index": elsewhere("index"), "info": elsewhere("info"), "info/exclude": line, "info/attributes": line, "modules": outside.root, "modules/m": elsewhere(""), "config": line,
		"shallow": line, "logs": elsewhere("logs"), "commondir": line, "worktrees/w": elsewhere(""), "objects/" + secret[:2] + "/" + secret[2:]: line, "refs/heads/gone": line + "-gone",
	} {
		w := newWorkshop(t)
		w.commit("first", "a.txt", "1\n")
		at := filepath.Join(w.root, ".git", filepath.FromSlash(name))
		require.NoError(t, os.RemoveAll(at))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.Symlink(target, at))
		for tool, args := range map[string]string{"git.status": `{}`, "git.log": `{}`, "git.diff": `{}`, "git.show": `{"ref":"` + secret + `"}`,
			"git.blame": `{"path":"a.txt"}`, "git.files": `{"untracked":true}`} {
			require.NotContains(t, w.refuses(fault.ToolDenied, tool, args), "hunter2", name)
		}
	}
}

func TestLinksWithinTheRootsAreFine(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	info := filepath.Join(w.root, ".git", "info")
	require.NoError(t, os.MkdirAll(filepath.Join(w.root, "shared"), 0o755))
	require.NoError(t, os.RemoveAll(info))
	require.NoError(t, os.Symlink("../shared", info))
	require.NoError(t, os.Symlink("refs/heads/nobody", filepath.Join(w.root, ".git", "ORIG_HEAD")))
	require.NoError(t, os.MkdirAll(filepath.Join(w.root, ".git", "hooks"), 0o755))
	require.NoError(t, os.Symlink("/bin/true", filepath.Join(w.root, ".git", "hooks", "pre-commit")), "hooks are not run")
	callEverything(w)
	w.git("worktree", "add", "-q", "linked")
	w.must("git.log", `{"repo":"linked"}`)
}

// Git reads which commit a submodule is at from wherever its .git leads.
func TestSubmodulesStayInTheRoots(t *testing.T) {
	outside := newWorkshop(t)
	secret := outside.commit("secret")
	w := newWorkshop(t)
	first := w.commit("first", "a.txt", "1\n")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+first+",sub")
	w.git("commit", "-q", "-m", "second")
	w.write("sub/.git", "gitdir: "+outside.root+"/.git\n")
	for _, tool := range []string{"git.diff", "git.status"} {
		require.NotContains(t, w.refuses(fault.ToolDenied, tool, `{}`), secret)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(w.root, "sub")))
	w.git("clone", "-q", w.root, "sub")
	require.Contains(t, quotedJSON(t, w.must("git.diff", `{}`)), "Subproject commit", "one inside is shown")
}

// An alternate inside the roots may name one outside.
func TestAlternatesOfAlternatesStayInTheRoots(t *testing.T) {
	outside := newWorkshop(t)
	outside.commit("secret", "secret.txt", "hunter2\n")
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	w.git("clone", "-q", "--shared", outside.root, "middle")
	w.git("clone", "-q", "--shared", "middle", "end")
	w.refuses(fault.ToolDenied, "git.log", `{"repo":"end"}`)
}

// TestNoPipeMakesGitWait puts pipes where git would read, which would wait for
// somebody to write.
func TestNoPipeMakesGitWait(t *testing.T) {
	for _, name := range []string{".git/HEAD", ".git/config", ".git/info/exclude", ".git/packed-refs", ".git/refs/heads/pipe", ".git/objects/info/alternates", ".gitignore", ".gitattributes", ".mailmap"} {
		w := newWorkshop(t)
		w.commit("first", "a.txt", "1\n")
		at := filepath.Join(w.root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		_ = os.Remove(at)
		require.NoError(t, syscall.Mkfifo(at, 0o644))
		for tool, args := range map[string]string{"git.status": `{}`, "git.log": `{}`, "git.blame": `{"path":"a.txt"}`} {
			w.refuses(fault.ToolDenied, tool, args)
		}
	}
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n")
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o644))
	for _, key := range []string{"core.excludesFile", "core.attributesFile", "mailmap.file"} {
		w.git("config", key, pipe)
	}
	callEverything(w)
}

// Files that may hold secrets are listed without what they hold, in every version.
func TestSecretFilesAreWithheld(t *testing.T) {
	w := newWorkshop(t)
	w.commit("first", "a.txt", "1\n", ".env", "TOKEN=hunter2\n", ".aws/credentials", "hunter2\n", "deploy/prod.env", "hunter2\nx\ny\nz\n")
	w.commit("second", "a.txt", "2\n", ".env", "TOKEN=hunter2x\n")
	w.git("mv", "deploy/prod.env", "notes.txt")
	w.commit("third")
	w.write(".env", "hunter2y\n")
	for _, call := range [][2]string{{"git.show", `{"ref":"HEAD~2"}`}, {"git.show", `{"ref":"HEAD~1"}`}, {"git.show", `{}`}, {"git.diff", `{}`},
		{"git.diff", `{"from":"HEAD~1"}`}, {"git.show", `{"ref":"HEAD~1","paths":[".env"]}`}} {
		answer := w.must(call[0], call[1])
		text := quotedJSON(t, answer)
		require.NotContains(t, text, "hunter2", "%v", call)
		require.Contains(t, text, `"withheld":true`, "%v", call)
		require.Contains(t, answer["note"], "SAVANT_SHOWN_FILES")
	}
	require.Contains(t, quotedJSON(t, w.must("git.show", `{"ref":"HEAD~1"}`)), "+2", "the others are shown")
	for _, path := range []string{".env", ".aws/credentials", ".ENV", "./.env"} {
		w.refuses(fault.ToolDenied, "git.blame", `{"path":`+quoted(path)+`}`)
	}
	shown, err := withheld.Except([]string{"*.env"})
	require.NoError(t, err)
	w.table = w.engine(git.Options{Roots: []string{w.root}, Withheld: shown})
	require.Contains(t, quotedJSON(t, w.must("git.show", `{"ref":"HEAD~1"}`)), "hunter2x")
	w.refuses(fault.ToolDenied, "git.blame", `{"path":".aws/credentials"}`)
}

func quotedJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
