package mongo

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// A connection that the driver gives up while it is made ends in an error that reads as if
// the caller had cancelled the call. The call is sent again, and is a failure of the
// database at the end.
func TestAConnectionThatTheDriverGaveUp(t *testing.T) {
	collection := &Collection{database: &Database{}}
	given := fmt.Errorf("error occurred during connection handshake: %w", context.Canceled)
	calls := 0
	err := collection.retry(t.Context(), func(context.Context) error {
		if calls++; calls < attempts {
			return given
		}
		return nil
	})
	require.NoError(t, err)
	calls = 0
	always := func(context.Context) error { calls++; return given }
	err = Coded(fault.StateNotSaved, "run r was not saved", collection.database.failed(collection.retry(t.Context(), always)))
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.Equal(t, attempts, calls)

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	calls = 0
	err = collection.retry(cancelled, always)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, calls)
}
