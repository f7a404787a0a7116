package savant_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// TestOtherSystems type-checks all code and tests for Windows and macOS; it does not
// run them. It reads the imports' sources, because compiling them takes ten times as
// long.
func TestOtherSystems(t *testing.T) {
	if os.Getenv("CI") == "" {
		t.Skip("it takes a while: CI=true, or make platforms")
	}
	for _, system := range []string{"windows", "darwin"} {
		list, err := packages.Load(&packages.Config{
			Mode: packages.LoadAllSyntax, Tests: true, Context: t.Context(),
			Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		}, "./...")
		require.NoError(t, err)
		require.Greater(t, len(list), 100)
		require.Zero(t, packages.PrintErrors(list), "errors for %s", system)
	}
}
