package git_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/git"
	"savant/fault"
)

func TestARepositoryIsDescribed(t *testing.T) {
	w := newWorkshop(t)
	described := func() git.Description {
		found, err := git.Describe(t.Context(), git.Options{Roots: []string{w.root}})
		require.NoError(t, err)
		return found
	}
	require.Equal(t, git.Description{Branch: "main", Files: []string{}}, described(), "nothing is committed yet")
	w.commit("first", "a.go", "package a", "sub/b.go", "package b")
	w.git("tag", "main") // a branch and a tag of one name
	w.git("update-ref", "refs/remotes/origin/login", "HEAD")
	head := w.commit("second", "a.go", "package a // changed")
	w.write("untracked.go", "package a")
	require.Equal(t, git.Description{Branch: "main", Head: head, Branches: []string{"main", "login", "origin/login"}, Files: []string{"a.go", "sub/b.go"}, Recent: []string{"a.go", "sub/b.go"}}, described())
	w.git("checkout", "-q", "--detach")
	require.Empty(t, described().Branch)
	require.Equal(t, head, described().Head)
}

func TestAFolderWithoutARepositoryIsNotDescribed(t *testing.T) {
	_, err := git.Describe(t.Context(), git.Options{Roots: []string{t.TempDir()}})
	require.ErrorIs(t, err, fault.InvalidParams)
}
