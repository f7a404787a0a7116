package sessions_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/rules"
	"savant/rules/sessions"
)

// longSession is a recording of many calls with long results, made as it is read. It notes the
// largest heap.
type longSession struct {
	left int
	text bytes.Buffer
	heap uint64
}

func (l *longSession) Read(into []byte) (int, error) {
	if l.text.Len() == 0 {
		if l.left--; l.left < 0 {
			return 0, io.EOF
		}
		if l.left%500 == 0 {
			runtime.GC() // garbage does not count, whatever GOGC is
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			l.heap = max(l.heap, now.HeapAlloc)
		}
		fmt.Fprintf(&l.text, `{"type":"assistant","sessionId":"s","message":{"content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"x"}}]}}`+"\n", l.left)
		fmt.Fprintf(&l.text, `{"type":"user","sessionId":"s","message":{"content":[{"tool_use_id":"t%d","type":"tool_result","content":"ok"}]},"toolUseResult":{"text":%q}}`+"\n", l.left, strings.Repeat("y", 20_000))
	}
	return l.text.Read(into)
}

// TestALongRecording: what a recording has and no rule looks at is not kept.
func TestALongRecording(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	file, err := rules.Parse("rules/r.yaml", []byte("rules:\n  - {id: push, before: Bash, deny: true}\n"))
	require.NoError(t, err)
	set := rules.New(file)
	session := &longSession{left: 5_000}
	found, calls, err := sessions.Try(set, session, nil)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, 5_000, calls)
	require.Less(t, session.heap, uint64(90<<20), "100 MB were read")

	_, _, err = sessions.Try(set, io.MultiReader(strings.NewReader("{}\n"), io.LimitReader(endless{}, 1<<30)), nil)
	require.ErrorIs(t, err, fault.LimitExceeded)
	require.ErrorContains(t, err, "line 2 of the recording")
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = 'x'
	}
	return len(into), nil
}

// TestARecordedCallHasTheWitnessOfItsHook: Savant did not see a client's own call, but that of
// its own tool, also in the session of a client.
func TestARecordedCallHasTheWitnessOfItsHook(t *testing.T) {
	file, err := rules.Parse("rules/r.yaml", []byte(`evidence: {seen: {last: Read, if: "call[0].witness == 'gateway'"}, status: {last: git.status, if: "call[0].witness == 'gateway'"}}
rules: [{id: own, before: Edit, require: {needs: seen}}, {id: ours, before: Write, require: {needs: status}}]`))
	require.NoError(t, err)
	session := ""
	for i, name := range []string{"Read", "mcp__savant__git_status", "Edit", "Write"} {
		session += fmt.Sprintf(`{"type":"assistant","sessionId":"s","message":{"content":[{"type":"tool_use","id":"t%d","name":%q,"input":{}}]}}`+"\n", i, name)
		session += fmt.Sprintf(`{"type":"user","sessionId":"s","message":{"content":[{"tool_use_id":"t%d","type":"tool_result","content":"ok"}]}}`+"\n", i)
	}
	found, _, err := sessions.Try(rules.New(file), strings.NewReader(session), nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "Edit", found[0].Tool)
}
