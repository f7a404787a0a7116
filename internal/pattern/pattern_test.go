package pattern_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/pattern"
)

func TestLazy(t *testing.T) {
	digits := pattern.Lazy(`^[0-9]+$`)
	require.True(t, digits().MatchString("42"))
	require.False(t, digits().MatchString("x"))
	require.Same(t, digits(), digits())
	broken := pattern.Lazy(`(`)
	require.Panics(t, func() { broken() })
}

func TestMatches(t *testing.T) {
	for name, want := range map[string]bool{"ab": false, "axb": true, "axbxb": true, "xaxb": false, "a": false, "axbx": false} {
		require.Equal(t, want, pattern.Matches("a*x*b", name), name)
	}
	require.True(t, pattern.Matches("*", ""))
	require.True(t, pattern.Matches("a.b", "a.b"))
	require.False(t, pattern.Matches("a.b", "a.bc"))
}
