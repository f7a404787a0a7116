package mongo

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Changes notifies of inserted documents, so that a waiting caller need not poll. It is
// an optimisation only: missing notifications do no harm.
type Changes struct {
	note chan struct{}
	live atomic.Bool
}

// Notices returns a channel that gets a value when there may be a new document.
func (c *Changes) Notices() <-chan struct{} { return c.note }

// Live reports whether notifications arrive now. If not, the caller must poll.
func (c *Changes) Live() bool { return c.live.Load() }

const (
	// awaitChange is how long the server waits before it reports that there was no
	// change.
	awaitChange = 2 * time.Second
	// watchAgain is the pause before a broken change stream is opened again.
	watchAgain = 10 * time.Second
	// closeWithin bounds closing a stream at the server.
	closeWithin = 50 * time.Millisecond
)

// Watch notifies of inserted documents whose key is at least from and below to, until
// stop is called or ctx ends. Only a replica set and a sharded cluster have change
// streams; other servers never notify.
func (c *Collection) Watch(ctx context.Context, from, to string) (changes *Changes, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changes = &Changes{note: make(chan struct{}, 1)}
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			has, known := c.database.streams(ctx)
			if known && !has {
				return
			}
			if has {
				c.follow(ctx, from, to, changes)
				changes.live.Store(false)
			}
			select {
			case <-ctx.Done():
			case <-time.After(watchAgain):
			}
		}
	})
	return changes, func() { cancel(); watching.Wait() }
}

// follow reads a change stream until it breaks. It notifies once when the stream is
// open, because earlier inserts are not reported.
func (c *Collection) follow(ctx context.Context, from, to string, changes *Changes) {
	within := bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: to}}
	stream, err := c.documents.Watch(ctx, bson.A{
		bson.D{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "insert"}, {Key: "documentKey._id", Value: within}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: 1}}}},
	}, options.ChangeStream().SetMaxAwaitTime(awaitChange))
	if err != nil {
		return // the caller polls
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		_ = stream.Close(closing) // the server closes an abandoned stream later
	}()
	changes.live.Store(true)
	for seen := true; stream.Err() == nil && stream.ID() != 0; seen = stream.TryNext(ctx) {
		if !seen {
			continue
		}
		select {
		case changes.note <- struct{}{}:
		default: // a notification is pending
		}
	}
}

// streams reports whether the server has change streams. known is false if the server
// cannot be asked.
func (d *Database) streams(ctx context.Context) (has, known bool) {
	if said := d.hasStreams.Load(); said != nil {
		return *said, true
	}
	var hello struct {
		SetName string `bson:"setName"`
		Message string `bson:"msg"`
	}
	if d.client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello) != nil {
		return false, false
	}
	has = hello.SetName != "" || hello.Message == "isdbgrid"
	d.hasStreams.Store(&has)
	return has, true
}
