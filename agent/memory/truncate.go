package memory

import (
	"math"
	"slices"
)

// maxOutput bounds, in bytes, the output of one call in the journal, and the outputs
// (and likewise the arguments) of all calls of one step in memory.
const maxOutput = 32 << 10

// Keep returns a call as the journal holds it: an output over 32 KB is truncated, and
// its full text saved to a file. On STATE_NOT_SAVED it returns the call unchanged.
func (s *Session) Keep(call Call) (Call, error) {
	if len(call.Output) <= maxOutput {
		return call, nil
	}
	artifact, err := s.saveOutput(call.Output, Durable)
	if err != nil {
		return call, err
	}
	call.Artifact = artifact
	return call.cutOutput(maxOutput), nil
}

// Fit returns the calls of a step as memory holds them. If their outputs exceed 32 KB
// together, each call gets a fair share: larger outputs are truncated, and their full
// text saved to files. On STATE_NOT_SAVED the outputs that could not be saved stay
// whole.
func (s *Session) Fit(calls []Call) ([]Call, error) {
	outputs := fairShare(calls, func(c Call) int { return len(c.Output) })
	args := fairShare(calls, func(c Call) int { return len(c.Args) })
	fitted := slices.Clone(calls) // the caller keeps its slice
	for i := range fitted {
		each := &fitted[i]
		if len(each.Args) > args {
			each.Args = text(string(each.Args), args)
		}
		if len(each.Output) <= outputs {
			continue
		}
		if each.Artifact == "" {
			artifact, err := s.saveOutput(each.Output, Lazy) // the journal also has it
			if err != nil {
				return fitted, err
			}
			each.Artifact = artifact
		}
		*each = each.cutOutput(outputs)
	}
	return fitted, nil
}

// fairShare returns the byte limit of each call for a total of maxOutput. Room that
// small calls leave unused goes to the larger ones.
func fairShare(calls []Call, size func(Call) int) int {
	sizes := make([]int, len(calls))
	for i, each := range calls {
		sizes[i] = size(each)
	}
	slices.Sort(sizes)
	room := maxOutput
	for i, each := range sizes {
		if fair := room / (len(sizes) - i); each > fair {
			return fair
		}
		room -= each
	}
	return math.MaxInt
}
