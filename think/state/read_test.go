package state

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A line is read around its data; whatever the data holds, that is what a JSON
// reader makes of it.
func TestLineIsReadAsJSONReadsIt(t *testing.T) {
	for _, data := range []string{`null`, `{}`, `{"a":1,"state":"no","prev":"no","hash":"no"}`, `{"data":{"x":[],"data":2},"state":"}"}`, `",\"state\":\""`, `[1,2.50,"é"]`} {
		for version, last := range []Link{{}, {Version: 1, Hash: "00"}} {
			_, line, err := Seal(Key{Workflow: "w", Run: "r"}, last, Record{Version: version + 1, Kind: "result", Status: "running", Data: json.RawMessage(data), State: "abc"}, time.Unix(0, 0))
			require.NoError(t, err)
			var want Record
			require.NoError(t, json.Unmarshal(line, &want))
			got, err := recordOf(line)
			require.NoError(t, err)
			require.Equal(t, want, got, data)
		}
	}
}
