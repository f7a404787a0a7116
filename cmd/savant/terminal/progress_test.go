package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call that takes long is spoken of after 300 ms and then once a second, and a short one never.
func TestProgressIsPaced(t *testing.T) {
	clock := time.Unix(0, 0)
	var out strings.Builder
	tell := progress(&out, func() time.Time { return clock })
	tell(1, 9, "indexing files")
	clock = clock.Add(299 * time.Millisecond)
	tell(2, 9, "indexing files")
	require.Empty(t, out.String())
	for done := range 4 {
		clock = clock.Add(500 * time.Millisecond)
		tell(float64(done), 9, "indexing files")
	}
	clock = clock.Add(time.Second)
	tell(7, 0, "ok \x1b[31mpay")
	require.Equal(t, "indexing files: 0 of 9\nindexing files: 2 of 9\n"+Visible("ok \x1b[31mpay")+"\n", out.String())
}

// The temporary line stays one line, whatever a call says.
func TestWhatGoesOnIsOneLine(t *testing.T) {
	require.Equal(t, ClearLine+"… ci.run 3s: one two 1 of 2", Elapsed(new(strings.Builder), "ci.run", 3900*time.Millisecond, "one\n two 1 of 2"))
}
