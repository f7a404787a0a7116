package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"savant/internal/mongo"
)

// ErrHeld says that somebody else holds a name.
var ErrHeld = errors.New("another process holds it")

// HeartbeatLimit is how long the owner of a claim sends no heartbeat, by the clocks of both
// machines, before lists call it lost. Clocks may differ by minutes, so it is long;
// nothing but what is shown is decided by it.
const HeartbeatLimit = time.Hour

// unfinished is the meta of an end whose owner left work.
const unfinished = "unfinished"

// Holder is what is known of who holds a name.
type Holder struct {
	// Owner is who holds it, or held it last; empty for nobody ever.
	Owner string
	// Holds: the owner has not let go of it.
	Holds bool
	// HeartbeatOverdue: the owner holds it, but has sent no heartbeat for long.
	HeartbeatOverdue bool
	// Left: the owner let go of it, and left work.
	Left bool

	claim int
	beat  string
}

// Holder says who holds a name.
func (q *Queue) Holder(ctx context.Context, name string) (Holder, error) {
	claims, err := q.claims(ctx, name)
	if err != nil || len(claims) == 0 {
		return Holder{}, err
	}
	last := claims[len(claims)-1]
	out := Holder{Owner: last.Meta, claim: len(claims)}
	end, ended, err := q.documents.Find(ctx, key(name, "end", numbered(out.claim)))
	if err != nil || ended {
		out.Left = end.Meta == unfinished
		return out, err
	}
	beat, beats, err := q.documents.Find(ctx, key(name, "beat", numbered(out.claim)))
	if beats {
		last = beat
	}
	out.Holds, out.beat, out.HeartbeatOverdue = true, last.Nonce, q.documents.Now().Sub(last.Time) > HeartbeatLimit
	return out, err
}

// Hold gives a name to one holder at a time, by claims and heartbeats like those of jobs.
// release ends the claim, and tells whether work is left. A holder that sends no heartbeat
// for a lease during this call is lost. waits is called once if there is a holder.
// ErrHeld: another process holds the name.
func (q *Queue) Hold(ctx context.Context, name, owner string, lease time.Duration, waits func(Holder)) (release func(left bool), err error) {
	var first Holder
	var seen observation
	for {
		found, err := q.Holder(ctx, name)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		if found.Holds {
			if first.claim == 0 {
				first = found
				waits(found)
			}
			if found.claim != first.claim || found.beat != first.beat {
				return nil, ErrHeld
			}
			seen = seen.look(fmt.Sprint(found.claim), found.beat, now, lease)
		}
		if !found.Holds || now.Sub(seen.at) >= lease {
			document := mongo.Document{Key: key(name, "claim", numbered(found.claim+1)), Meta: owner}
			won, err := q.documents.Insert(ctx, document)
			if err == nil && !won {
				err = ErrHeld
			}
			if err != nil {
				return nil, err
			}
			return q.keep(ctx, name, found.claim+1, lease), nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lease / 16):
		}
	}
}

// keep sends heartbeats for a claim until it is released. They are frequent: whoever
// wants the name waits for one.
func (q *Queue) keep(ctx context.Context, name string, claim int, lease time.Duration) (release func(left bool)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() {
		for ctx.Err() == nil {
			_ = q.documents.Replace(ctx, mongo.Document{Key: key(name, "beat", numbered(claim))}) // the next one may come through
			select {
			case <-ctx.Done():
			case <-time.After(lease / 16):
			}
		}
	})
	return func(left bool) {
		stop()
		beating.Wait()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
		defer cancel()
		document := mongo.Document{Key: key(name, "end", numbered(claim))}
		if left {
			document.Meta = unfinished
		}
		_, _ = q.documents.Insert(ending, document) // without it the lease runs out
	}
}
