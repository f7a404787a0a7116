package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// trusts accepts what a folder brings, as its person does.
func trusts(t testing.TB, folder string) {
	t.Helper()
	said, err := exec.Command("savant", "trust", "--yes", "--path", folder).CombinedOutput()
	require.NoError(t, err, string(said))
}
