package proof_test

import (
	"encoding/json"
	"fmt"
	"maps"
	random "math/rand/v2"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
	"savant/proof"
)

// alike is the code of a file about which the verifiers only have to agree.
const alike = "alike"

// unreplayed is the code of a file that is true for all but a replay, which the others do
// not do.
const unreplayed = "unreplayed"

// mutants is how many statements are changed at random.
const mutants = 80

// oddValues are put in the place of others, oddNames beside them.
var (
	oddValues = []any{nil, true, false, 0.0, 1.0, -1.0, 1.5, 3.0, 1e300, "", "x", "gateway", "person", "result", "reset", "seen", "unseen", "hook", "terminal",
		"redacted:" + strings.Repeat("0", 64), "\u2028", "\U0001F600", []any{}, map[string]any{}, []any{"x"}, map[string]any{"": 1.0}}
	oddNames = []string{"x", "by", "By", "used", "receipt", "result_ref", "witness", "to", "imported", "failed", "models", "by_claims", "__proto__", "\U0001F600", "\uFF5E"}
)

// mutate changes a value somewhere.
func mutate(draw *random.Rand, value any) any {
	odd := oddValues[draw.IntN(len(oddValues))]
	switch found := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(found))
		if len(names) == 0 || draw.IntN(12) == 0 {
			found[oddNames[draw.IntN(len(oddNames))]] = odd
			return found
		}
		name := names[draw.IntN(len(names))]
		switch draw.IntN(8) {
		case 0:
			delete(found, name)
		case 1:
			found[name] = odd
		default:
			found[name] = mutate(draw, found[name])
		}
		return found
	case []any:
		if len(found) == 0 {
			return append(found, odd)
		}
		at := draw.IntN(len(found))
		switch draw.IntN(8) {
		case 0:
			return slices.Delete(found, at, at+1)
		case 1:
			return append(found, found[at])
		}
		found[at] = mutate(draw, found[at])
		return found
	}
	return odd
}

// changed are statements, or the data of a record that is chained anew, with one random change.
func (f *forger) changed() {
	draw := random.New(random.NewPCG(3, 9))
	for i := range mutants {
		from := []*proof.Statement{f.plain, f.red, f.imported, f.looped, f.agent}[draw.IntN(5)]
		s := proof.Verify(f.t.Context(), sealed(f.t, from, f.ada), trusting(f.ada), nil).Statement
		payload := payloadOf(f.t, s)
		if i%2 == 0 {
			var value any
			require.NoError(f.t, json.Unmarshal(payload, &value))
			text, err := jsonvalue.Encode(mutate(draw, value))
			require.NoError(f.t, err)
			payload, err = jsonvalue.Canonical(json.RawMessage(text))
			require.NoError(f.t, err)
		} else {
			at := draw.IntN(len(s.Predicate.Records))
			line := s.Predicate.Records[at]
			data := jsonvalue.Member([]byte(line), "data")
			var value any
			require.NoError(f.t, json.Unmarshal(data, &value))
			text, err := jsonvalue.Encode(mutate(draw, value))
			require.NoError(f.t, err)
			s.Predicate.Records[at] = strings.Replace(line, string(data), string(text), 1)
			if s.Predicate.Run.Whole == len(s.Predicate.Records) {
				chained(s)
			}
			payload = payloadOf(f.t, s)
		}
		f.add(fmt.Sprintf("mutant %d", i), alike, f.whole(payload))
	}
}
