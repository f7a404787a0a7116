package memory

import (
	"encoding/json"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// MaxPart bounds a part of a prompt and a reply as they are kept, in bytes.
const MaxPart = 256 << 10

// Exchange is what a model was asked in one call, by its parts, and what it wrote.
type Exchange struct {
	Parts []Part `json:"parts"`
	Reply string `json:"reply"`
}

// Part is a part of a prompt. As it is kept, In stands for a text that an earlier exchange
// of the session has: it is the digest of that exchange.
type Part struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
	In   string `json:"in,omitempty"`
}

// KeepExchange stores an exchange beside the journal, each part once while it stays the
// same, and returns its digest: STATE_NOT_SAVED. The caller has taken secrets out and cut what
// is longer than MaxPart.
func (s *Session) KeepExchange(exchange Exchange) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	exchange.Parts = slices.Clone(exchange.Parts)
	var parts []Part
	for i, each := range exchange.Parts {
		if part, known := s.parts[each.Name]; known && part.Text == each.Text {
			exchange.Parts[i] = Part{Name: each.Name, In: part.In}
			continue
		}
		exchange.Parts[i] = each
		parts = append(parts, each)
	}
	raw, err := json.Marshal(exchange)
	if err != nil {
		return "", fault.New(fault.Internal, "an exchange with a model: %w", err)
	}
	digest := jsonvalue.HexSum(raw)
	if _, err := s.journal.SaveOutput(digest, raw, Lazy); err != nil {
		return "", err
	}
	if s.parts == nil {
		s.parts = map[string]Part{}
	}
	for _, each := range parts {
		each.In = digest
		s.parts[each.Name] = each
	}
	return digest, nil
}

// Exchange returns a kept exchange with all texts: UNKNOWN_RUN if it is not there,
// STATE_CORRUPT.
func (s *Store) Exchange(id, digest string) (Exchange, error) {
	exchange, err := s.readExchange(id, digest)
	for i, part := range exchange.Parts {
		if err != nil || part.In == "" {
			continue
		}
		var earlier Exchange
		earlier, err = s.readExchange(id, part.In)
		if at := slices.IndexFunc(earlier.Parts, func(p Part) bool { return p.Name == part.Name }); at >= 0 {
			exchange.Parts[i].Text = earlier.Parts[at].Text
		}
	}
	return exchange, err
}

func (s *Store) readExchange(id, digest string) (exchange Exchange, err error) {
	if err := checkID(id); err != nil {
		return exchange, err
	}
	if !digestPattern().MatchString(digest) {
		return exchange, fault.New(fault.UnknownRun, "run %s has no exchange %q", id, fault.Cut(digest, 100))
	}
	raw, err := s.Output(id, digest)
	if err == nil && json.Unmarshal(raw, &exchange) != nil {
		err = fault.New(fault.StateCorrupt, "the exchange %s of run %s is damaged", digest, id)
	}
	return exchange, err
}
