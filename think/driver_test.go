package think_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
)

// driver takes the calls of a script. Both answer with JSON: a result, or a
// fault object.
type driver interface {
	call(t *testing.T, tool string, args json.RawMessage) json.RawMessage
	// person opens the folder as "savant approve" does, and looks or answers.
	person(t *testing.T, do func(*think.Engine) (any, error)) json.RawMessage
	reopen(t *testing.T)
	close(t *testing.T)
}

// hang is how long a test waits before it calls something stuck.
const hang = time.Minute

func answerOf(t *testing.T, value any, err error) json.RawMessage {
	t.Helper()
	if err != nil {
		value = fault.From(err)
	}
	data, encodeErr := jsonvalue.Encode(value)
	require.NoError(t, encodeErr)
	return data
}

// local drives an engine in this process, through its registry.
type local struct{ *world }

func openLocal(t *testing.T, root string) *local {
	t.Helper()
	w, err := openWorld(root)
	require.NoError(t, err)
	return &local{w}
}

func (l *local) call(t *testing.T, tool string, args json.RawMessage) json.RawMessage {
	t.Helper()
	call := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "local", Name: "local", Client: "savant 1"}}}
	result, err := l.registry.Invoke(t.Context(), call, tool, args)
	return result.Annotated(answerOf(t, result.Value, err))
}

func (l *local) person(t *testing.T, do func(*think.Engine) (any, error)) json.RawMessage {
	t.Helper()
	value, err := do(l.engine)
	return answerOf(t, value, err)
}

func (l *local) reopen(t *testing.T) {
	t.Helper()
	l.world.close()
	*l = *openLocal(t, l.root)
}

func (l *local) close(*testing.T) { l.world.close() }

// remote drives a server in a process of its own, over its standard streams.
type remote struct {
	root    string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	killer  *time.Timer
	sent    int
}

func openRemote(t *testing.T, root string) *remote {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), self)
	// Under the race detector a process otherwise sleeps a second at its end.
	command.Env = append(os.Environ(), serverRoot+"="+root, "GORACE=atexit_sleep_ms=0")
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	r := &remote{root: root, command: command, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	r.killer = time.AfterFunc(4*hang, func() { _ = command.Process.Kill() })
	r.request(t, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "savant", "version": "1"}})
	r.send(t, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return r
}

func (r *remote) send(t *testing.T, message map[string]any) {
	t.Helper()
	data, err := jsonvalue.Encode(message)
	require.NoError(t, err)
	_, err = fmt.Fprintf(r.in, "%s\n", data)
	require.NoError(t, err)
}

func (r *remote) request(t *testing.T, method string, params any) json.RawMessage {
	t.Helper()
	r.sent++
	r.send(t, map[string]any{"jsonrpc": "2.0", "id": r.sent, "method": method, "params": params})
	for {
		line, err := r.out.ReadBytes('\n')
		require.NoError(t, err, "the server ended its output")
		var reply struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		require.NoError(t, json.Unmarshal(line, &reply))
		if reply.ID == nil {
			continue // a notification
		}
		require.Equal(t, r.sent, *reply.ID)
		require.Empty(t, string(reply.Error))
		return reply.Result
	}
}

func (r *remote) call(t *testing.T, tool string, args json.RawMessage) json.RawMessage {
	t.Helper()
	var result struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
		Content           []struct {
			Type, Text, URI string
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	var kept struct{ Artifacts []struct{ Ref string } }
	raw := r.request(t, "tools/call", map[string]any{"name": tool, "arguments": args})
	require.NoError(t, json.Unmarshal(raw, &result))
	require.NoError(t, json.Unmarshal(result.StructuredContent, &kept))
	require.Len(t, result.Content, 1+len(kept.Artifacts), "each artifact is a resource")
	for i, each := range kept.Artifacts {
		require.Equal(t, "resource_link", result.Content[1+i].Type)
		require.Equal(t, each.Ref, result.Content[1+i].URI)
	}
	require.JSONEq(t, string(result.StructuredContent), result.Content[0].Text, "text and structured content differ")
	require.Equal(t, isFault(result.StructuredContent), result.IsError)
	return result.StructuredContent
}

func isFault(reply json.RawMessage) bool {
	var members struct {
		Error   string `json:"error"`
		Details *string
	}
	return json.Unmarshal(reply, &members) == nil && members.Error != "" && members.Details != nil
}

func (r *remote) person(t *testing.T, do func(*think.Engine) (any, error)) json.RawMessage {
	t.Helper()
	w, err := openWorld(r.root)
	require.NoError(t, err)
	defer w.close()
	value, err := do(w.engine)
	return answerOf(t, value, err)
}

func (r *remote) reopen(t *testing.T) {
	t.Helper()
	r.close(t)
	*r = *openRemote(t, r.root)
}

func (r *remote) close(t *testing.T) {
	t.Helper()
	require.NoError(t, r.in.Close())
	_, _ = io.Copy(io.Discard, r.out)
	require.NoError(t, r.command.Wait())
	r.killer.Stop()
}
