package think_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

// answers splits "{…} a={…} b={…}" after the plan's arguments.
var answers = regexp.MustCompile(`\s+([A-Za-z][A-Za-z0-9_/-]*)=`)

// permute plans a run for each order of some answers, gives them, and reports
// which final states there were: one, where order does not matter.
func (p *play) permute(rest string) json.RawMessage {
	places := answers.FindAllStringSubmatchIndex(rest, -1)
	require.NotEmpty(p.t, places, rest)
	plan := rest[:places[0][0]]
	given := make([][2]string, len(places))
	for i, at := range places {
		end := len(rest)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		given[i] = [2]string{rest[at[2]:at[3]], rest[at[1]:end]}
	}
	hashes, ends := map[string]bool{}, map[string]bool{}
	orders := permutations(len(given))
	for number, order := range orders {
		run, err := json.Marshal("order" + string(rune('a'+number)))
		require.NoError(p.t, err)
		args := map[string]json.RawMessage{}
		require.NoError(p.t, json.Unmarshal([]byte(plan), &args))
		args["run_id"] = run
		whole, err := json.Marshal(args)
		require.NoError(p.t, err)
		p.tool("plan", string(whole))
		var last json.RawMessage
		for _, i := range order {
			last = p.tool("next", `{"step_id":"`+given[i][0]+`","result_snapshot":`+given[i][1]+`}`)
		}
		hashes[member(p.t, p.tool("state.get", ""), "snapshot", "hash")] = true
		ends[member(p.t, last, "outcome")+" "+member(p.t, last, "outputs")] = true
	}
	data, err := jsonvalue.Encode(map[string]any{"orders": len(orders), "hashes": slices.Sorted(maps.Keys(hashes)), "ends": slices.Sorted(maps.Keys(ends))})
	require.NoError(p.t, err)
	return data
}

// member returns a member of a JSON object as text.
func member(t *testing.T, object json.RawMessage, path ...string) string {
	t.Helper()
	for _, key := range path {
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(object, &members), string(object))
		object = members[key]
	}
	return strings.Trim(string(object), `"`)
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, shorter := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	return all
}
