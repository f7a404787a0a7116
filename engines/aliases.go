package engines

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
)

// Aliases are the names that models give to arguments of a tool, by the
// argument's own name.
type Aliases map[string][]string

// Stray refuses a stray argument that was meant as one of the tool's: one that
// is called by an alias, or spelt in another way ("runId"), while that one is
// absent. INVALID_PARAMS says which was meant.
func (a Aliases) Stray(declared, stray map[string]json.RawMessage) error {
	for _, sent := range slices.Sorted(maps.Keys(stray)) {
		var meant []string
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if declared[name] == nil && (plainSpelling(sent) == plainSpelling(name) || slices.Contains(a[name], plainSpelling(sent))) {
				meant = append(meant, name)
			}
		}
		if len(meant) > 0 {
			is := strings.Join(meant, " or ")
			return fault.New(fault.InvalidParams, "there is no argument %q: send it as %s", fault.Cut(sent, 80), is).
				With(fault.Diagnostic{Path: sent, Message: "no argument has this name", Expected: is, Actual: strconv.Quote(fault.Cut(sent, 80))})
		}
	}
	return nil
}

// plainSpelling is a name in small letters, without what joins its words.
func plainSpelling(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name))
}
