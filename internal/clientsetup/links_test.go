package clientsetup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/clientsetup"
)

// inProject is a target with a project, and its resolved folder.
func inProject(t *testing.T) (clientsetup.Target, string) {
	target := target(t)
	resolved, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	target.Project = resolved
	return target, resolved
}

// treeOf is every file below a folder, with its content.
func treeOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		tree[path] = entry.Type().String()
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			tree[path] = string(text)
		}
		return nil
	}))
	return tree
}

// TestAProjectsLinksLeadNowhereElse: a clone links each file that setup writes, and each
// folder above it, out of the project; nothing there changes, whenever the link is made.
func TestAProjectsLinksLeadNowhereElse(t *testing.T) {
	t.Parallel()
	for _, client := range clientsetup.All() {
		target, _ := inProject(t)
		changes, err := client.Setup(target)
		if err != nil {
			continue // no configuration for a project
		}
		for at := range changes {
			t.Run(client.Name+" "+filepath.Base(changes[at].Path), func(t *testing.T) { linkedOut(t, client, at) })
		}
	}
}

func linkedOut(t *testing.T, client clientsetup.Client, at int) {
	for what, link := range map[string]func(outside, path string) string{
		"file":     func(outside, _ string) string { return filepath.Join(outside, "there") },
		"new file": func(outside, _ string) string { return filepath.Join(outside, "new") },
		"relative": func(outside, path string) string {
			return relativeTo(filepath.Dir(path), filepath.Join(outside, "there"))
		},
		"folder":      func(outside, _ string) string { return outside },
		"new folder":  func(outside, _ string) string { return filepath.Join(outside, "newer") },
		"two by two":  func(outside, _ string) string { return filepath.Join(outside, "back") },
		"later":       func(outside, _ string) string { return filepath.Join(outside, "there") },
		"later above": func(outside, _ string) string { return outside },
	} {
		target, project := inProject(t)
		outside, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		write(t, filepath.Join(outside, "there"), "{}", 0o600)
		require.NoError(t, os.Symlink(filepath.Join(outside, "there"), filepath.Join(outside, "back")))
		changes, err := client.Setup(target)
		require.NoError(t, err)
		path := changes[at].Path
		if strings.Contains(what, "folder") || strings.Contains(what, "above") {
			if path = filepath.Dir(path); path == project {
				continue
			}
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.Symlink(link(outside, path), path))
		before := treeOf(t, outside)
		if strings.HasPrefix(what, "later") {
			require.Error(t, clientsetup.Apply(changes[at:at+1], noon), what)
		} else {
			_, err = client.Setup(target)
			require.ErrorIs(t, err, fault.InvalidParams, what)
			require.ErrorContains(t, err, "link", what)
			_, err = client.Undo(target)
			require.ErrorIs(t, err, fault.InvalidParams, what)
			_, err = client.Configured(target)
			require.ErrorIs(t, err, fault.InvalidParams, what)
		}
		require.Equal(t, before, treeOf(t, outside), what)
	}
}

func relativeTo(folder, path string) string {
	below, err := filepath.Rel(folder, path)
	if err != nil {
		return path
	}
	return below
}

// A project's links that stay in it are followed, as are all of a person's own; the change
// says where they lead.
func TestLinksThatAreFollowed(t *testing.T) {
	t.Parallel()
	client := found(t, "claude-code")
	within, project := inProject(t)
	write(t, filepath.Join(project, "shared", "settings.json"), "{}\n", 0o600)
	require.NoError(t, os.Symlink("shared", filepath.Join(project, ".claude")))
	write(t, filepath.Join(project, "config", "mcp.json"), "{}\n", 0o600)
	require.NoError(t, os.Symlink(filepath.Join(project, "config", "mcp.json"), filepath.Join(project, ".mcp.json")))
	own, dotfiles := target(t), t.TempDir()
	dotfiles, err := filepath.EvalSymlinks(dotfiles)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(dotfiles, filepath.Join(own.Home, ".claude")))
	for folder, target := range map[string]clientsetup.Target{project: within, dotfiles: own} {
		changes, err := client.Setup(target)
		require.NoError(t, err)
		require.NotEqual(t, changes[1].Path, changes[1].Target)
		require.True(t, strings.HasPrefix(changes[1].Target, folder), changes[1].Target)
		require.NoError(t, clientsetup.Apply(changes, noon))
		text, err := os.ReadFile(changes[1].Target)
		require.NoError(t, err)
		require.Contains(t, string(text), "savant")
		info, err := os.Lstat(filepath.Dir(changes[1].Path))
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink, "the link stays")
		undone, err := client.Undo(target)
		require.NoError(t, err)
		require.NoError(t, clientsetup.Apply(undone, noon))
	}
	text, err := os.ReadFile(filepath.Join(project, "config", "mcp.json"))
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(text))
}
