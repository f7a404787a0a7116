package statetest_test

import (
	"testing"

	"savant/test/statetest"
	"savant/think/state"
)

func TestMemory(t *testing.T) {
	statetest.Run(t, func(*testing.T) state.Storage { return statetest.NewMemory() })
}
