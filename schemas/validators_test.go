package schemas_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/schemas"
)

func TestRepoPath(t *testing.T) {
	for _, path := range []string{"a", "a/b.go", ".github/x.yml", "a b/ü.txt", "..a", "a..b", ".gitignore"} {
		require.Empty(t, schemas.RepoPath{}.Check(path), path)
	}
	for _, path := range []string{"", "/a", "../a", "a/../b", "a/..", "a//b", "./a", "a/", `a\b`, "C:/a", "~/a", ".git/config", "a/.GIT/x", "a\x00b", "a\nb"} {
		require.NotEmpty(t, schemas.RepoPath{}.Check(path), "%q", path)
	}
}

func TestGitRef(t *testing.T) {
	for _, ref := range []string{"main", "HEAD", "feature/x-1", "v1.2.3", "deadbeef", "refs/heads/ü", "a@b"} {
		require.Empty(t, schemas.GitRef{}.Check(ref), ref)
	}
	for _, ref := range []string{"", "@", "-x", "/a", "a/", "a//b", "a..b", "a.", "a@{1}", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", `a\b`, ".a", "a/.b", "a.lock", "a\x7fb"} {
		require.NotEmpty(t, schemas.GitRef{}.Check(ref), "%q", ref)
	}
}

func TestValidators(t *testing.T) {
	set, err := schemas.Load()
	require.NoError(t, err)
	_, err = set.Validator("git_rev")
	require.ErrorIs(t, err, fault.SchemaNotFound)
	require.ErrorContains(t, err, `"git_ref"`)
	own, err := set.With(map[string]any{"Local": map[string]any{"type": "string"}})
	require.NoError(t, err)
	by, err := own.Validator("git_ref")
	require.NoError(t, err)
	require.NoError(t, schemas.CheckText(by, []any{"a", "b"}, ""))
	err = schemas.CheckText(by, []any{"a", "b c", 3}, "/names")
	require.ErrorIs(t, err, fault.ValidationFailed)
	require.Equal(t, "/names/1", fault.From(err).Diagnostics[0].Pointer)
	require.Equal(t, "/names/2", fault.From(err).Diagnostics[1].Pointer)
}
