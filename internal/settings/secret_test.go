package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASecretIsNotRepeatedInAnError(t *testing.T) {
	row := Setting{Env: "API_KEY", Secret: true, Allowed: []string{"a key"}}
	err := row.check(new(Settings), "hunter2")
	require.EqualError(t, err, `API_KEY: expected one of a key, got ""`)
}
