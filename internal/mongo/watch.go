package mongo

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Changes tells of documents that are inserted, so that whoever waits for one need not
// look for it again and again. Nothing is decided by it.
type Changes struct {
	note chan struct{}
	live atomic.Bool
}

// Seen returns a channel that gets a value when there may be a new document.
func (c *Changes) Seen() <-chan struct{} { return c.note }

// Live says that the server tells of changes now. While it does not, one has to look.
func (c *Changes) Live() bool { return c.live.Load() }

const (
	// awaitChange is how long the server waits for a change before it says that there was none.
	awaitChange = 2 * time.Second
	// watchAgain is how long to wait before a stream of changes that broke is opened again.
	watchAgain = 10 * time.Second
	// closeWithin is how long to wait until the server has heard that a stream is over.
	closeWithin = 50 * time.Millisecond
)

// Watch tells of documents that are inserted with a key that is at least from and below
// to, until stop is called or ctx ends. Only a replica set and a sharded cluster have
// streams of changes; with another server nothing is ever told.
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

// follow reads a stream of changes until it breaks. Its first note comes when the stream
// is open: what was inserted before it does not tell.
func (c *Collection) follow(ctx context.Context, from, to string, changes *Changes) {
	within := bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: to}}
	stream, err := c.documents.Watch(ctx, bson.A{
		bson.D{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "insert"}, {Key: "documentKey._id", Value: within}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: 1}}}},
	}, options.ChangeStream().SetMaxAwaitTime(awaitChange))
	if err != nil {
		return // whoever waits looks by themselves
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		_ = stream.Close(closing) // a server that does not hear of it closes the stream later
	}()
	changes.live.Store(true)
	for seen := true; stream.Err() == nil && stream.ID() != 0; seen = stream.TryNext(ctx) {
		if !seen {
			continue
		}
		select {
		case changes.note <- struct{}{}:
		default: // a note is there already
		}
	}
}

// streams says whether the server has streams of changes. known is false while it cannot
// be asked.
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
