package proof

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"strings"

	"savant/internal/jsonvalue"
)

// calls returns the records that count and name a receipt of the gateway, each with the last
// instruction for its step that a record before it shows.
func (s *Statement) calls() iter.Seq2[entry, instruction] {
	return func(yield func(entry, instruction) bool) {
		line, asked := s.line, map[string]instruction{}
		for _, each := range s.entries {
			if len(line) > 0 && line[0].Version == each.Version {
				line = line[1:]
				if each.Witness == witnessGateway && each.Receipt != "" && !yield(each, asked[each.Step]) {
					return
				}
			}
			found := each.replied()
			for _, one := range append(found.Instructions, found.Instruction) {
				one.time = each.Time
				asked[one.Step] = one
			}
		}
	}
}

// match gives receipts to the records that name them, which stand in the same order. It
// returns the receipts from the first one on that no record names.
func (s *Statement) match() (left []Receipt) {
	s.proven, left = map[int]bool{}, s.Predicate.Receipts
	if len(left) == 0 {
		return nil
	}
	for each, asked := range s.calls() {
		if len(left) > 0 && s.fits(left[0], each, asked) {
			s.proven[each.Version], left = true, left[1:]
		}
	}
	return left
}

// fits reports whether a receipt is of a record and of the call that was asked for, as far as
// the records show it.
func (s *Statement) fits(r Receipt, of entry, asked instruction) bool {
	commands := s.entries[0].Commands
	if r.ID != of.Receipt || r.Output != of.Digest || r.Tool != cmp.Or(of.Call, asked.Call, r.Tool) || !r.Failed && of.failed() ||
		len(commands) > 0 && r.CommandDigest != "" && r.CommandDigest != commands[r.Command] {
		return false
	}
	return asked.Step == "" || isSince(r.Time, asked.time) && (s.isRedacted() && isPlaceholder(r.Input) || isInput(r.Input, asked.Input))
}

// failed reports whether a record says that its call failed.
func (e entry) failed() bool {
	return e.Done == "failed" || string(jsonvalue.Member(e.Result, "isError")) == "true"
}

// isSince compares the times of a receipt and of a record.
func isSince(time, since string) bool {
	is := timePattern()
	return is.MatchString(time) && is.MatchString(since) && strings.TrimSuffix(time, "Z") >= strings.TrimSuffix(since, "Z")
}

// isInput reports whether a digest is that of an input, whose members that are null a tool
// may not get.
func isInput(digest string, raw json.RawMessage) bool {
	whole, err := sharedDigest(raw)
	if err != nil || whole == digest {
		return err == nil
	}
	var members map[string]any
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	maps.DeleteFunc(members, func(_ string, value any) bool { return value == nil })
	text, err := encode(members)
	return err == nil && jsonvalue.HexSum(text) == digest
}
