package engines

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
)

// Aliases maps an argument's name to the other names that models use for it.
type Aliases map[string][]string

// Stray returns INVALID_PARAMS if an undeclared argument was probably meant as a
// declared one that is missing: it has an alias or another spelling ("runId") of its
// name. The error names the declared argument.
func (a Aliases) Stray(declared, stray map[string]json.RawMessage) error {
	for _, sent := range slices.Sorted(maps.Keys(stray)) {
		plain := plainSpelling(sent)
		var meant []string
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if declared[name] == nil && (plain == plainSpelling(name) || slices.Contains(a[name], plain)) {
				meant = append(meant, name)
			}
		}
		if len(meant) > 0 {
			is := strings.Join(meant, " or ")
			return fault.New(fault.InvalidParams, "unknown argument %q: send it as %s", fault.Cut(sent, 80), is).
				With(fault.Diagnostic{Path: sent, Message: "no argument has this name", Expected: is, Actual: strconv.Quote(fault.Cut(sent, 80))})
		}
	}
	return nil
}

// plainSpelling returns a name in lower case without separators, for comparison.
func plainSpelling(name string) string {
	return separators.Replace(strings.ToLower(name))
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")
