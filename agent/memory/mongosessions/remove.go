package mongosessions

import (
	"context"
	"errors"
	"strings"

	"savant/agent/memory"
	"savant/fault"
	"savant/internal/mongo"
)

// removedMark is the meta of a tombstone, the last document of a removed session. It is
// kept so that a late writer cannot append to the removed session.
const removedMark = "removed"

// Adopt opens a session to copy records into it. The record numbers detect concurrent
// writers.
func (p *Place) Adopt(id string) (memory.Journal, []memory.Record, error) {
	records, err := p.Records(id)
	if errors.Is(err, fault.UnknownRun) {
		created, err := p.Create(id)
		return created, nil, err
	}
	return p.journal(id, len(records)+1), records, err
}

// Remove appends a tombstone, which fences off the session's owner, and deletes the
// documents before it. It deletes the snapshots last, so that a failed removal stays
// listed and can be repeated.
func (p *Place) Remove(ctx context.Context, id string) error {
	driver, err := p.DriverStatus(id)
	if err == nil && driver.Open {
		err = memory.Conflict(id)
	}
	if err == nil {
		err = p.end(ctx, id)
	}
	if err != nil {
		return err
	}
	var keys []string
	err = p.records.Heads(ctx, prefix(id), prefix(id)+last, func(d mongo.Document) error {
		if d.Meta != removedMark {
			keys = append(keys, d.Key)
		}
		return nil
	})
	if err == nil {
		err = p.records.Delete(ctx, keys...)
	}
	if err == nil {
		err = clean(ctx, p.outputs, id+"/")
	}
	if err == nil {
		err = p.removeJobs(ctx, id)
	}
	if err == nil {
		err = clean(ctx, p.snapshots, prefix(id))
	}
	return mongo.Coded(fault.StateNotSaved, "run "+id+" was not removed", err)
}

// end inserts the tombstone of a session, unless it exists.
func (p *Place) end(ctx context.Context, id string) error {
	records, err := p.Records(id)
	if errors.Is(err, fault.UnknownRun) {
		return nil
	}
	if err != nil {
		return err
	}
	won, err := p.records.Insert(ctx, mongo.Document{Key: recordKey(id, len(records)+1), Meta: removedMark})
	if err == nil && !won {
		return memory.Conflict(id)
	}
	return notSaved(id, err)
}

func (p *Place) removeJobs(ctx context.Context, id string) error {
	all, err := p.Jobs.Look(ctx, prefix(id))
	for _, each := range all {
		if err == nil {
			err = p.Jobs.Remove(ctx, each.ID)
		}
	}
	return err
}

// clean deletes the documents whose keys have a prefix.
func clean(ctx context.Context, from *mongo.Collection, prefix string) error {
	var keys []string
	err := from.Heads(ctx, prefix, prefix+last, func(d mongo.Document) error {
		keys = append(keys, d.Key)
		return nil
	})
	if err != nil {
		return err
	}
	return from.Delete(ctx, keys...)
}

// Outputs returns the digests of the outputs in the database.
func (p *Place) Outputs(ctx context.Context, id string) (digests []string, err error) {
	err = p.outputs.Heads(ctx, id+"/", id+"/"+last, func(d mongo.Document) error {
		digests = append(digests, strings.TrimPrefix(d.Key, id+"/"))
		return nil
	})
	return digests, notRead(id, err)
}

// Output returns an output of the database.
func (p *Place) Output(id, digest string) ([]byte, error) {
	document, there, err := p.outputs.Find(p.ctx, id+"/"+digest)
	if err == nil && !there {
		err = fault.New(fault.StateCorrupt, "the output %s of run %s is missing", digest, id)
	}
	return document.Body, notRead(id, err)
}
