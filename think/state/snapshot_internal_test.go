package state

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/internal/jsonvalue"
)

// The file of a snapshot is what encoding/json makes of it.
func TestSnapshotFileIsIndentedJSON(t *testing.T) {
	d := &Dir{options: Options{Now: func() time.Time { return time.Unix(0, 0) }}}
	values := rapid.MapOf(rapid.String(), rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int(), func(i int) any { return i }),
		rapid.Map(rapid.SliceOf(rapid.Bool()), func(b []bool) any { return b }),
		rapid.Just[any](map[string]any{}), rapid.Just[any](nil)))
	rapid.Check(t, func(t *rapid.T) {
		state, err := jsonvalue.Encode(values.Draw(t, "state"))
		require.NoError(t, err)
		given := Snapshot{Version: 3, Status: "done", Hash: "h", Record: "r", State: state}
		data, err := EncodeSnapshot(Key{Workflow: "w", Run: "r"}, given, d.options.Now())
		require.NoError(t, err)

		var read Snapshot
		require.NoError(t, json.Unmarshal(data, &read))
		plain, err := jsonvalue.Encode(read)
		require.NoError(t, err)
		var want bytes.Buffer
		require.NoError(t, json.Indent(&want, plain, "", "  "))
		require.Equal(t, want.String()+"\n", string(data))
		require.Equal(t, digestOf(state, ""), read.Digest)
	})
	for _, bad := range []string{"", "{", "1 2", "nul"} {
		_, err := EncodeSnapshot(Key{Workflow: "w", Run: "r"}, Snapshot{State: json.RawMessage(bad)}, d.options.Now())
		require.Error(t, err, "%q", bad)
	}
}
