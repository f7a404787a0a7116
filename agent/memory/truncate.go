package memory

import (
	"math"
	"slices"
)

// maxOutput bounds the output of a call in the journal, and the outputs (and the
// arguments) of all calls of one step in memory, in bytes.
const maxOutput = 32 << 10

// Keep returns a call as the journal holds it. Of an output over 32 KB it has
// the beginning, and a file has the whole. On STATE_NOT_SAVED it returns the call
// as it was.
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

// Fit returns the calls of a step as memory holds them. If they are over 32 KB
// together, each call gets a fair share: small ones stay whole, the others are
// cut, and files have the whole outputs. On STATE_NOT_SAVED the calls that could
// not be written stay whole.
func (s *Session) Fit(calls []Call) ([]Call, error) {
	outputs := fairShare(calls, func(c Call) int { return len(c.Output) })
	args := fairShare(calls, func(c Call) int { return len(c.Args) })
	fitted := slices.Clone(calls) // the caller keeps the others
	for i := range fitted {
		each := &fitted[i]
		if len(each.Args) > args {
			each.Args = text(string(each.Args), args)
		}
		if len(each.Output) <= outputs {
			continue
		}
		if each.Artifact == "" {
			artifact, err := s.saveOutput(each.Output, Lazy) // the journal has it, too
			if err != nil {
				return fitted, err
			}
			each.Artifact = artifact
		}
		*each = each.cutOutput(outputs)
	}
	return fitted, nil
}

// fairShare returns how many bytes each call may have so that all of them have
// maxOutput together. What small calls leave is for the larger ones.
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
