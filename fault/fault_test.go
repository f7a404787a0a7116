package fault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

func TestErrorIsItsCodeAndItsCause(t *testing.T) {
	err := fmt.Errorf("saving: %w", fault.New(fault.StateNotSaved, "writing run r1: %w", fs.ErrPermission))
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.NotErrorIs(t, err, fault.StateConflict)
	require.Equal(t, fault.StateNotSaved, fault.From(err).Code)
}

func TestErrorWithoutACodeTellsNothing(t *testing.T) {
	secret := fault.From(errors.New("open /home/ada/.ssh/id: token=abc"))
	require.Equal(t, fault.Internal, secret.Code)
	data, err := json.Marshal(secret)
	require.NoError(t, err)
	require.NotContains(t, string(data), "abc")
	require.Equal(t, fault.StateCorrupt, fault.From(fault.StateCorrupt).Code)
	require.Nil(t, fault.From(nil))
}

func TestErrorOnTheWire(t *testing.T) {
	plain, err := json.Marshal(fault.New(fault.UnknownRun, "no run %q", "r1"))
	require.NoError(t, err)
	require.JSONEq(t, `{"error":"UNKNOWN_RUN","details":"no run \"r1\"","diagnostics":[]}`, string(plain))

	rich := fault.New(fault.ValidationFailed, "no").Attach("instruction", map[string]any{"step_id": "a"}).Attach("error", "never replaces the code").
		With(fault.Diagnostic{Pointer: "/a", Expected: "integer", Actual: `"x"`, Message: "expected integer"})
	data, err := json.Marshal(rich)
	require.NoError(t, err)
	var back fault.Error
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, fault.ValidationFailed, back.Code)
	require.Equal(t, rich.Diagnostics, back.Diagnostics)
	require.JSONEq(t, `{"step_id":"a"}`, string(back.Extra["instruction"].(json.RawMessage)))
}

func TestErrorStaysUnderItsBound(t *testing.T) {
	huge := fault.New(fault.ValidationFailed, "%s", strings.Repeat("é", 100_000))
	for range 1000 {
		long := strings.Repeat("é\x00", 10_000)
		huge.With(fault.Diagnostic{Path: long, Pointer: long, Message: long, Expected: long, Actual: long})
	}
	data, err := json.Marshal(huge)
	require.NoError(t, err)
	require.Less(t, len(data), 20_000)
	require.Contains(t, string(data), "and 990 more")
}

func TestCutNeverSplitsACharacter(t *testing.T) {
	require.Equal(t, "abc", fault.Cut("abc", 3))
	require.Equal(t, "é…", fault.Cut("éééé", 6))
}

func TestNearest(t *testing.T) {
	known := []string{"capture_as", "call", "deps"}
	require.Equal(t, "capture_as", fault.Nearest("captureas", known))
	require.Equal(t, "deps", fault.Nearest("dep", known))
	require.Equal(t, "help", fault.Nearest("hlep", []string{"lsp", "help"}), "two letters are swapped")
	require.Empty(t, fault.Nearest("something_else_entirely", known))
	for name, want := range map[string]string{"fx": "fix", "st": "status", "lim": "limit", "x": "", "ab": "", "vald": "", "foo": "", "bitand": ""} {
		require.Equal(t, want, fault.Nearest(name, []string{"a", "az", "add", "find", "fix", "hook", "limit", "llm", "set", "status"}), name)
	}
	long := strings.Repeat("x", 1000)
	require.Empty(t, fault.Nearest(long+"y", []string{long}), "what is that long is not compared")
}
