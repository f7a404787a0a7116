package engines_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// desk keeps receipts and artifacts as a store would.
type desk struct {
	receipts  []engines.Receipt
	artifacts []json.RawMessage
	refuse    []error // the answers to the next receipts
}

func (d *desk) options() engines.Options {
	return engines.Options{Receipts: d, Artifacts: d, ResultLimit: 1000}
}

// PutReceipt implements engines.ReceiptStore.
func (d *desk) PutReceipt(ctx context.Context, receipt engines.Receipt) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(d.refuse) > 0 {
		err := d.refuse[0]
		d.refuse = d.refuse[1:]
		return err
	}
	d.receipts = append(d.receipts, receipt)
	return nil
}

// PutArtifact implements engines.ArtifactStore.
func (d *desk) PutArtifact(_ context.Context, result []byte) (ref string, err error) {
	d.artifacts = append(d.artifacts, result)
	return "kept", nil
}

// receiptFunc is a function as an engines.ReceiptStore.
type receiptFunc func(context.Context, engines.Receipt) error

// PutReceipt implements engines.ReceiptStore.
func (f receiptFunc) PutReceipt(ctx context.Context, receipt engines.Receipt) error {
	return f(ctx, receipt)
}

// fullDisk stores nothing.
type fullDisk struct{}

// PutArtifact implements engines.ArtifactStore.
func (fullDisk) PutArtifact(context.Context, []byte) (ref string, err error) {
	return "", fault.New(fault.StateNotSaved, "the disk is full")
}

func says(name string, value any) engines.Tool {
	return does(name, func(context.Context) (any, error) { return value, nil })
}

func TestResultsAreEncodedOnce(t *testing.T) {
	table := registry(t, nil, named("x.echo"), says("x.nothing", nil))
	result, err := table.Invoke(t.Context(), engines.Call{}, "x.echo", json.RawMessage(`{"workflow":"<a>"}`))
	require.NoError(t, err)
	require.Equal(t, echoIn{Workflow: "<a>"}, result.Value)
	require.Equal(t, `{"workflow":"<a>"}`, string(result.JSON), "no escapes a model would have to read")
	result, err = table.Invoke(t.Context(), engines.Call{}, "x.nothing", nil)
	require.NoError(t, err)
	require.Equal(t, "null", string(result.JSON))
}

func TestContentIsJSONInside(t *testing.T) {
	blocks := json.RawMessage(`[{"type":"image","data":"AA==","mimeType":"image/png"}]`)
	for want, content := range map[string]engines.Content{
		`{"a":1}`: {Structured: json.RawMessage(`{"a": 1}`), Blocks: blocks},
		`{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}`: {Blocks: blocks},
		`{"content":[]}`: {},
	} {
		table := registry(t, nil, says("x.content", content))
		result, err := table.Invoke(t.Context(), engines.Call{}, "x.content", nil)
		require.NoError(t, err)
		require.Equal(t, want, string(result.JSON))
		require.Equal(t, content, result.Value, "the blocks are there for who can show them")
	}
}

// A call that was cancelled may have had an effect: its receipt says that it
// was made.
func TestCancelledCallsLeaveReceipts(t *testing.T) {
	var kept desk
	table := engines.NewRegistry(kept.options())
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, table.Add(does("x.wait", func(ctx context.Context) (any, error) {
		cancel()
		return nil, ctx.Err()
	})))
	_, err := table.Invoke(ctx, engines.Call{}, "x.wait", nil)
	require.Error(t, err)
	require.Len(t, kept.receipts, 1)
	require.True(t, kept.receipts[0].Failed)
}

// A database that takes seconds for each write gets the receipt of a call, unless the call
// was cancelled: then the receipt is given up after a while.
func TestASlowStoreGetsTheReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept desk
		options := kept.options()
		options.Receipts = receiptFunc(func(ctx context.Context, receipt engines.Receipt) error {
			select {
			case <-time.After(5 * time.Second):
				return kept.PutReceipt(ctx, receipt)
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		table := engines.NewRegistry(options)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, table.Add(says("x.say", "hello"), does("x.wait", func(ctx context.Context) (any, error) {
			cancel()
			return nil, ctx.Err()
		})))
		result, err := table.Invoke(t.Context(), engines.Call{}, "x.say", nil)
		require.NoError(t, err)
		require.NotEmpty(t, result.Receipt)
		require.Len(t, kept.receipts, 1)
		_, err = table.Invoke(ctx, engines.Call{}, "x.wait", nil)
		require.Error(t, err)
		require.Len(t, kept.receipts, 1)
	})
}

func TestLargeResultsAreKeptAside(t *testing.T) {
	large := map[string]any{"text": strings.Repeat("é", 5000)}
	whole, err := jsonvalue.Encode(large)
	require.NoError(t, err)
	var kept desk
	table := engines.NewRegistry(kept.options())
	require.NoError(t, table.Add(says("x.large", large), says("think.large", large)))

	result, err := table.Invoke(t.Context(), engines.Call{}, "x.large", nil)
	require.NoError(t, err)
	require.Equal(t, []json.RawMessage{whole}, kept.artifacts)
	require.Equal(t, "kept", result.Artifact)
	short := result.Value.(engines.Excerpt)
	require.Equal(t, "kept", short.Artifact)
	require.Equal(t, len(whole), short.Size)
	require.True(t, strings.HasPrefix(string(whole), strings.TrimSuffix(short.Preview, "…")))
	require.Contains(t, short.Note, `think.artifact {ref: "kept"}`)
	require.Less(t, len(result.JSON), 3000)
	require.Equal(t, "kept", kept.receipts[0].Artifact)
	require.Equal(t, json.RawMessage(whole), kept.receipts[0].Result, "the receipt is of the whole")

	result, err = table.Invoke(t.Context(), engines.Call{}, "think.large", nil)
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(whole), result.JSON, "a tool of Think bounds its results itself")

	table = engines.NewRegistry(engines.Options{ResultLimit: 1000})
	require.NoError(t, table.Add(says("x.large", large)))
	_, err = table.Invoke(t.Context(), engines.Call{}, "x.large", nil)
	require.ErrorIs(t, err, fault.LimitExceeded)
	for _, named := range []string{"x.large", "10011", "1000"} {
		require.ErrorContains(t, err, named)
	}

	table = engines.NewRegistry(engines.Options{ResultLimit: 1000, Artifacts: fullDisk{}})
	require.NoError(t, table.Add(says("x.large", large)))
	_, err = table.Invoke(t.Context(), engines.Call{}, "x.large", nil)
	require.ErrorIs(t, err, fault.StateNotSaved)
}

func TestCallsLeaveReceipts(t *testing.T) {
	var kept desk
	table := engines.NewRegistry(kept.options())
	fails := does("x.fails", func(context.Context) (any, error) { return nil, fault.New(fault.ToolFailed, "no") })
	require.NoError(t, table.Add(named("x.echo"), fails, named("think.next"), named("agent.run"), named("workflow.run")))

	result, err := table.Invoke(t.Context(), engines.Call{}, "x_echo", json.RawMessage(`{"workflow":"a","task_progress":"x"}`))
	require.NoError(t, err)
	require.Len(t, kept.receipts, 1)
	receipt := kept.receipts[0]
	require.Equal(t, result.Receipt, receipt.ID)
	require.Regexp(t, `^[a-z2-7]{8}$`, receipt.ID)
	require.Equal(t, "x.echo", receipt.Tool)
	require.False(t, receipt.Failed)
	require.False(t, receipt.Time.IsZero())
	digest, err := jsonvalue.Digest(map[string]any{"workflow": "a"})
	require.NoError(t, err)
	require.Equal(t, digest, receipt.Input)
	require.Equal(t, digest, receipt.Output)
	require.JSONEq(t, `{"workflow":"a"}`, string(receipt.Result))

	result, err = table.Invoke(t.Context(), engines.Call{}, "x.fails", nil)
	require.ErrorIs(t, err, fault.ToolFailed)
	require.Equal(t, result.Receipt, kept.receipts[1].ID)
	require.True(t, kept.receipts[1].Failed)
	require.JSONEq(t, `{"error":"TOOL_FAILED","details":"no","diagnostics":[]}`, string(kept.receipts[1].Result))

	for name, args := range map[string]string{"x.echo": `{}`, "no.such": `{}`, "think.next": `{"workflow":"a"}`,
		"agent.run": `{"workflow":"a"}`, "workflow.run": `{"workflow":"a"}`} {
		result, _ = table.Invoke(t.Context(), engines.Call{}, name, json.RawMessage(args))
		require.Empty(t, result.Receipt, name)
	}
	require.Len(t, kept.receipts, 2, "what never ran, and what only conducts, leaves none")
}

func TestReceiptsThatCannotBeKept(t *testing.T) {
	taken := fault.New(fault.IDCollision, "taken")
	cases := map[string]struct {
		refuse []error
		left   bool
	}{
		"once taken":   {[]error{taken}, true},
		"always taken": {[]error{taken, taken, taken, taken}, false},
		"a full disk":  {[]error{errors.New("no space")}, false},
	}
	for name, c := range cases {
		kept := desk{refuse: c.refuse}
		table := engines.NewRegistry(kept.options())
		require.NoError(t, table.Add(says("x.y", 1)))
		result, err := table.Invoke(t.Context(), engines.Call{}, "x.y", nil)
		require.NoError(t, err, name)
		require.Equal(t, 1, result.Value)
		require.Equal(t, c.left, result.Receipt != "", name)
		require.Empty(t, kept.refuse, name)
	}
}

// The digest of arguments does not change with how they were written, and is
// what the receipt of the call says.
func TestInputDigest(t *testing.T) {
	var kept desk
	table := engines.NewRegistry(kept.options())
	require.NoError(t, table.Add(named("x.echo")))
	rapid.Check(t, func(t *rapid.T) {
		params := map[string]any{}
		for name, number := range rapid.MapOf(rapid.StringMatching(`[a-z]{1,5}`), rapid.Int()).Draw(t, "params") {
			params[name] = number
		}
		nested, _ := json.Marshal(params)
		spelt := []any{
			map[string]any{"workflow": "a", "params": params},
			map[string]any{"workflow": "a", "params": string(nested), "limit": nil},
			map[string]any{"workflow": "a", "params": params, "task_progress": rapid.String().Draw(t, "progress")},
		}
		plain, _ := json.Marshal(spelt[0])
		spelt = append(spelt, string(plain))
		want, err := table.InputDigest("x.echo", plain)
		require.NoError(t, err)
		for _, each := range spelt {
			args, _ := json.MarshalIndent(each, "", " ")
			got, err := table.InputDigest("x_echo", args)
			require.NoError(t, err)
			require.Equal(t, want, got, string(args))
			_, err = table.Invoke(context.Background(), engines.Call{}, "x.echo", args)
			require.NoError(t, err)
			require.Equal(t, want, kept.receipts[len(kept.receipts)-1].Input)
		}
	})
	_, err := table.InputDigest("x.echo", json.RawMessage(`{"workflow":1}`))
	require.ErrorIs(t, err, fault.InvalidParams)
	_, err = table.InputDigest("x.eco", nil)
	require.ErrorIs(t, err, fault.UnknownTool)
}
