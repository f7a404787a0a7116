package mongostate

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"savant/internal/mongo"
	"savant/think/state"
)

// removal is how long ago the last entry of a log must have been written before its
// documents are removed: far longer than a writer can be late, and than a place is
// remembered.
const removal = 24 * time.Hour

// receiptAge is how long a receipt is kept.
const receiptAge = 7 * 24 * time.Hour

// erasedKey is the key of the document that says which entries of a log were removed.
func erasedKey(key state.Key, number int) string {
	return key.String() + "!" + strconv.Itoa(number)
}

// beyondErased returns the first remaining entry of a log.
func (s *Store) beyondErased(ctx context.Context, key state.Key) (first entry, there bool, err error) {
	seq, _, err := s.erased(ctx, key)
	if err != nil || seq == 0 {
		return entry{}, false, err
	}
	return s.find(ctx, key, seq)
}

// erased returns up to which entry, this one not included, a log was removed last, and
// how often it was; 0 where it never was.
func (s *Store) erased(ctx context.Context, key state.Key) (seq, times int, err error) {
	for {
		document, there, err := s.runs.Find(ctx, erasedKey(key, times+1))
		if err != nil || !there {
			return seq, times, s.notRead(ctx, key.String(), err)
		}
		times++
		if seq, err = strconv.Atoi(document.Meta); err != nil {
			return 0, times, err
		}
	}
}

// FinishMoves implements state.Maintenance: it removes the logs of runs that were erased
// from the trash long ago, old receipts, and old announcements of hooks. The last entry
// of a removed log is kept as a tombstone, so that a late writer's insert fails.
func (s *Store) FinishMoves(ctx context.Context) ([]state.Key, error) {
	hints, err := s.hints(ctx, state.Filter{})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var removed []state.Key
	err = s.each(ctx, hints, func(ctx context.Context, key state.Key, hint hinted) error {
		if hint.Version > 0 || hint.Deleted > 0 || hint.Seq == 0 {
			return nil
		}
		done, err := s.remove(ctx, key)
		mu.Lock()
		defer mu.Unlock()
		if done {
			removed = append(removed, key)
		}
		return err
	})
	if err == nil {
		err = errors.Join(s.gcOld(ctx, s.receipts), s.gcOld(ctx, s.announced))
	}
	return removed, s.notSaved(ctx, "the remains of erased runs were not removed", err)
}

// remove removes all entries of an erased log except the last, the tombstone.
func (s *Store) remove(ctx context.Context, key state.Key) (done bool, err error) {
	at, err := s.locate(ctx, key)
	if err != nil || at.version() > 0 || len(at.trash) > 0 {
		return false, err
	}
	last, there, err := s.records.Find(ctx, entryKey(key, at.seq))
	if err != nil || !there || s.options.Now().Sub(last.Time) < removal {
		return false, err
	}
	from, times, err := s.erased(ctx, key)
	if err != nil {
		return false, err
	}
	if from < at.seq {
		note := mongo.Document{Key: erasedKey(key, times+1), Meta: strconv.Itoa(at.seq)}
		if won, err := s.runs.Insert(ctx, note); err != nil || !won {
			return false, err
		}
	}
	for seq := max(1, from); seq < at.seq; seq++ {
		if err := s.records.Delete(ctx, entryKey(key, seq)); err != nil {
			return false, err
		}
	}
	if err := s.removeSnapshots(ctx, key); err != nil {
		return false, err
	}
	return true, errors.Join(s.heads.Delete(ctx, key.String()), s.runs.Delete(ctx, key.String()))
}

// removeSnapshots removes what was saved of the runs of a log.
func (s *Store) removeSnapshots(ctx context.Context, key state.Key) error {
	for _, each := range []*mongo.Collection{s.projections, s.checkpoints} {
		var old []string
		err := each.Heads(ctx, key.String()+"@", key.String()+"A", func(document mongo.Document) error {
			old = append(old, document.Key)
			return nil
		})
		if err == nil {
			err = each.Delete(ctx, old...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gcOld removes the documents of a collection that are older than receipts are kept.
func (s *Store) gcOld(ctx context.Context, of *mongo.Collection) error {
	var old []string
	err := of.Heads(ctx, " ", "~", func(document mongo.Document) error {
		if s.options.Now().Sub(document.Time) > receiptAge {
			old = append(old, document.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return of.Delete(ctx, old...)
}

// GCArtifacts implements state.Maintenance. Any occurrence of a digest in a document counts.
// An artifact that is put again meanwhile has another nonce and is kept.
func (s *Store) GCArtifacts(ctx context.Context, grace time.Duration, dry bool) (state.Collected, error) {
	var old []mongo.Document
	var removed state.Collected
	err := s.artifacts.Heads(ctx, " ", "~", func(document mongo.Document) error {
		if s.options.Now().Sub(document.Time) >= max(grace, 2*renewal) {
			old = append(old, document)
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return removed, s.notRead(ctx, "the artifacts", err)
	}
	named := map[string]bool{}
	for _, each := range []*mongo.Collection{s.records, s.projections, s.checkpoints, s.receipts} {
		err := each.Range(ctx, " ", "~", func(document mongo.Document) error {
			state.DigestsIn(document.Body, named)
			return nil
		})
		if err != nil {
			return removed, s.notRead(ctx, "the references to artifacts", err)
		}
	}
	for _, document := range old {
		if named[document.Key] {
			continue
		}
		if !dry {
			if gone, err := s.artifacts.DeleteThis(ctx, document); err != nil || !gone {
				if err != nil {
					return removed, s.notSaved(ctx, "artifact "+document.Key+" was not removed", err)
				}
				continue
			}
		}
		size, _ := strconv.ParseInt(strings.TrimSpace(document.Meta), 10, 64)
		removed.Artifacts, removed.Bytes = removed.Artifacts+1, removed.Bytes+size
	}
	return removed, nil
}
