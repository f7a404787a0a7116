package statetest

import (
	"testing"

	"savant/think/state"
)

func TestMemory(t *testing.T) {
	testStorage(t, func(*testing.T) state.Storage { return NewMemory() })
}
