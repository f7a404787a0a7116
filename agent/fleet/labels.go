package fleet

import (
	"slices"
	"strings"
)

// needs is a list of labels as the queue has it.
func needs(labels []string) string {
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	return strings.Join(slices.Compact(sorted), ",")
}

// split returns the labels of such a list.
func split(needs string) []string {
	if needs == "" {
		return nil
	}
	return strings.Split(needs, ",")
}

// has says whether labels are all that a job needs.
func has(labels []string, needs string) bool {
	return !slices.ContainsFunc(split(needs), func(each string) bool { return !slices.Contains(labels, each) })
}

// flags are the flags of a worker that has labels.
func flags(needs string) (text string) {
	for _, each := range split(needs) {
		text += " --label " + each
	}
	return text
}
