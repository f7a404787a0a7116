package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/state"
)

// broken panics when it is asked for a run's state.
type broken struct{ noStandings }

func (broken) Standing(context.Context, state.Info) Standing { panic("no such standing") }

// TestAPanicInAPage checks that the log has an error with the page's path, and that the
// response has a code but not the cause.
func TestAPanicInAPage(t *testing.T) {
	s := newSite(t, "release", release, "inner", repairs)
	s.plan("release", "r1", nil)
	var log bytes.Buffer
	s.hub.options.Logger, s.hub.options.Standings = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})), broken{}
	answer := s.do(http.MethodGet, "/runs/release/r1", nil)
	require.Equal(t, http.StatusInternalServerError, answer.Code)
	require.Contains(t, answer.Body.String(), "the page failed")
	require.Contains(t, answer.Body.String(), "<code>INTERNAL</code>")
	require.NotContains(t, answer.Body.String(), "no such standing")
	var line struct{ Level, Path, Cause, Stack string }
	require.NoError(t, json.Unmarshal(log.Bytes(), &line))
	require.Equal(t, [3]string{"ERROR", "/runs/release/r1", "no such standing"}, [3]string{line.Level, line.Path, line.Cause})
	require.Contains(t, line.Stack, "broken")
	require.Equal(t, http.StatusOK, s.do(http.MethodGet, "/workflows", nil).Code, "the hub goes on")
}
