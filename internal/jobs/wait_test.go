package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/test/mongotest"
)

// A look for the result that is under way when the time is over is finished: the result may
// be in it, and that there is none yet is no failure of the database.
func TestWaitOverASlowNetwork(t *testing.T) {
	t.Parallel()
	proxy := mongotest.NewProxy(t, mongotest.Start(t), 1)
	queue := open(t, proxy.URI(mongotest.NewDatabase()))
	require.NoError(t, queue.Enqueue(t.Context(), "open", []byte("{}")))
	require.NoError(t, queue.Cancel(t.Context(), "ended"))
	proxy.Use(mongotest.Faults{Latency: 150 * time.Millisecond})
	briefly, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := queue.Wait(briefly, "open")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, errors.As(err, new(*mongo.Failure)), "%v", err)
	result, err := queue.Wait(briefly, "ended")
	require.NoError(t, err)
	require.True(t, result.Cancelled)
}
