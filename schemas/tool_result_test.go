package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/schemas"
)

// What Savant adds to a reply is taken off again, each by itself; a tool's own member of
// the warning's name stays.
func TestWhatIsAddedToAReplyIsTakenOff(t *testing.T) {
	ours, err := json.Marshal(schemas.Warning(`"extra"`))
	require.NoError(t, err)
	for given, wanted := range map[string]string{
		`{"n":1,"_receipt":"abcd2345"}`:                                        `{"n":1}`,
		`{"n":1,"_receipt":"abcd2345","_warning":` + string(ours) + `}`:        `{"n":1}`,
		`{"n":1,"_warning":` + string(ours) + `}`:                              `{"n":1}`,
		`{"n":1,"_receipt":"abcd2345","_warning":"disk almost full"}`:          `{"n":1,"_warning":"disk almost full"}`,
		`{"n":1,"_warning":["a"],"_receipt":"abcd2345"}`:                       `{"n":1,"_warning":["a"]}`,
		`{"n":1,"_warning":"the tool does not declare a weight","_receipt":5}`: `{"n":1,"_warning":"the tool does not declare a weight","_receipt":5}`,
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(given), &value))
		got, err := json.Marshal(schemas.WithoutReceipt(value))
		require.NoError(t, err)
		require.JSONEq(t, wanted, string(got), given)
	}
}
