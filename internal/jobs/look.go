package jobs

import (
	"context"
	"strings"

	"savant/internal/mongo"
)

// cancelledMark is the meta of a result that says that a job was cancelled.
const cancelledMark = "cancelled"

// Standing says how a job stands.
type Standing struct {
	ID string
	// Needs is what a worker has to have for it.
	Needs string
	// Claims is how often it was claimed; Owner has the last claim.
	Claims int
	Owner  string
	// Returned: the last claim was given back, so that the job waits again.
	Returned bool
	// Ended: it has a result; Cancelled: the result is that it was cancelled.
	Ended, Cancelled bool
}

// Waiting says that nobody does the job, and somebody is to.
func (s Standing) Waiting() bool { return !s.Ended && (s.Claims == 0 || s.Returned) }

// Look says how the jobs stand whose id begins with a prefix, by their ids. It is one
// question to the database, and reads no body.
func (q *Queue) Look(ctx context.Context, prefix string) (list []Standing, err error) {
	err = q.documents.Heads(ctx, prefix, prefix+"\U0010ffff", func(d mongo.Document) error {
		id, part, within := strings.Cut(d.Key, separator)
		if !within {
			list = append(list, Standing{ID: id, Needs: d.Meta})
			return nil
		}
		if len(list) > 0 && list[len(list)-1].ID == id {
			list[len(list)-1].note(part, d.Meta)
		}
		return nil
	})
	return list, err
}

// note takes what a document beside the job says. They come by their keys: beats and
// claims before ends, a result last.
func (s *Standing) note(part, meta string) {
	switch kind, number, _ := strings.Cut(part, separator); kind {
	case "claim":
		s.Claims, s.Owner = s.Claims+1, meta
	case "end":
		s.Returned = number == numbered(s.Claims)
	case "result":
		s.Ended, s.Cancelled = true, meta == cancelledMark
	}
}
