package statetest

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// filters collects what commands ask for that are not what a store may ask: a document
// by its key, or a range of keys. An artifact is removed by its key and its nonce.
type filters struct {
	mu    sync.Mutex
	wrong []string
	seen  map[string]int
}

// sent is mongo.Options.Sent.
func (f *filters) sent(name, command string) {
	var sent struct {
		Filter  map[string]any `json:"filter"`
		Sort    map[string]any `json:"sort"`
		Updates []struct {
			Q map[string]any `json:"q"`
		} `json:"updates"`
		Deletes []struct {
			Q map[string]any `json:"q"`
		} `json:"deletes"`
	}
	broken := json.Unmarshal([]byte(command), &sent) != nil
	asked := []map[string]any{}
	switch name {
	case "find":
		asked = append(asked, sent.Filter)
	case "update":
		for _, each := range sent.Updates {
			asked = append(asked, each.Q)
		}
	case "delete":
		for _, each := range sent.Deletes {
			delete(each.Q, "nonce")
			asked = append(asked, each.Q)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[name]++
	allowed := []string{"find", "getMore", "insert", "update", "delete", "endSessions", "ping", "dropDatabase", "killCursors"}
	for _, filter := range asked {
		_, byKey := filter["_id"]
		broken = broken || !byKey || len(filter) != 1
	}
	_, sorted := sent.Sort["_id"]
	if broken || !slices.Contains(allowed, name) || len(sent.Sort) > 0 && !sorted {
		f.wrong = append(f.wrong, command)
	}
}

// TestTheFiltersAreNoticed shows that another filter would be.
func TestTheFiltersAreNoticed(t *testing.T) {
	f := &filters{seen: map[string]int{}}
	f.sent("find", `{"find":"c","filter":{"_id":"a"}}`)
	f.sent("find", `{"find":"c","filter":{"_id":{"$gte":"a","$lt":"b"}},"sort":{"_id":1}}`)
	f.sent("delete", `{"delete":"c","deletes":[{"q":{"_id":"a","nonce":"n"}}]}`)
	require.Empty(t, f.wrong)
	f.sent("find", `{"find":"c","filter":{}}`)
	f.sent("find", `{"find":"c","filter":{"_id":"a","at":1}}`)
	f.sent("update", `{"update":"c","updates":[{"q":{"nonce":"a"}}]}`)
	f.sent("aggregate", `{"aggregate":"c"}`)
	f.sent("findAndModify", `{"findAndModify":"c"}`)
	f.sent("find", `{"find":"c","filter":{"_id":"a"},"sort":{"at":1}}`)
	require.Len(t, f.wrong, 6)
}
