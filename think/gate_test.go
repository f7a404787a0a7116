package think_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/test/statetest"
	"savant/think"
	"savant/think/audit"
	static "savant/think/check"
	"savant/think/gate"
	"savant/think/state"
)

// TestRefusalsChangeNothing: records of refused calls between the answers leave the run
// as it is. Replies are the same but for their versions, the record replays identically,
// and what the gate reads from the records is what the run waits for.
func TestRefusalsChangeNothing(t *testing.T) {
	t.Parallel()
	check(t, 150, func(t *rapid.T) {
		g := generate(t, false)
		if len(static.Graph(g.compile(t), nil, nil).Errors) > 0 {
			return // think.plan refuses it
		}
		client := respond{seed: rapid.Uint64().Draw(t, "seed"), failures: true}
		store := statetest.NewMemory()
		refusing := &refusing{session: newSession(t, g, client, store), store: store}
		replies := refusing.drive()
		plain := newSession(t, g, client, statetest.NewMemory()).drive()
		require.Equal(t, len(plain), len(replies), "%s", g)
		for i := range plain {
			require.Equal(t, withoutVersions(plain[i]), withoutVersions(replies[i]), "%s", g)
		}
		refusing.replays("r")
		again := newSession(t, g, client, store)
		got, err := again.engine.StateGet(t.Context(), think.StateGetInput{Workflow: "main", RunID: "r"})
		require.NoError(t, err)
		require.Equal(t, refusing.count, got.Refused)
		again.returnsTo(got)
		(&viewed{again, store}).agrees()
	})
}

var versions = regexp.MustCompile(`"version":\d+`)

func withoutVersions(reply string) string { return versions.ReplaceAllString(reply, `"version":0`) }

// refusing is a session whose gate refuses calls now and then.
type refusing struct {
	*session
	store state.Storage
	// known is what a gate that follows the records has of the run.
	known gate.Run
	count int
}

func (s *refusing) drive() []string {
	replies := []string{s.plan()}
	for {
		s.refuse()
		(&viewed{s.session, s.store}).agrees()
		next := s.outstanding()
		if next == nil {
			return replies
		}
		give := s.give(next)
		reply := give()
		s.follows()
		require.Equal(s.t, reply, give(), "the same answer again")
		replies = append(replies, reply)
	}
}

// refuse records some refusals, as the hook of a client does.
func (s *refusing) refuse() {
	records, err := s.store.Records(s.t.Context(), state.Key{Workflow: "main", Run: "r"}, 0, 0)
	require.NoError(s.t, err)
	last := records[len(records)-1]
	if last.Status != "running" && last.Status != "waiting" {
		return
	}
	for range rapid.IntRange(0, 2).Draw(s.t, "refusals") {
		data, err := json.Marshal(gate.Refusal{Client: "c", Tool: "Bash", Why: gate.NotIssued, Times: 2})
		require.NoError(s.t, err)
		last, err = s.store.Append(s.t.Context(), state.Key{Workflow: "main", Run: "r"}, state.Record{Version: last.Version + 1, Kind: think.KindRefused,
			Status: last.Status, State: last.State, Data: data})
		require.NoError(s.t, err)
		s.count += 2
	}
}

// follows applies the new records to what was known, as a hook does between two events.
func (s *refusing) follows() {
	records := allRecords(s.t, s.store)
	from := 0
	if s.known.Progress > 0 {
		from = s.known.Progress
	}
	if from == 0 {
		var err error
		s.known, err = think.Standing(runKey, records)
		require.NoError(s.t, err)
		return
	}
	after, ok, err := think.StandingAfter(s.known, records[from:])
	require.NoError(s.t, err)
	require.True(s.t, ok)
	whole, err := think.Standing(runKey, records)
	require.NoError(s.t, err)
	require.Equal(s.t, whole, after)
	s.known = after
}

// viewed compares the gate's view of a run with the engine's.
type viewed struct {
	*session
	store state.Storage
}

func (s *viewed) agrees() {
	run, err := think.Standing(runKey, allRecords(s.t, s.store))
	require.NoError(s.t, err)
	out, err := audit.New(s.engine).Debug(s.t.Context(), audit.DebugInput{Workflow: "main", RunID: "r", Action: "step"})
	require.NoError(s.t, err)
	require.Equal(s.t, string(out.Snapshot.Status), run.Status)
	if !run.Open() {
		return
	}
	want, got := map[string]string{}, map[string]string{}
	for _, each := range out.Next {
		want[each.StepID] = each.Call + " " + string(each.Input)
	}
	for _, each := range run.Issued {
		got[each.Step] = each.Call + " " + string(each.Input)
	}
	require.Equal(s.t, want, got)
}

// runKey is the run that the sessions drive.
var runKey = state.Key{Workflow: "main", Run: "r"}

func allRecords(t *rapid.T, store state.Storage) []state.Record {
	records, err := store.Records(t.Context(), runKey, 0, 0)
	require.NoError(t, err)
	return records
}
