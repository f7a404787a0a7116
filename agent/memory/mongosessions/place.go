// Package mongosessions keeps sessions of the agent in MongoDB, for several machines.
//
// A session is a log of immutable documents, RUN@000001 and on. An append inserts the
// next number; of two concurrent inserts one fails. A process that takes a session over
// inserts a record with the number of its claim, which is the fencing token: a former
// owner's next append uses the same number, fails, and so precedes no further action.
//
// Each demand to drive a session is a job in the queue: RUN@0001, then one more at each
// resumption.
package mongosessions

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/internal/jobs"
	"savant/internal/mongo"
)

// Collections of the database.
const (
	recordsCollection   = "agent_sessions"
	snapshotsCollection = "agent_snapshots"
	outputsCollection   = "agent_outputs"
	jobsCollection      = "agent_jobs"
)

// KindTaken is the kind of the record by which a process takes a session over.
const KindTaken = "taken"

// Taken is the data of a KindTaken record.
type Taken struct {
	Owner string `json:"owner"`
	Claim Claim  `json:"claim"`
}

// Claim identifies a claim of a session's job. Claims are ordered in time.
type Claim struct {
	Job    int `json:"job"`
	Number int `json:"number"`
}

// before says whether a claim was made before another.
func (c Claim) before(other Claim) bool {
	return c.Job < other.Job || c.Job == other.Job && c.Number < other.Number
}

// Place is memory.Place in a database.
type Place struct {
	// Jobs is the queue of demands to drive sessions.
	Jobs *jobs.Queue
	// Note explains why no worker claims a session that needs labels; it may be nil.
	Note func(ctx context.Context, needs string) string

	ctx                         context.Context
	owner                       string
	records, snapshots, outputs *mongo.Collection

	mu     sync.Mutex
	claims map[string]Claim // of this process, by session
}

// Open returns the sessions of a database. Its calls end with ctx. owner names this
// process for people.
func Open(ctx context.Context, database *mongo.Database, owner string) *Place {
	return &Place{Jobs: jobs.New(database.Collection(jobsCollection)), ctx: ctx, owner: owner, claims: map[string]Claim{},
		records: database.Collection(recordsCollection), snapshots: database.Collection(snapshotsCollection), outputs: database.Collection(outputsCollection)}
}

// Owner names this process.
func (p *Place) Owner() string { return p.owner }

// Hold sets the claim under which this process next takes a session over.
func (p *Place) Hold(id string, claim Claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims[id] = claim
}

func (p *Place) claimOf(id string) Claim {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claims[id]
}

func recordKey(id string, number int) string { return fmt.Sprintf("%s@%06d", id, number) }

// prefix begins the keys of a session; no id has its last character.
func prefix(id string) string { return id + "@" }

const last = "\U0010ffff"

func notSaved(id string, err error) error {
	return mongo.Coded(fault.StateNotSaved, "run "+id+" was not saved", err)
}

func notRead(id string, err error) error {
	return mongo.Coded(fault.StateNotSaved, "run "+id+" was not read", err)
}

// Create begins a journal. If two processes create it at once, the first inserted record
// decides.
func (p *Place) Create(id string) (memory.Journal, error) {
	there := false
	err := p.records.Heads(p.ctx, prefix(id), prefix(id)+last, func(mongo.Document) error {
		there = true
		return nil
	})
	if err != nil {
		return nil, notRead(id, err)
	}
	if there {
		return nil, memory.Collision(id)
	}
	return p.journal(id, 1), nil
}

// journal opens a session for writing from record number first.
func (p *Place) journal(id string, first int) *journal {
	return &journal{place: p, id: id, first: first, nonce: rand.Text() + "/"}
}

// Resume takes a session over. STATE_CONFLICT means that a later claim has taken it.
func (p *Place) Resume(id string) (memory.Journal, []memory.Record, error) {
	claim := p.claimOf(id)
	data, err := json.Marshal(Taken{Owner: p.owner, Claim: claim})
	if err != nil {
		return nil, nil, fault.New(fault.Internal, "encode the owner of run %s: %w", id, err)
	}
	for {
		records, err := p.Records(id)
		if err != nil {
			return nil, nil, err
		}
		if latest := LatestClaim(records); claim.before(latest) {
			return nil, nil, memory.Conflict(id)
		}
		taken := memory.Record{Number: len(records) + 1, Kind: KindTaken, Time: p.records.Now().UTC().Format(time.RFC3339Nano), Data: data}
		opened := p.journal(id, taken.Number)
		switch err := opened.Append(taken, memory.Durable); {
		case err == nil:
			return opened, append(records, taken), nil
		case !errors.Is(err, fault.StateConflict):
			return nil, nil, err
		} // the former owner wrote one more record
	}
}

// LatestClaim is the last claim under which a session was taken over.
func LatestClaim(records []memory.Record) (latest Claim) {
	for _, each := range records {
		var taken Taken
		if each.Kind == KindTaken && json.Unmarshal(each.Data, &taken) == nil && latest.before(taken.Claim) {
			latest = taken.Claim
		}
	}
	return latest
}

// Records reads the journal of a session.
func (p *Place) Records(id string) (records []memory.Record, err error) {
	var documents []mongo.Document
	err = p.records.Range(p.ctx, prefix(id), prefix(id)+last, func(d mongo.Document) error {
		documents = append(documents, d)
		return nil
	})
	if err != nil {
		return nil, notRead(id, err)
	}
	if len(documents) == 0 || documents[len(documents)-1].Meta == removedMark {
		return nil, memory.Unknown(id)
	}
	for i, each := range documents {
		number := i + 1
		if each.Key != recordKey(id, number) {
			return nil, fault.New(fault.StateCorrupt, "run %s: the document %s is where %s is expected; the run cannot go on", id, each.Key, recordKey(id, number))
		}
		record, err := memory.ReadLine(each.Body, number)
		if err != nil {
			return nil, fault.New(fault.StateCorrupt, "run %s: %w; the run cannot go on", id, err)
		}
		records = append(records, record)
	}
	return records, nil
}

// Snapshot returns the snapshot of the latest owner that wrote one.
func (p *Place) Snapshot(id string) (body []byte, err error) {
	var key string
	err = p.snapshots.Heads(p.ctx, prefix(id), prefix(id)+last, func(d mongo.Document) error {
		key = d.Key
		return nil
	})
	if err != nil || key == "" {
		if err == nil {
			err = memory.Unknown(id)
		}
		return nil, notRead(id, err)
	}
	found, _, err := p.snapshots.Find(p.ctx, key)
	return found.Body, notRead(id, err)
}

// Snapshots returns the fields for lists of each session.
func (p *Place) Snapshots(ctx context.Context) (list []memory.Snapshot, err error) {
	err = p.snapshots.Heads(ctx, "", last, func(d mongo.Document) error {
		var each memory.Snapshot
		if json.Unmarshal([]byte(d.Meta), &each) != nil {
			return nil
		}
		if n := len(list); n > 0 && list[n-1].SessionID == each.SessionID { // of a former owner
			list = list[:n-1]
		}
		list = append(list, each)
		return nil
	})
	return list, mongo.Coded(fault.StateNotSaved, "the runs of the agent were not listed", err)
}

// DriverStatus says who drives a session.
func (p *Place) DriverStatus(id string) (memory.DriverStatus, error) {
	job, _, err := p.LastJob(p.ctx, id)
	if err != nil {
		return memory.DriverStatus{}, err
	}
	driver := memory.DriverStatus{Open: job.ID != "" && !job.Ended, Canceled: job.Cancelled, Owner: job.Owner}
	driver.HeartbeatOverdue = driver.Open && !job.Waiting() && p.Jobs.HeartbeatOverdue(job)
	if driver.Waiting = driver.Open && job.Waiting(); driver.Waiting && p.Note != nil {
		driver.Note = p.Note(p.ctx, job.Needs)
	}
	if job.Ended && !job.Cancelled {
		result, _, err := p.Jobs.Result(p.ctx, job.ID)
		if err != nil {
			return memory.DriverStatus{}, notRead(id, err)
		}
		if result.Error != nil { // it was set aside, say
			driver.Note = result.Error.Message()
		}
	}
	return driver, nil
}

// LastJob returns the status and the number of a session's last job; 0 if it has
// none.
func (p *Place) LastJob(ctx context.Context, id string) (jobs.Status, int, error) {
	all, err := p.Jobs.Look(ctx, prefix(id))
	if err != nil || len(all) == 0 {
		return jobs.Status{}, 0, notRead(id, err)
	}
	return all[len(all)-1], len(all), nil
}

// JobID is the id of a job of a session.
func JobID(id string, number int) string { return fmt.Sprintf("%s%04d", prefix(id), number) }

// OfJob returns the session and the number of a job.
func OfJob(job string) (id string, number int) {
	id, digits, _ := strings.Cut(job, "@")
	_, _ = fmt.Sscanf(digits, "%d", &number)
	return id, number
}

// Cancel ends the job of a session, so that nobody claims it. Its driver notices within
// CancelPause.
func (p *Place) Cancel(id string) error {
	job, _, err := p.LastJob(p.ctx, id)
	if err != nil {
		return err
	}
	if job.ID == "" {
		_, err := p.Records(id)
		return err
	}
	return notSaved(id, p.Jobs.Cancel(p.ctx, job.ID))
}

// Canceled reports whether the job that this process holds was cancelled.
func (p *Place) Canceled(id string) bool {
	result, ended, err := p.Jobs.Result(p.ctx, JobID(id, p.claimOf(id).Job))
	return err == nil && ended && result.Cancelled
}

// CancelPause is a quarter of the two seconds that a cancellation may take.
func (p *Place) CancelPause() time.Duration { return 500 * time.Millisecond }

// Shared is true.
func (p *Place) Shared() bool { return true }
