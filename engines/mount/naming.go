package mount

import (
	"fmt"
	"slices"
	"strings"

	"savant/engines"
	"savant/internal/jsonvalue"
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

// languageNames are names that calls of the language and Savant itself have.
var languageNames = []string{"app", "flow", "human", "llm", "reasoning", "savant"}

// checkEngineName returns what is wrong with a server's name, or "". own are Savant's
// engines.
func checkEngineName(name string, own []string) string {
	if len(name) > maxEngineName || !engineName().MatchString(name) {
		return fmt.Sprintf("a server's name may have letters, digits, - and single _, and at most %d bytes: rename it", maxEngineName)
	}
	if lower := strings.ToLower(name); slices.Contains(languageNames, lower) || slices.Contains(own, lower) {
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
	if plain == "" || len(plain) > roomOf(engine) {
		return distinct(engine, tool, plain)
	}
	return engine + "." + plain
}

// roomOf is the maximum length of a tool's own name.
func roomOf(engine string) int { return maxToolName - len(engine) - 1 }

// distinct returns a name that ends in the start of the digest of the server's name for
// the tool.
func distinct(engine, tool, plain string) string {
	tail := jsonvalue.HexSum([]byte(tool))[:8]
	plain = strings.Trim(plain[:min(len(plain), roomOf(engine)-len(tail)-1)], "._")
	return engine + "." + strings.Trim(plain+"_"+tail, "_")
}

// neighbour returns the other server to which clients would ascribe a name of this one: a_b
// for the name a_b_c of the server a; "" if there is none.
func neighbour(engine string, others []string, spelt string) string {
	for _, other := range others {
		if strings.HasPrefix(other, engine+"_") && strings.HasPrefix(spelt, other+"_") {
			return other
		}
	}
	return ""
}

// canonicals returns the published names of a server's tools, by the server's names. If
// several tools map to one name, in either spelling, the one whose name needed no
// change gets it; the others' end in their digest. A tool whose name is taken even so
// is refused with the reason. A name that clients would see as one of another server's is
// no tool's: which of two servers starts first must not decide what a name calls.
func canonicals(engine string, others, tools []string) (names, refused map[string]string) {
	names, refused = map[string]string{}, map[string]string{}
	claims := map[string][]string{}
	for _, tool := range slices.Sorted(slices.Values(tools)) {
		spelt := engines.Underscored(canonical(engine, tool))
		claims[spelt] = append(claims[spelt], tool)
	}
	taken := map[string]bool{}
	for spelt, claimants := range claims {
		winner := slices.IndexFunc(claimants, func(tool string) bool {
			return len(claimants) == 1 || canonical(engine, tool) == engine+"."+tool && !strings.Contains(tool, ".")
		})
		if neighbour(engine, others, spelt) != "" {
			winner = -1
		}
		if winner >= 0 {
			names[claimants[winner]], taken[spelt] = canonical(engine, claimants[winner]), true
		}
	}
	for _, tool := range slices.Sorted(slices.Values(tools)) {
		if names[tool] != "" {
			continue
		}
		name := distinct(engine, tool, strings.TrimPrefix(canonical(engine, tool), engine+"."))
		if spelt := engines.Underscored(name); taken[spelt] {
			refused[tool] = "its name becomes the name of another tool, " + name
		} else {
			names[tool], taken[spelt] = name, true
		}
	}
	return names, refused
}
