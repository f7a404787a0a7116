package engines_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain shows that no goroutine outlives what started it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
