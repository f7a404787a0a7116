package statetest_test

import (
	"testing"

	"savant/think/state"
	"savant/think/state/statetest"
)

func TestMemory(t *testing.T) {
	statetest.Run(t, func(*testing.T) state.Storage { return statetest.NewMemory() })
}
