package fault_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

func TestAHintEndsTheDetailsOnTheWire(t *testing.T) {
	plain := fault.New(fault.UnknownRun, "no run %q", "r1")
	hinted := plain.Hinted(fault.Hint{Call: "think.state.list", Text: "lists the runs"})
	require.Empty(t, plain.Hint, "the first error is as it was")
	require.Equal(t, `no run "r1"`, hinted.Details)
	data, err := json.Marshal(hinted)
	require.NoError(t, err)
	require.JSONEq(t, `{"error":"UNKNOWN_RUN","details":"no run \"r1\"; think.state.list lists the runs","diagnostics":[]}`, string(data))
	require.Equal(t, "UNKNOWN_RUN: "+hinted.Message(), hinted.Error())

	require.Same(t, hinted, hinted.Hinted(fault.DidYouMean("r2")), "the first hint stays")
	require.Same(t, plain, plain.Hinted(fault.Hint{}))
	require.Equal(t, "so: do it", fault.New(fault.Internal, "so:").Hinted(fault.Hint{Text: "do it"}).Message())
}

// A hint is data: each front end says it in its own words.
func ExampleError_Hinted() {
	err := fault.New(fault.UnknownRun, "no run %q", "r1").Hinted(fault.Hint{Call: "think.state.list", Text: "lists the runs"})
	fmt.Println(err.Message())

	command := *err
	command.Hint.Call = "savant state list"
	fmt.Println(command.Message())
	// Output:
	// no run "r1"; think.state.list lists the runs
	// no run "r1"; savant state list lists the runs
}
