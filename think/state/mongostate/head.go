package mongostate

import (
	"context"
	"encoding/json"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/mongo"
	"savant/think/state"
)

// standing is the document of a run in state_heads: its last entry, in a second place. It is
// written before a record is acknowledged. A log that lost its last entries, or whose last
// entry was made anew, does not agree with it. An older one says less, and never anything wrong.
type standing struct {
	Seq     int    `json:"seq"`
	Version int    `json:"version"`
	Digest  string `json:"digest"` // of the entry
}

// stand notes the last entry of a log. If it fails, the note before it still holds.
func (s *Store) stand(ctx context.Context, key state.Key, at tail, body []byte) {
	text, err := jsonvalue.Encode(standing{at.seq, at.version(), jsonvalue.HexSum(body)})
	if err == nil {
		_ = s.heads.Replace(ctx, mongo.Document{Key: key.String(), Body: text})
	}
}

// lost returns how many records a log lacks that its second place stands for, and
// STATE_CORRUPT if it lacks any, or has another one in the place of the last.
func (s *Store) lost(ctx context.Context, key state.Key, at tail) (records int, err error) {
	name := "state_heads " + key.String()
	document, there, err := s.heads.Find(ctx, key.String())
	if err != nil || !there {
		return 0, s.notRead(ctx, name, err)
	}
	var noted standing
	if json.Unmarshal(document.Body, &noted) != nil {
		return 0, nil // it says nothing
	}
	last, there, err := s.find(ctx, key, noted.Seq)
	switch {
	case err != nil:
		return 0, err
	case !there && noted.Seq > at.seq: // one that is there was written since the log was looked at
		return max(noted.Version-at.version(), 0), fault.New(fault.StateCorrupt, "%s ends after record %d, but %s stands for record %d", key, at.version(), name, noted.Version)
	case there && jsonvalue.HexSum(last.body) != noted.Digest:
		return 0, fault.New(fault.StateCorrupt, "%s: record %d is not the one that %s stands for", key, noted.Version, name)
	}
	return 0, nil
}
