// Package mongo keeps documents under unique keys in MongoDB, and in what speaks its
// protocol. One thing decides whatever is shared: an insert under a key, which only
// the first one wins. Nothing else is asked of the server: no update under a
// condition, no transaction, and no filter but the key. Where the server tells of changes,
// waiting is shorter: see Watch.
//
// The driver is named here and nowhere else.
package mongo

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// A server that cannot be reached is told after noticed, and a call that a server does not
// answer is given up after patience, attempts included. A URI may have other times:
// serverSelectionTimeoutMS and connectTimeoutMS, and timeoutMS.
const (
	noticed  = 2 * time.Second
	patience = 5 * time.Second
)

// Options of Open.
type Options struct {
	Address
	// Now is the clock of this process, for the times of documents; nil: that of the
	// machine.
	Now func() time.Time
	// Within is when a call is given up, whatever the URI says, for whoever has to answer
	// soon; 0: the usual times.
	Within time.Duration
	// Sent is called with each command before it is sent, as extended JSON; for
	// tests. It may be nil.
	Sent func(name, command string)
}

// Database is a connection to one database. Its methods may be called at once.
type Database struct {
	client *driver.Client
	at     *driver.Database
	host   string
	now    func() time.Time
	// patience bounds a call, attempts included; 0: none.
	patience time.Duration
	// hasStreams says whether the server has streams of changes; nil: it was not asked yet.
	hasStreams atomic.Pointer[bool]
}

// Open prepares a connection; the first call makes it. The error says what is wrong
// with the address.
func Open(with Options) (*Database, error) {
	uri, err := with.uri()
	if err != nil {
		return nil, err
	}
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		return nil, errors.Join(errURI, errors.New(withoutSecrets(err.Error(), uri)))
	}
	set := options.Client().SetServerSelectionTimeout(noticed).SetConnectTimeout(noticed).SetTimeout(patience).ApplyURI(uri).
		SetAppName("savant").SetRetryReads(false). // Collection.retry repeats them
		SetReadPreference(readpref.Primary()).
		SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority())
	if with.Within > 0 {
		set.SetServerSelectionTimeout(with.Within).SetConnectTimeout(with.Within).SetTimeout(with.Within)
	}
	if with.Sent != nil {
		set.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			with.Sent(e.CommandName, e.Command.String())
		}})
	}
	client, err := driver.Connect(set)
	if err != nil {
		return nil, errors.Join(errURI, errors.New(withoutSecrets(err.Error(), uri)))
	}
	now := with.Now
	if now == nil {
		now = time.Now
	}
	d := &Database{client: client, at: client.Database(with.database(parsed.Database)), host: hosts(set), now: now}
	if set.Timeout != nil {
		d.patience = *set.Timeout
	}
	return d, nil
}

// bounded returns a context that ends with the patience for one call.
func (d *Database) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.patience <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d.patience)
}

// Close ends the connections.
func (d *Database) Close(ctx context.Context) error { return d.client.Disconnect(ctx) }

// Host returns the servers, without user and password.
func (d *Database) Host() string { return d.host }

// Name returns the name of the database.
func (d *Database) Name() string { return d.at.Name() }

// Ping returns nil if the server answers.
func (d *Database) Ping(ctx context.Context) error {
	return d.failed(d.client.Ping(ctx, readpref.Primary()))
}

// Drop removes the whole database. It is for tests.
func (d *Database) Drop(ctx context.Context) error { return d.failed(d.at.Drop(ctx)) }

// Collection returns a collection of documents.
func (d *Database) Collection(name string) *Collection {
	return &Collection{database: d, documents: d.at.Collection(name), parts: d.at.Collection(name + "_parts")}
}
