package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"savant/internal/mongo"
)

// ErrHeld means that another process holds a name.
var ErrHeld = errors.New("another process holds it")

// HeartbeatLimit is how long lists wait for a heartbeat before they call the owner of a
// claim lost. Each machine uses its own clock, and clocks may differ by minutes, so the
// limit is long. It affects only what is shown.
const HeartbeatLimit = time.Hour

// unfinished is the meta of an end whose owner left work.
const unfinished = "unfinished"

// Holder describes the holder of a name.
type Holder struct {
	// Owner is the current or the last holder; empty if there was none.
	Owner string
	// Holds: the owner has not released the name.
	Holds bool
	// HeartbeatOverdue: the owner holds the name, but has sent no heartbeat for
	// HeartbeatLimit.
	HeartbeatOverdue bool
	// Left: the owner released the name and left unfinished work.
	Left bool

	claim int
	beat  string
}

// Holder returns the holder of a name.
func (q *Queue) Holder(ctx context.Context, name string) (Holder, error) {
	claims, err := q.claims(ctx, name)
	if err != nil || len(claims) == 0 {
		return Holder{}, err
	}
	last := claims[len(claims)-1]
	out := Holder{Owner: last.Meta, claim: len(claims)}
	end, ended, err := q.documents.Find(ctx, key(name, "end", paddedNumber(out.claim)))
	if err != nil || ended {
		out.Left = end.Meta == unfinished
		return out, err
	}
	beat, beats, err := q.documents.Find(ctx, key(name, "beat", paddedNumber(out.claim)))
	if beats {
		last = beat
	}
	out.Holds, out.beat, out.HeartbeatOverdue = true, last.Nonce, q.documents.Now().Sub(last.Time) > HeartbeatLimit
	return out, err
}

// Hold gives a name to one holder at a time, by claims and heartbeats like those of
// jobs. release ends the claim and says whether work is left. A holder that sends no
// heartbeat for a lease during this call is considered lost. waits is called once if
// there is a holder. The error is ErrHeld if another process holds the name.
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
			document := mongo.Document{Key: key(name, "claim", paddedNumber(found.claim+1)), Meta: owner}
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

// keep sends heartbeats for a claim until it is released. They are frequent, because a
// process that wants the name waits for one.
func (q *Queue) keep(ctx context.Context, name string, claim int, lease time.Duration) (release func(left bool)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() {
		for ctx.Err() == nil {
			_ = q.documents.Replace(ctx, mongo.Document{Key: key(name, "beat", paddedNumber(claim))}) // the next heartbeat may succeed
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
		document := mongo.Document{Key: key(name, "end", paddedNumber(claim))}
		if left {
			document.Meta = unfinished
		}
		_, _ = q.documents.Insert(ending, document) // without it the lease runs out
	}
}
