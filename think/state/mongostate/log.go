package mongostate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/mongo"
	"savant/think/state"
)

// entry is one document of a run's log.
type entry struct {
	// seq counts the entries of a log from 1, without gaps.
	seq  int
	meta meta
	// body is the line of a record, or a view.
	body []byte
}

// meta describes an entry. Most records have none.
type meta struct {
	Op op `json:"op,omitempty"`
	// From is the entry after which the records stand that follow each other up to
	// this one; 0: they are the first of the log.
	From int `json:"from,omitempty"`
}

type op string

const (
	isRecord op = ""
	// isView: the body is a view, which holds from here on.
	isView op = "view"
	// isStaged marks a record that joins the run only by a later view.
	isStaged op = "staged"
)

// view defines which of the earlier entries form the run.
type view struct {
	Run   spans     `json:"run,omitempty"`
	Trash []deleted `json:"trash,omitempty"`
}

// deleted is a run of the name that was deleted, the last at the end.
type deleted struct {
	Run   spans  `json:"run"`
	Moved string `json:"moved"`
}

// span is entries that follow each other; spans are the records of a run, by version.
type (
	span  struct{ Seq, Count int }
	spans []span
)

// count returns how many records there are.
func (s spans) count() (sum int) {
	for _, each := range s {
		sum += each.Count
	}
	return sum
}

// seq returns the entry that has the record of a version.
func (s spans) seq(version int) int {
	for _, each := range s {
		if version <= each.Count {
			return each.Seq + version - 1
		}
		version -= each.Count
	}
	return 0
}

// upTo returns the first records.
func (s spans) upTo(version int) spans {
	var kept spans
	for _, each := range s {
		each.Count = min(each.Count, version)
		if each.Count > 0 {
			kept = append(kept, each)
		}
		version -= each.Count
	}
	return kept
}

// add returns the spans with one entry more.
func (s spans) add(seq int) spans {
	if last := len(s) - 1; last >= 0 && s[last].Seq+s[last].Count == seq {
		s = slices.Clone(s)
		s[last].Count++
		return s
	}
	return append(slices.Clip(s), span{seq, 1})
}

func entryKey(key state.Key, seq int) string { return fmt.Sprintf("%s@%06d", key, seq) }

func (e entry) document(key state.Key) (mongo.Document, error) {
	document := mongo.Document{Key: entryKey(key, e.seq), Body: e.body}
	if e.meta == (meta{}) {
		return document, nil
	}
	text, err := jsonvalue.Encode(e.meta)
	document.Meta = string(text)
	return document, err
}

// find returns an entry of a log, and false if it has none of the number.
func (s *Store) find(ctx context.Context, key state.Key, seq int) (entry, bool, error) {
	name := entryKey(key, seq)
	document, there, err := s.records.Find(ctx, name)
	if err != nil || !there {
		return entry{}, false, s.notRead(ctx, name, err)
	}
	found := entry{seq: seq, body: document.Body}
	if document.Meta != "" && json.Unmarshal([]byte(document.Meta), &found.meta) != nil {
		return entry{}, false, fault.New(fault.StateCorrupt, "%s: the entry does not say what it is", name)
	}
	return found, true, nil
}

// end returns the last entry of a log, which has one that is known. Entries have no
// gaps, so the steps grow, and then halve.
func (s *Store) end(ctx context.Context, key state.Key, known entry) (entry, error) {
	step := 1
	for {
		further, there, err := s.find(ctx, key, known.seq+step)
		if err != nil {
			return entry{}, err
		}
		if !there {
			break
		}
		known, step = further, 2*step
	}
	for beyond := known.seq + step; beyond > known.seq+1; { // no entry is there
		middle := (known.seq + beyond) / 2
		further, there, err := s.find(ctx, key, middle)
		if err != nil {
			return entry{}, err
		}
		if there {
			known = further
		} else {
			beyond = middle
		}
	}
	return known, nil
}

// tail is where a run stands: what its next entry has to follow.
type tail struct {
	// seq is that of the last entry, 0 for an empty log, and from what the next
	// record has in its meta.
	seq, from int
	// spans are the records of the run, and trash what was deleted before.
	spans spans
	trash []deleted
	// hash, status and updated are those of the last record, created is the time
	// of the first; empty where it was not looked up.
	hash, status, updated, created string
	// read is when the place was read.
	read time.Time
}

func (p tail) version() int { return p.spans.count() }

func (p tail) link() state.Link { return state.Link{Version: p.version(), Hash: p.hash} }

// after is the place after a record that was written at it.
func (p tail) after(record state.Record) tail {
	next := tail{seq: p.seq + 1, from: p.from, spans: p.spans.add(p.seq + 1), trash: p.trash,
		hash: record.Hash, status: record.Status, updated: record.Time, created: p.created}
	if record.Version == 1 {
		next.created = record.Time
	}
	return next
}

// tailOf returns the place that an entry at the end of a log makes.
func (s *Store) tailOf(ctx context.Context, key state.Key, last entry) (tail, error) {
	at := tail{seq: last.seq, from: last.seq}
	base := last
	if last.meta.Op == isRecord {
		at.from = last.meta.From
		if at.from > 0 {
			found, there, err := s.find(ctx, key, at.from)
			if err != nil || !there {
				return tail{}, missing(entryKey(key, at.from), err)
			}
			base = found
		}
	}
	seen, err := s.viewAt(ctx, key, base)
	if err != nil {
		return tail{}, err
	}
	at.spans, at.trash = seen.Run, seen.Trash
	if last.meta.Op == isRecord {
		at.spans = append(slices.Clip(at.spans), span{at.from + 1, last.seq - at.from})
		return at.describe(last.body), nil
	}
	if at.version() == 0 {
		return at, nil
	}
	newest, there, err := s.find(ctx, key, at.spans.seq(at.version()))
	if err != nil || !there {
		return tail{}, missing(entryKey(key, newest.seq), err)
	}
	return at.describe(newest.body), nil
}

// describe fills in what the last record says.
func (p tail) describe(line []byte) tail {
	head := state.ReadHead(line)
	p.hash, p.status, p.updated = head.Hash, head.Status, head.Time
	return p
}

// viewAt returns the view after an entry that is not a record of the run.
func (s *Store) viewAt(ctx context.Context, key state.Key, at entry) (seen view, err error) {
	name := entryKey(key, at.seq)
	switch at.meta.Op {
	case isView:
		if json.Unmarshal(at.body, &seen) != nil {
			err = fault.New(fault.StateCorrupt, "%s: the entry cannot be read", name)
		}
		return seen, err
	case isStaged: // it says nothing of what was deleted before
		before, there, err := s.find(ctx, key, at.meta.From)
		if err != nil || !there || before.meta.Op == isRecord {
			return view{}, err
		}
		seen, err = s.viewAt(ctx, key, before)
		seen.Run = nil
		return seen, err
	}
	return view{}, nil
}

func missing(name string, err error) error {
	if err != nil {
		return err
	}
	return fault.New(fault.StateCorrupt, "%s: the entry is missing", name)
}
