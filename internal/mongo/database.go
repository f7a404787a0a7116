// Package mongo stores documents under unique keys in MongoDB or a compatible database.
// Processes coordinate by one operation: of concurrent inserts under one key, only the
// first succeeds. The package uses no conditional updates, no transactions, and no
// filter but the key. If the server has change streams, waiting is shorter: see Watch.
//
// No other package uses the driver.
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

// A server that cannot be reached is reported after noticed. A call that the server
// does not answer fails after patience, retries included. A URI may set other times:
// serverSelectionTimeoutMS, connectTimeoutMS and timeoutMS.
const (
	noticed  = 2 * time.Second
	patience = 5 * time.Second
)

// Options of Open.
type Options struct {
	Address
	// Now is this process's clock, for the times of documents; nil means the clock of
	// the machine.
	Now func() time.Time
	// Within bounds each call, whatever the URI says, for callers that must answer
	// soon; 0 means the usual limits.
	Within time.Duration
	// Sent is called with each command before it is sent, as extended JSON; for
	// tests. It may be nil.
	Sent func(name, command string)
}

// Database is a connection to one database. It is safe for concurrent use.
type Database struct {
	client *driver.Client
	at     *driver.Database
	host   string
	// options have the clock.
	options Options
	// patience bounds a call, retries included; 0: no limit.
	patience time.Duration
	// hasStreams reports whether the server has change streams; nil: not known yet.
	hasStreams atomic.Pointer[bool]
}

// Open prepares a connection; the first call makes it. The error is about the address.
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
	if with.Now == nil {
		with.Now = time.Now
	}
	d := &Database{client: client, at: client.Database(with.database(parsed.Database)), host: hosts(set), options: with}
	if set.Timeout != nil {
		d.patience = *set.Timeout
	}
	return d, nil
}

// withTimeout returns a context with the time limit of one call.
func (d *Database) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
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

// Collection returns a collection of documents.
func (d *Database) Collection(name string) *Collection {
	return &Collection{database: d, documents: d.at.Collection(name), parts: d.at.Collection(name + "_parts")}
}
