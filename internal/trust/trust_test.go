package trust_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/trust"
)

func part(t testing.TB, name, content string) trust.Part {
	t.Helper()
	made, err := trust.NewPart(trust.Command, name, ".savant/ci.yaml", content, "runs "+content)
	require.NoError(t, err)
	return made
}

// What is accepted is one content under one name, in one folder.
func TestAnAnswerIsAboutOneContent(t *testing.T) {
	configuration, path := t.TempDir(), t.TempDir()
	said := trust.Open(configuration, path)
	old, other := part(t, "tests", "old"), part(t, "tests", "other")
	require.Equal(t, trust.Unsaid, said.AnswerTo(old))
	require.ErrorIs(t, said.Require(old), fault.TrustRequired)
	unsaid := fault.From(said.Require(old)).Message()
	for _, named := range []string{"command tests", ".savant/ci.yaml", "savant trust"} {
		require.Contains(t, unsaid, named)
	}
	require.NoError(t, said.Accept(old))
	require.NoError(t, said.Require(old))
	require.Equal(t, trust.Changed, said.AnswerTo(other))
	require.Equal(t, trust.Unsaid, said.AnswerTo(part(t, "test", "old")), "another name")
	require.Equal(t, trust.Unsaid, trust.Open(configuration, t.TempDir()).AnswerTo(old), "another folder")
	require.Equal(t, trust.Unsaid, trust.Open(t.TempDir(), path).AnswerTo(old), "another user")
	server := old
	server.Kind = trust.Server
	require.Equal(t, trust.Unsaid, said.AnswerTo(server), "another kind")

	require.NoError(t, said.Refuse(other))
	require.Equal(t, trust.Refused, said.AnswerTo(other))
	require.Equal(t, trust.Accepted, said.AnswerTo(old), "a content that was accepted before")
	require.NoError(t, said.Refuse(old))
	require.ErrorIs(t, said.Require(old), fault.TrustRequired)
	require.NotEqual(t, unsaid, fault.From(said.Require(old)).Message(), "it says that a person refused")
	require.NoError(t, said.Accept(old))
	require.Equal(t, []string{"command:tests"}, said.AnsweredIDs())
	gone, err := said.Forget("command:tests")
	require.NoError(t, err)
	require.Equal(t, 1, gone)
	require.Equal(t, trust.Unsaid, said.AnswerTo(old))
}

// A link to a folder is the folder.
func TestAFolderByALink(t *testing.T) {
	configuration, path := t.TempDir(), t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, trust.Open(configuration, link).Accept(part(t, "a", "x")))
	require.True(t, trust.Open(configuration, path).Accepts(part(t, "a", "x")))
}

// What another process writes is noticed, and what two write at once is kept.
func TestProcessesShareWhatWasSaid(t *testing.T) {
	configuration, path := t.TempDir(), t.TempDir()
	reader := trust.Open(configuration, path)
	before := reader.Stamp()
	require.False(t, reader.Accepts(part(t, "0", "x")))
	var writing sync.WaitGroup
	for i := range 20 {
		writing.Go(func() {
			if err := trust.Open(configuration, path).Accept(part(t, fmt.Sprint(i), "x")); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	for i := range 20 {
		require.True(t, reader.Accepts(part(t, fmt.Sprint(i), "x")), i)
	}
	require.NotEqual(t, before, reader.Stamp())
	_, err := trust.Open(configuration, path).Forget()
	require.NoError(t, err)
	require.False(t, reader.Accepts(part(t, "0", "x")))
}

// A file that is damaged or of a newer version accepts nothing, and is not written
// over.
func TestADamagedFileAcceptsNothing(t *testing.T) {
	configuration, path := t.TempDir(), t.TempDir()
	require.NoError(t, trust.Open(configuration, path).Accept(part(t, "a", "x")))
	files, err := filepath.Glob(filepath.Join(configuration, "savant", "trust", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for _, damaged := range []string{"", "{", `{"version": 2}`, `{"version": 1, "answers": {}}`} {
		require.NoError(t, os.WriteFile(files[0], []byte(damaged), 0o600))
		said := trust.Open(configuration, path)
		require.ErrorIs(t, said.Require(part(t, "a", "x")), fault.TrustRequired, damaged)
		require.NotEqual(t, trust.Open(t.TempDir(), path).Require(part(t, "a", "x")).Error(), said.Require(part(t, "a", "x")).Error(), "it says that the list is damaged")
		require.ErrorIs(t, said.Accept(part(t, "a", "x")), fault.StateNotSaved, damaged)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.Equal(t, damaged, string(text))
	}
	require.NoError(t, os.Remove(files[0]))
	require.NoError(t, os.Mkdir(files[0], 0o700))
	require.ErrorIs(t, trust.Open(configuration, path).Require(part(t, "a", "x")), fault.TrustRequired)
}

// Without a folder of one's own nothing is accepted, and a relative one is none: it
// would be in the folder that is asked about.
func TestWithoutAFolderOfOnesOwn(t *testing.T) {
	for variables, expected := range map[string]string{
		"XDG_CONFIG_HOME=/x HOME=/h":        "/x",
		"XDG_CONFIG_HOME=.config HOME=":     "",
		"XDG_CONFIG_HOME=.config HOME=home": "",
		"XDG_CONFIG_HOME= HOME=":            "",
	} {
		got := trust.Configuration(func(name string) (string, bool) {
			for each := range strings.FieldsSeq(variables) {
				if value, ok := strings.CutPrefix(each, name+"="); ok {
					return value, true
				}
			}
			return "", false
		})
		require.Equal(t, expected, got, variables)
	}
	said := trust.Open("", t.TempDir())
	require.ErrorIs(t, said.Require(part(t, "a", "x")), fault.TrustRequired)
	require.ErrorIs(t, said.Accept(part(t, "a", "x")), fault.StateNotSaved)
	said.Allow(part(t, "a", "x"))
	require.NoError(t, said.Require(part(t, "a", "x")))
	require.ErrorIs(t, said.Require(part(t, "a", "y")), fault.TrustRequired)
}

// Of one part the last contents are remembered, of all parts some.
func TestOldContentsAreForgotten(t *testing.T) {
	said := trust.Open(t.TempDir(), t.TempDir())
	require.NoError(t, said.Accept(part(t, "other", "x")))
	for i := range 30 {
		require.NoError(t, said.Accept(part(t, "a", fmt.Sprint(i))))
	}
	require.Equal(t, trust.Changed, said.AnswerTo(part(t, "a", "9")))
	require.Equal(t, trust.Accepted, said.AnswerTo(part(t, "a", "10")))
	require.Equal(t, trust.Accepted, said.AnswerTo(part(t, "other", "x")))
}

// The digest of a folder is that of its parts, in any order, and changes with each.
func TestTheDigestOfAFolder(t *testing.T) {
	a, b := part(t, "a", "x"), part(t, "b", "x")
	require.Equal(t, trust.Digest([]trust.Part{a, b}), trust.Digest([]trust.Part{b, a}))
	seen := map[string]bool{}
	for _, parts := range [][]trust.Part{nil, {a}, {b}, {a, b}, {a, part(t, "b", "y")}, {part(t, "a\nb", "x")}} {
		require.False(t, seen[trust.Digest(parts)])
		seen[trust.Digest(parts)] = true
	}
}

func TestCommandLine(t *testing.T) {
	require.Equal(t, `sh -c "a \"b\" 'c'" --x=${HOME} "" "\u202ex" "two\nlines"`,
		trust.CommandLine("sh", "-c", `a "b" 'c'`, "--x=${HOME}", "", "\u202ex", "two\nlines"))
}
