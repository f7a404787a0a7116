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
