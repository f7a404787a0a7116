package jobs

import (
	"context"
	"strings"
	"time"

	"savant/internal/mongo"
)

// cancelledMark is the meta of the result of a cancelled job.
const cancelledMark = "cancelled"

// Status is the state of a job.
type Status struct {
	ID string
	// Needs is what the job requires of a worker.
	Needs string
	// Claims is the number of claims; Owner has the last one.
	Claims int
	Owner  string
	// Returned: the last claim was given back, so the job waits again.
	Returned bool
	// Seen is the time of the owner's last heartbeat, by the owner's clock.
	Seen time.Time
	// Ended: the job has a result. Cancelled: it was cancelled.
	Ended, Cancelled bool
}

// Waiting reports whether the job is unfinished and unclaimed.
func (s Status) Waiting() bool { return !s.Ended && (s.Claims == 0 || s.Returned) }

// HeartbeatOverdue reports whether the owner of a job has sent no heartbeat for
// HeartbeatLimit. It is for lists.
func (q *Queue) HeartbeatOverdue(job Status) bool {
	return q.documents.Now().Sub(job.Seen) > HeartbeatLimit
}

// Look returns the status of the jobs with an id prefix, sorted by id. It takes one
// query and reads no bodies.
func (q *Queue) Look(ctx context.Context, prefix string) (list []Status, err error) {
	err = q.documents.Heads(ctx, prefix, prefix+"\U0010ffff", func(d mongo.Document) error {
		id, part, within := strings.Cut(d.Key, separator)
		if !within {
			list = append(list, Status{ID: id, Needs: d.Meta})
			return nil
		}
		if len(list) > 0 && list[len(list)-1].ID == id {
			list[len(list)-1].note(part, d)
		}
		return nil
	})
	return list, err
}

// note applies a document of the job. Documents come in key order: beats and claims
// before ends, the result last.
func (s *Status) note(part string, d mongo.Document) {
	switch kind, number, _ := strings.Cut(part, separator); kind {
	case "beat":
		s.Seen = d.Time
	case "claim":
		s.Claims, s.Owner = s.Claims+1, d.Meta
		if d.Time.After(s.Seen) {
			s.Seen = d.Time
		}
	case "end":
		s.Returned = number == paddedNumber(s.Claims)
	case "result":
		s.Ended, s.Cancelled = true, d.Meta == cancelledMark
	}
}
