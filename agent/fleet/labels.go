package fleet

import (
	"slices"
	"strings"
)

// needs encodes a list of labels for the queue.
func needs(labels []string) string {
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	return strings.Join(slices.Compact(sorted), ",")
}

// split decodes the labels of needs.
func split(needs string) []string {
	if needs == "" {
		return nil
	}
	return strings.Split(needs, ",")
}

// has reports whether labels include all that a job needs.
func has(labels []string, needs string) bool {
	return !slices.ContainsFunc(split(needs), func(each string) bool { return !slices.Contains(labels, each) })
}

// flags are the command-line flags of a worker with these labels.
func flags(needs string) (text string) {
	for _, each := range split(needs) {
		text += " --label " + each
	}
	return text
}
