package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASecretIsNotRepeatedInAnError(t *testing.T) {
	row := Setting{Env: "API_KEY", Secret: true, Allowed: []string{"a key"}}
	err := row.check(new(Settings), "hunter2")
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "API_KEY", refused.Setting)
	require.Empty(t, refused.Value)
	require.NotContains(t, err.Error(), "hunter2")
}
