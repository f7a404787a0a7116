package memory

import (
	"math"
	"slices"

	"savant/internal/atomicfile"
)

// What the calls of one step hold together of their outputs, and of their
// arguments, in bytes: of the last steps, and of those before, of which a model
// is shown no more than a line. It keeps long runs, and steps of many calls,
// within their memory.
const (
	maxStep = maxOutput
	maxPast = 4 << 10
)

// Fit returns the calls of a step as it may hold them. Where they are too large
// together each gets a fair share: small ones stay as they are, and of the others
// there are the beginning, a note and the file that has the whole. The error is
// STATE_NOT_SAVED; what could not be kept whole elsewhere is as it was.
func (s *Session) Fit(calls []Call) ([]Call, error) { return s.fit(calls, maxStep) }

func (s *Session) fit(calls []Call, room int) ([]Call, error) {
	outputs := share(calls, room, func(c Call) int { return len(c.Output) })
	args := share(calls, room, func(c Call) int { return len(c.Args) })
	if outputs == math.MaxInt && args == math.MaxInt {
		return calls, nil
	}
	fitted := slices.Clone(calls) // those handed out stay as they are
	for i := range fitted {
		each := &fitted[i]
		if len(each.Args) > args {
			each.Args = text(string(each.Args), args)
		}
		if len(each.Output) <= outputs {
			continue
		}
		if each.Artifact == "" {
			artifact, err := s.artifact(each.Output, atomicfile.Lazy) // the journal has it too: it can be written again
			if err != nil {
				return fitted, err
			}
			each.Artifact = artifact
		}
		*each = each.cutOutput(outputs)
	}
	return fitted, nil
}

// share returns what each call may have so that all of them have room: what
// small ones leave is for the larger ones.
func share(calls []Call, room int, size func(Call) int) int {
	sizes := make([]int, len(calls))
	for i, each := range calls {
		sizes[i] = size(each)
	}
	slices.Sort(sizes)
	for i, each := range sizes {
		if fair := room / (len(sizes) - i); each > fair {
			return fair
		}
		room -= each
	}
	return math.MaxInt
}

// forget leaves the beginnings of a step that is not shown again. Where its
// outputs cannot be kept elsewhere they stay. The caller holds the lock.
func (s *Session) forget(index int) {
	if index < 0 || total(s.sizes) <= Budget {
		return // all of them are shown
	}
	if calls, err := s.fit(s.steps[index].Calls, maxPast); err == nil {
		s.steps[index].Calls = calls
	}
}
