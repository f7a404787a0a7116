package sessions_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/rules/sessions"
)

// TestAnOverviewIsKeptUp: what other processes added since the last look is there; a journal
// that was cut is an error until it is gone, and then its calls are gone, too.
func TestAnOverviewIsKeptUp(t *testing.T) {
	w := newWorld(t, refunds)
	keeper := w.openHooks()
	look := func() (calls, refused int) {
		list, refusals, err := keeper.Sessions()
		require.NoError(t, err)
		for _, each := range list {
			calls += each.Calls
		}
		return calls, len(refusals)
	}
	calls, refused := look()
	require.Zero(t, calls+refused)
	for i := 1; i <= 3; i++ {
		require.Error(t, invoke(w.start(), lasting, "pay.refund", `{"order":"A"}`))
		require.NoError(t, invoke(w.start(), lasting, "orders.get", `{"order":"B"}`))
		calls, refused = look()
		require.Equal(t, [2]int{i, i}, [2]int{calls, refused})
		calls, refused = look()
		require.Equal(t, [2]int{i, i}, [2]int{calls, refused}, "nothing counts twice")
	}
	whole, err := os.ReadFile(w.journal())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(w.journal(), append([]byte("{}\n"), whole[3:]...), 0o600))
	_, _, err = w.openHooks().Sessions()
	require.Error(t, err)
	require.NoError(t, os.WriteFile(w.journal(), whole[:len(whole)/2], 0o600))
	_, _, err = keeper.Sessions()
	require.Error(t, err, "it is shorter than it was")
	require.NoError(t, os.Remove(w.journal()))
	calls, refused = look()
	require.Zero(t, calls+refused)
}

// TestQuestionsAreKeptUp: a question that was asked, and one that was answered, elsewhere.
func TestQuestionsAreKeptUp(t *testing.T) {
	w := newWorld(t, asking)
	keeper, other := w.openHooks(), w.openHooks()
	waiting := func(k *sessions.Keeper) []sessions.Question {
		list, err := k.Questions()
		require.NoError(t, err)
		return list
	}
	require.Empty(t, waiting(keeper))
	require.Error(t, invoke(w.start(), lasting, "pay.refund", `{"order":"A","amount":6}`))
	asked := waiting(keeper)
	require.Len(t, asked, 1)
	_, err := other.Answer(t.Context(), asked[0].Name, true, "terminal")
	require.NoError(t, err)
	require.Empty(t, waiting(keeper))
	require.NoError(t, invoke(w.start(), lasting, "pay.refund", `{"order":"A","amount":6}`))
}
