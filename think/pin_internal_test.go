package think

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

// A run that a newer Savant planned, with a reading of the language that this one does
// not know, is refused instead of read in another way.
func TestARunOfANewerEditionIsRefused(t *testing.T) {
	_, err := (&Engine{}).pinned(t.Context(), planData{Edition: flow.CurrentEdition + 1})
	require.ErrorIs(t, err, fault.StateCorrupt)
	require.ErrorIs(t, err, state.ErrNewerFormat)
}
