package sessions

import (
	"os"
	"strings"

	"savant/internal/jsonvalue"
)

// Seen is a call that a hook of a client saw to its end.
type Seen struct {
	Client, Tool, Outcome string
	// Input is the digest of the arguments, Began and Ended are milliseconds since 1970.
	Input        string
	Began, Ended int64
}

// HookCalls returns the calls that hooks saw in a folder, in the order in which they ended.
// Hooks keep the calls that rules ask about.
func HookCalls(root *os.Root) (found []Seen, err error) {
	all, err := readAll(root)
	begun := map[string]record{}
	for _, each := range all {
		switch {
		case each.Kind == kindCall && each.Witness == "hook":
			begun[each.Call] = each
		case each.Kind == kindEnd && begun[each.Call].Call != "":
			call := begun[each.Call]
			digest, err := jsonvalue.Digest(call.Input)
			words := strings.Fields(call.Session)
			if err == nil && len(words) > 1 {
				found = append(found, Seen{words[1], call.Tool, string(each.Outcome), digest, call.Time, each.Time})
			}
		}
	}
	return found, err
}
