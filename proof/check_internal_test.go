package proof

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A step whose name begins as another's is no round of it.
func TestWhatIsARound(t *testing.T) {
	for claimed, is := range map[string]bool{"test": true, "test_0": true, "test_1_2": true, "test2": false, "test_two": false, "tests": false, "tes": false} {
		require.Equal(t, is, isRound("test", claimed), claimed)
	}
	require.False(t, isRound("2", "21"))
}
