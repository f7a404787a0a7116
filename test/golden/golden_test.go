package golden_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/test/golden"
)

// failing is a test that only records whether it failed.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Name() string          { return "failing" }
func (f *failing) Errorf(string, ...any) { f.failed = true }
func (f *failing) FailNow()              { f.failed = true; runtime.Goexit() }

// fails reports whether a comparison fails its test.
func fails(compare func(t testing.TB)) bool {
	recorder, done := &failing{}, make(chan struct{})
	go func() {
		defer close(done)
		compare(recorder)
	}()
	<-done
	return recorder.failed
}

func TestMessages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "messages.golden")
	messages := map[string]string{"b": "second", "a\n": "first\nof two lines", strings.Repeat("x", 200): "third"}
	require.True(t, fails(func(t testing.TB) { golden.Messages(t, false, file, messages) }), "there is no file")
	golden.Messages(t, true, file, messages)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "\"a\\n\"\n\tfirst\n\tof two lines\nb\n\tsecond\n"+strings.Repeat("x", 157)+"…\n\tthird\n", string(text))
	golden.Messages(t, false, file, messages)

	delete(messages, "b")
	require.True(t, fails(func(t testing.TB) { golden.Messages(t, false, file, messages) }), "a case is missing")
	messages["b"] = "another"
	require.True(t, fails(func(t testing.TB) { golden.Messages(t, false, file, messages) }), "the wording differs")
}

func TestSection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	page := "# Page\n<!-- generated: a -->\n<!-- end -->\nrest\n"
	require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
	require.True(t, fails(func(t testing.TB) { golden.Section(t, false, file, "a", "text") }), "it is not there yet")
	require.True(t, fails(func(t testing.TB) { golden.Section(t, true, file, "b", "text") }), "there is no such section")
	golden.Section(t, true, file, "a", "text\n")
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "# Page\n<!-- generated: a -->\n\ntext\n\n<!-- end -->\nrest\n", string(written))
	golden.Section(t, false, file, "a", "text")
	require.True(t, fails(func(t testing.TB) { golden.Section(t, false, file, "a", "other") }), "it differs")
}
