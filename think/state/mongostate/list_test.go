package mongostate_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/test/mongotest"
	"savant/think/state"
)

// A process that listed a run looks once whether it has moved on, although its hint is old.
func TestTheSecondListingLooksOnce(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	uri := server.URI(mongotest.NewDatabase())
	writer := open(t, uri)
	key := state.Key{Workflow: "w", Run: "r"}
	var last state.Record
	write := func(version int) {
		var err error
		last, err = writer.Append(t.Context(), key, step(version, 0, version))
		require.NoError(t, err)
	}
	for version := 1; version <= 6; version++ {
		write(version)
	}
	commands := &counted{seen: map[string]int{}}
	reader := openWith(t, mongo.Options{Address: mongo.Address{URI: uri}, Sent: commands.sent})
	list := func(finds int) {
		t.Helper()
		before := commands.seen["find"]
		infos, err := reader.List(t.Context(), state.Filter{})
		require.NoError(t, err)
		require.Len(t, infos, 1)
		require.Equal(t, state.Info{Workflow: "w", Run: "r", Status: last.Status, Version: last.Version, Created: infos[0].Created, Updated: last.Time}, infos[0])
		require.NotEmpty(t, infos[0].Created)
		require.Equal(t, finds, commands.seen["find"]-before)
	}
	list(1 + 6) // the hints; 2, 3, 5 and 9, then 7 and 6
	list(1 + 1)
	write(7)
	list(1 + 2)
	list(1 + 1)
}

// A process that has not seen a run before, and knows a version that it had, as a hook does,
// does not look for its end from the beginning: over a slow network each look is a round trip.
func TestRecordsAfterAKnownVersion(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	uri := server.URI(mongotest.NewDatabase())
	writer := open(t, uri)
	key := state.Key{Workflow: "w", Run: "r"}
	var written []state.Record
	append := func() {
		record, err := writer.Append(t.Context(), key, step(len(written)+1, 0, len(written)+1))
		require.NoError(t, err)
		written = slices.Concat(written, []state.Record{record})
	}
	for range 20 {
		append()
	}
	records := func(after int) (found []state.Record, finds int) {
		t.Helper()
		commands := &counted{seen: map[string]int{}}
		reader := openWith(t, mongo.Options{Address: mongo.Address{URI: uri}, Sent: commands.sent})
		found, err := reader.Records(t.Context(), key, after, 0)
		require.NoError(t, err)
		return found, commands.seen["find"]
	}
	found, finds := records(19)
	require.Equal(t, written[19:], found)
	require.Equal(t, 2+2, finds) // 20 and 21, then the records 19 and 20
	found, _ = records(20)
	require.Empty(t, found)

	require.NoError(t, writer.Delete(t.Context(), key)) // the next run of the name has other numbers
	written = nil
	append()
	append()
	for after := range 25 {
		found, _ = records(after)
		require.Equal(t, len(written[min(after, 2):]), len(found), after)
	}
}
