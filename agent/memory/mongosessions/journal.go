package mongosessions

import (
	"encoding/json"
	"path"
	"strconv"

	"savant/agent/memory"
	"savant/fault"
	"savant/internal/mongo"
)

// journal is a session that this process drives.
type journal struct {
	place *Place
	id    string
	// first is the number of this owner's first record. It is part of its snapshots' keys
	// and works as a fencing token: a former owner cannot replace a later owner's
	// snapshots.
	first int
	// nonce prefixes the nonces of this owner's records, so that a retried insert recognizes
	// its own document.
	nonce string
}

// Append inserts the next record with majority write concern, whatever the durability.
func (j *journal) Append(record memory.Record, _ memory.Durability) error {
	line, err := record.Line()
	if err != nil {
		return fault.New(fault.Internal, "a record of run %s: %w", j.id, err)
	}
	won, err := j.place.records.Insert(j.place.ctx, mongo.Document{Key: recordKey(j.id, record.Number),
		Nonce: j.nonce + strconv.Itoa(record.Number), Meta: j.place.owner, Body: line})
	switch {
	case err != nil:
		return notSaved(j.id, err)
	case !won && record.Number == 1:
		return memory.Collision(j.id)
	case !won:
		return fault.New(fault.StateConflict, "another process took over run %s: later results of this process are not recorded", j.id)
	}
	return nil
}

// Away reports whether the database could not be reached.
func (j *journal) Away(err error) bool { return mongo.Away(err) }

// WriteSnapshot stores a snapshot, with the fields for lists beside it.
func (j *journal) WriteSnapshot(snapshot memory.Snapshot, data []byte) error {
	snapshot.Steps, snapshot.Errors, snapshot.Summaries = nil, nil, nil
	meta, err := json.Marshal(snapshot)
	if err != nil {
		return fault.New(fault.Internal, "the snapshot of run %s: %w", j.id, err)
	}
	return notSaved(j.id, j.place.snapshots.Replace(j.place.ctx, mongo.Document{Key: recordKey(j.id, j.first), Meta: string(meta), Body: data}))
}

// SaveOutput keeps an output in the database.
func (j *journal) SaveOutput(digest string, output []byte, _ memory.Durability) (string, error) {
	name := j.id + "/" + digest
	_, err := j.place.outputs.Insert(j.place.ctx, mongo.Document{Key: name, Body: output})
	return outputsCollection + "/" + name, notSaved(j.id, err)
}

// Output returns an output of the database.
func (j *journal) Output(where string) ([]byte, error) {
	return j.place.Output(j.id, path.Base(where))
}

// Close does nothing: the job, not the journal, says whether the session is open.
func (j *journal) Close() error { return nil }
