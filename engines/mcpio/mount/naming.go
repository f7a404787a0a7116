package mount

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"savant/engines"
	"savant/internal/pattern"
)

const (
	// maxToolName is the maximum length of a published name with its engine: clients
	// add a prefix and allow 64 in all.
	maxToolName = 48
	// maxEngineName leaves room for the tools' names.
	maxEngineName = 24
)

var engineName = pattern.Lazy(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$`)

// reserved are the names of Savant's engines and of the calls of its language.
var reserved = []string{"agent", "ci", "context", "flow", "git", "human", "llm", "reasoning", "savant", "think", "workflow"}

// checkEngineName returns what is wrong with a server's name, or "".
func checkEngineName(name string) string {
	if len(name) > maxEngineName || !engineName().MatchString(name) {
		return fmt.Sprintf("a server's name may have letters, digits, - and single _, and at most %d bytes: rename it", maxEngineName)
	}
	if slices.Contains(reserved, strings.ToLower(name)) {
		return "Savant uses this name itself: rename it"
	}
	return ""
}

var (
	foreign  = pattern.Lazy(`[^A-Za-z0-9.-]+`) // "__" too becomes one "_"
	emptyDot = pattern.Lazy(`_*\._*(\._*)*`)
)

// canonical returns the published name of a server's tool, NAME.tool. Invalid
// characters become "_"; a long name is truncated and ends in the start of its digest.
func canonical(engine, tool string) string {
	plain := foreign().ReplaceAllString(tool, "_")
	plain = emptyDot().ReplaceAllString(plain, ".")
	plain = strings.Trim(plain, "._")
	if room := maxToolName - len(engine) - 1; plain == "" || len(plain) > room {
		sum := sha256.Sum256([]byte(tool))
		tail := hex.EncodeToString(sum[:4])
		plain = strings.Trim(strings.Trim(plain[:min(len(plain), room-len(tail)-1)], "._")+"_"+tail, "_")
	}
	return engine + "." + plain
}

// canonicals returns the published names of a server's tools, by the server's names. If
// several tools map to one name, in either spelling, the one whose name needed no
// change gets it; the others are refused with the reason.
func canonicals(engine string, tools []string) (names, refused map[string]string) {
	names, refused = map[string]string{}, map[string]string{}
	claims := map[string][]string{}
	for _, tool := range slices.Sorted(slices.Values(tools)) {
		spelt := engines.Underscored(canonical(engine, tool))
		claims[spelt] = append(claims[spelt], tool)
	}
	for _, claimants := range claims {
		winner := -1
		if len(claimants) == 1 {
			winner = 0
		} else {
			winner = slices.IndexFunc(claimants, func(tool string) bool {
				return canonical(engine, tool) == engine+"."+tool && !strings.Contains(tool, ".")
			})
		}
		for i, tool := range claimants {
			if i == winner {
				names[tool] = canonical(engine, tool)
				continue
			}
			refused[tool] = "its name becomes the name of another tool, " + canonical(engine, tool)
		}
	}
	return names, refused
}
