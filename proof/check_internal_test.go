package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

// A step whose name begins as another's is no round of it.
func TestWhatIsARound(t *testing.T) {
	for claimed, is := range map[string]bool{"test": true, "test_0": true, "test_1_2": true, "test2": false, "test_two": false, "tests": false, "tes": false} {
		require.Equal(t, is, isRound("test", claimed), claimed)
	}
	require.False(t, isRound("2", "21"))
}

// What steps of an unreadable workflow write is not known, so no step counts as fresh.
func TestAWorkflowThatCannotBeRead(t *testing.T) {
	s := &Statement{}
	s.Predicate.Run.Status, s.Predicate.Texts = "done", []string{"name: ["}
	s.entries = []entry{{data: data{Pins: map[string]pin{"w": {jsonvalue.HexSum([]byte("name: [")), "workflows/w.yaml"}}}}}
	s.Predicate.Claims = []Claim{{Step: "tests", Grade: Gateway, Version: 2}}
	found, err := Demand{Required: []Requirement{{Step: "tests", Grades: Known}}}.Check(Report{Statement: s})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, Refused, found[0].Code)
}
