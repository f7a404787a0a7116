package engines_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

func TestEnginesComeWhole(t *testing.T) {
	table := registry(t, nil, named("git.log"))
	require.NoError(t, table.AddEngine(engines.Engine{Name: "fs", Description: "files"}, named("fs.read")))
	require.NoError(t, table.AddEngine(engines.Engine{Name: "empty"}))
	require.Equal(t, []string{"empty", "fs", "git"}, table.Engines())
	require.Equal(t, "files", table.About("fs"))
	for _, name := range []string{"", "a.b", "a b", "a__b", "é"} {
		require.ErrorIs(t, table.AddEngine(engines.Engine{Name: name}), fault.InvalidParams, name)
	}
	require.ErrorIs(t, table.AddEngine(engines.Engine{Name: "git"}, named("git.show")), fault.IDCollision)
	require.ErrorIs(t, table.AddEngine(engines.Engine{Name: "other"}, named("git.show")), fault.InvalidParams)
	require.ErrorIs(t, table.AddEngine(engines.Engine{Name: "a"}, named("a.b"), named("a.b")), fault.IDCollision)
	require.ErrorIs(t, table.AddEngine(engines.Engine{Name: "a"}, engines.Tool{Name: "a.b"}), fault.InvalidParams)
	require.Equal(t, []string{"empty", "fs", "git"}, table.Engines(), "nothing is left of what was refused")
	require.Equal(t, []string{"fs.read", "git.log"}, table.Names())
}

func TestToolsOfAnEngineAreReplaced(t *testing.T) {
	table := registry(t, nil, named("git.log"))
	require.NoError(t, table.AddEngine(engines.Engine{Name: "fs"}, named("fs.read"), named("fs.write")))
	before := table.Version()
	require.NoError(t, table.ReplaceTools("fs", named("fs.read"), named("fs.list")))
	require.NotEqual(t, before, table.Version())
	require.Equal(t, []string{"fs.list", "fs.read", "git.log"}, table.Names())
	_, ok := table.Resolve("fs_write")
	require.False(t, ok)

	before = table.Version()
	require.ErrorIs(t, table.ReplaceTools("fs", named("fs.a_b"), named("fs.a.b")), fault.IDCollision)
	require.ErrorIs(t, table.ReplaceTools("fs", named("git.show")), fault.InvalidParams)
	require.ErrorIs(t, table.ReplaceTools("fs", engines.Tool{Name: "fs.x"}), fault.InvalidParams)
	require.ErrorIs(t, table.ReplaceTools("nobody", named("nobody.x")), fault.InvalidParams)
	require.Equal(t, before, table.Version())
	require.NoError(t, table.ReplaceTools("fs"))
	require.Equal(t, []string{"git.log"}, table.Names())
	require.Equal(t, []string{"fs", "git"}, table.Engines())
}

// A call that runs goes on when its tool is replaced.
func TestReplacedToolsFinish(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	table := registry(t, nil, does("fs.slow", func(context.Context) (any, error) { close(began); <-release; return "old", nil }))
	answered := make(chan any)
	go func() {
		result, _ := table.Call(t.Context(), "fs.slow", nil)
		answered <- result
	}()
	<-began
	require.NoError(t, table.ReplaceTools("fs", says("fs.slow", "new")))
	result, err := table.Call(t.Context(), "fs.slow", nil)
	require.NoError(t, err)
	require.Equal(t, "new", result)
	close(release)
	require.Equal(t, "old", <-answered)
}

// A view shows some engines of the same table, now and later.
func TestViews(t *testing.T) {
	table := registry(t, nil, named("git.log"), named("think.plan"))
	view := table.Only("git", "fs")
	require.Equal(t, []string{"git.log"}, view.Names())
	require.Equal(t, []string{"git"}, view.Engines())
	_, err := view.Call(t.Context(), "think.plan", json.RawMessage(`{"workflow":"a"}`))
	require.ErrorIs(t, err, fault.UnknownTool)
	require.NotContains(t, fault.From(err).Hint.Text, "think.plan", "the view does not suggest what it hides")
	require.NoError(t, table.Add(named("fs.read"), named("think.next")))
	require.Equal(t, []string{"fs.read", "git.log"}, view.Names())
	require.Equal(t, []string{"fs.read"}, view.Only("fs", "think").Names(), "a view of a view shows no more")
	require.Empty(t, view.Only("think").Names())
	require.Empty(t, view.About("think"))
	require.Len(t, view.Health(t.Context()), 2)
}

func TestWatchersAreNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := registry(t, nil, named("git.log"))
		ctx, stop := context.WithCancel(t.Context())
		var notified atomic.Int64
		ended := make(chan error)
		since := table.Version()
		require.NoError(t, table.Add(named("git.before")))
		go func() { ended <- table.Watch(ctx, since, func() { notified.Add(1) }) }()
		synctest.Wait()
		require.EqualValues(t, 1, notified.Load(), "of what it missed")
		require.NoError(t, table.ReplaceTools("git", named("git.show")))
		synctest.Wait()
		require.EqualValues(t, 2, notified.Load())
		require.Error(t, table.ReplaceTools("git", named("fs.show")))
		synctest.Wait()
		require.EqualValues(t, 2, notified.Load(), "nothing changed")
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, table.ReplaceTools("git"))
	})
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := engines.NewRegistry(engines.Options{})
		state := func(state, reason string) func(context.Context) engines.Status {
			return func(context.Context) engines.Status { return engines.Status{State: state, Reason: reason} }
		}
		lost := does("lost.tool", func(context.Context) (any, error) { return nil, fault.New(fault.EngineOffline, "no answer") })
		require.NoError(t, table.Add(lost, says("plain.tool", 1)))
		require.NoError(t, table.AddEngine(engines.Engine{Name: "off", Description: "is off", Status: state(engines.Disabled, "switched off")}))
		require.NoError(t, table.AddEngine(engines.Engine{Name: "silent", Status: func(ctx context.Context) engines.Status { <-ctx.Done(); return engines.Status{} }}))
		require.NoError(t, table.AddEngine(engines.Engine{Name: "odd", Status: func(context.Context) engines.Status { panic("odd") }}))
		_, err := table.Call(t.Context(), "lost.tool", nil)
		require.ErrorIs(t, err, fault.EngineOffline)

		want := map[string]engines.Status{
			"lost":   {State: engines.Offline, Reason: "no answer"},
			"odd":    {State: engines.Offline, Reason: "its status is not known; the log has the cause"},
			"off":    {State: engines.Disabled, Reason: "switched off"},
			"plain":  {State: engines.Ready},
			"silent": {State: engines.Offline, Reason: "it did not report its status"},
		}
		all := table.Health(t.Context())
		require.Len(t, all, len(want))
		for _, each := range all {
			require.Equal(t, want[each.Engine], each.Status, each.Engine)
		}
		require.Equal(t, []string{"lost.tool"}, all[0].Tools)
		require.Equal(t, "is off", all[2].Description)
	})
}

// A tool that is not there because its engine is not says why, and an engine
// that works again is ready again.
func TestEnginesThatAreDown(t *testing.T) {
	table := engines.NewRegistry(engines.Options{})
	down := true
	require.NoError(t, table.AddEngine(engines.Engine{Name: "my_fs", Status: func(context.Context) engines.Status {
		return engines.Status{State: engines.Offline, Reason: "fs-server: no such program"}
	}}))
	require.NoError(t, table.Add(named("my.tool"), does("net.get", func(context.Context) (any, error) {
		if down {
			return nil, fault.New(fault.EngineOffline, "unplugged")
		}
		return "ok", nil
	})))
	for _, name := range []string{"my_fs.read", "my_fs_read"} {
		_, err := table.Call(t.Context(), name, nil)
		require.ErrorIs(t, err, fault.EngineOffline)
		require.ErrorContains(t, err, "my_fs", "the engine")
		require.ErrorContains(t, err, "fs-server: no such program", "the cause")
	}
	_, err := table.Call(t.Context(), "my.fs", nil)
	require.ErrorIs(t, err, fault.UnknownTool)

	starting := func(context.Context) engines.Status {
		return engines.Status{State: engines.Idle, Reason: "it has not answered yet"}
	}
	require.NoError(t, table.AddEngine(engines.Engine{Name: "unseen", Status: starting}))
	_, err = table.Call(t.Context(), "unseen.tool", nil)
	require.ErrorIs(t, err, fault.EngineOffline, "nobody knows what tools it has")
	require.NoError(t, table.AddEngine(engines.Engine{Name: "seen", Status: starting}, named("seen.tool")))
	_, err = table.Call(t.Context(), "seen.other", nil)
	require.ErrorIs(t, err, fault.UnknownTool)

	_, err = table.Call(t.Context(), "net.get", nil)
	require.ErrorIs(t, err, fault.EngineOffline)
	require.Equal(t, engines.Offline, table.Health(t.Context())[2].State)
	down = false
	_, err = table.Call(t.Context(), "net.get", nil)
	require.NoError(t, err)
	require.Equal(t, engines.Ready, table.Health(t.Context())[2].State)
}

// A tool that a view does not show is named with what to add.
func TestACallOfWhatIsNotPublished(t *testing.T) {
	table := engines.NewRegistry(engines.Options{})
	require.NoError(t, table.Add(engines.Tool{Name: "ci.test", Description: "runs tests", Input: json.RawMessage(`{"type":"object"}`),
		Call: func(context.Context, engines.Call, json.RawMessage) (any, error) { return map[string]any{}, nil }}))
	for _, name := range []string{"ci.test", "ci_test"} {
		_, err := table.Only("git").Invoke(t.Context(), engines.Call{}, name, nil)
		require.ErrorIs(t, err, fault.UnknownTool)
		require.ErrorContains(t, err, name)
		require.Contains(t, fault.From(err).Message(), "add ci to MCP_SERVICE", "what to do")
	}
	_, err := table.Invoke(t.Context(), engines.Call{}, "ci.test", nil)
	require.NoError(t, err)
}
