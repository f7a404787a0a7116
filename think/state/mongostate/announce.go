package mongostate

import (
	"context"
	"time"

	"savant/internal/mongo"
)

// Announce notes that a client's hook was asked about a call, for the server that carries
// it out. call names it by a digest. Of two announcements at once of a call, one counts.
func (s *Store) Announce(ctx context.Context, call string) error {
	return s.notSaved(ctx, "the call that a hook announced was not saved", s.announced.Replace(ctx, mongo.Document{Key: call, Time: s.options.Now()}))
}

// Announced reports whether a call was announced within a time, by the clocks of both
// machines. Each announcement counts once: who inserts its mark first has it.
func (s *Store) Announced(ctx context.Context, call string, within time.Duration) (bool, error) {
	const what = "the call that a hook announced"
	document, there, err := s.announced.Find(ctx, call)
	if err != nil || !there || s.options.Now().Sub(document.Time) >= within {
		return false, s.notRead(ctx, what, err)
	}
	won, err := s.announced.Insert(ctx, mongo.Document{Key: call + "!" + document.Nonce, Time: s.options.Now()})
	return won && err == nil, s.notSaved(ctx, what+" was not marked as used", err)
}
