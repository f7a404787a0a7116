package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/journal"
)

// isWhole accepts the lines of these tests.
func isWhole(line []byte) bool {
	return bytes.HasPrefix(line, []byte("<")) && bytes.HasSuffix(line, []byte(">"))
}

// read returns the lines of a journal.
func read(file *os.File) (lines []string, err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	err = journal.Read(file, 0, info.Size(), isWhole, func(line []byte) error {
		if !isWhole(line) {
			return errDamaged
		}
		lines = append(lines, string(line))
		return nil
	})
	return lines, err
}

var errDamaged = errors.New("damaged")

func create(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// A last line that a crash cut short is left out; Recover cuts it off.
func Example() {
	file, err := os.CreateTemp("", "journal")
	if err != nil {
		return
	}
	defer os.Remove(file.Name())
	for i, line := range []string{"<plan>\n", "<result>\n"} {
		fmt.Println(journal.Append(file, int64(7*i), []byte(line), true))
	}
	_, _ = file.WriteAt([]byte("<res"), 16) // a crash
	lines, err := read(file)
	fmt.Println(lines, err)
	fmt.Println(journal.Recover(file, 7, 16, 20))
	// Output:
	// <nil>
	// <nil>
	// [<plan> <result>] <nil>
	// <nil>
}

func TestWhatIsTornAndWhatIsDamaged(t *testing.T) {
	long := "<" + strings.Repeat("x", 1200) + ">\n"
	holed := []byte(long)
	clear(holed[505:1017]) // one sector, behind the seven bytes of the first line
	for text, want := range map[string]struct {
		lines int
		err   error
	}{
		"":                         {0, nil},
		"<a>\n<b>\n":               {2, nil},
		"<a>\n<b":                  {1, nil},
		"<a>\n<b>":                 {1, nil},
		"<a>\n<b>x":                {1, journal.ErrNoNewline},
		"<a>\nb\n":                 {1, errDamaged},
		"<a>\nb\n<c>\n":            {1, errDamaged},
		"<plan>\n" + string(holed): {1, nil},
		"<plan>\n<" + strings.Repeat("x", 503) + ">\x00": {1, nil}, // the newline, alone in its sector, was lost
		"<plan>\n<" + strings.Repeat("x", 502) + ">\x00": {1, journal.ErrNoNewline},
	} {
		file := create(t)
		_, err := file.WriteString(text)
		require.NoError(t, err)
		lines, err := read(file)
		require.ErrorIs(t, err, want.err, text[:min(20, len(text))])
		require.Len(t, lines, want.lines, text[:min(20, len(text))])
	}
}

// failing fails a call of each kind.
type failing struct {
	*os.File
	sync, truncate error
}

func (f failing) Sync() error { return f.sync }

func (f failing) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.File.Truncate(size)
}

// What could not be read again is not written.
func TestALineHasABound(t *testing.T) {
	file := create(t)
	longest := append(bytes.Repeat([]byte("<"), journal.MaxLine), '\n')
	require.NoError(t, journal.Append(file, 0, longest, false))
	lengths := []int{}
	require.NoError(t, journal.Read(file, 0, int64(len(longest)), func([]byte) bool { return true }, func(line []byte) error {
		lengths = append(lengths, len(line))
		return nil
	}))
	require.Equal(t, []int{journal.MaxLine}, lengths)
	require.ErrorIs(t, journal.Append(file, int64(len(longest)), append(longest, '\n'), false), journal.ErrLongLine)
}

func TestAFailedAppendIsCutOff(t *testing.T) {
	refused := errors.New("refused")
	file := create(t)
	require.NoError(t, journal.Append(file, 0, []byte("<a>\n"), true))
	require.NoError(t, journal.Append(failing{File: file, sync: refused}, 4, []byte("<b>\n"), false))
	err := journal.Append(failing{File: file, sync: refused}, 8, []byte("<c>\n"), true)
	require.ErrorIs(t, err, refused)
	require.NotErrorIs(t, err, journal.ErrLineRemains)
	lines, err := read(file)
	require.NoError(t, err)
	require.Equal(t, []string{"<a>", "<b>"}, lines)
	err = journal.Append(failing{file, refused, refused}, 8, []byte("<c>\n"), true)
	require.ErrorIs(t, err, refused)
	require.ErrorIs(t, err, journal.ErrLineRemains)
	require.NoError(t, journal.Recover(file, 4, 8, 12))
	lines, err = read(file)
	require.NoError(t, err)
	require.Len(t, lines, 2)
}
