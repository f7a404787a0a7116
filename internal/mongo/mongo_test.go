package mongo_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"savant/fault"
	"savant/internal/mongo"
	"savant/test/mongotest"
)

func open(t *testing.T, uri string) *mongo.Database {
	t.Helper()
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, database.Close(context.Background())) })
	return database
}

// newDatabase returns an empty database.
func newDatabase(t *testing.T, server *mongotest.Server) *mongo.Database {
	t.Helper()
	return open(t, server.URI(mongotest.NewDatabase()))
}

func TestNames(t *testing.T) {
	for _, each := range []struct {
		address    mongo.Address
		name, host string
	}{
		{mongo.Address{Host: "db"}, "savant_development", "db"},
		{mongo.Address{Host: "db:27018", Environment: "test"}, "savant_test", "db:27018"},
		{mongo.Address{URI: "mongodb://ada:secret@a:1,b:2/?replicaSet=rs", Host: "unused", Environment: "test"}, "savant_test", "a:1,b:2"},
		{mongo.Address{URI: "mongodb://a/of_ours?authSource=admin", Environment: "test"}, "of_ours", "a"},
	} {
		database, err := mongo.Open(mongo.Options{Address: each.address})
		require.NoError(t, err)
		require.Equal(t, each.name, database.Name())
		require.Equal(t, each.host, database.Host())
		require.NoError(t, database.Close(context.Background()))
	}
	for _, address := range []mongo.Address{{}, {URI: "http://ada:secret@a/"}, {URI: "mongodb://ada:secret@a:b/"}, {Host: "ada:secret@h"}, {URI: "mongodb://ada:secret@/x"}, {URI: "mongodb://ada:p@ss:secret/x@h/"}, {URI: "mongodb://ada:p%secret@h/"}} {
		_, err := mongo.Open(mongo.Options{Address: address})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, err.Error(), "%se")
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	database := newDatabase(t, server)
	ctx := t.Context()
	documents := database.Collection("documents")
	_, there, err := documents.Find(ctx, "a@000001")
	require.NoError(t, err)
	require.False(t, there)

	large := []byte(strings.Repeat("ü0123456789", 800_000)) // in parts, cut inside a character if nobody looks
	bodies := map[string][]byte{"a@000001": []byte(`{"a.b":{"$c":[[1],["<&>\u2028"]]}}`), "a@000002": {0xff, 0xfe, 0}, "b": large}
	for key, body := range bodies {
		won, err := documents.Insert(ctx, mongo.Document{Key: key, Meta: "m", Body: body})
		require.NoError(t, err)
		require.True(t, won)
		won, err = documents.Insert(ctx, mongo.Document{Key: key, Body: append([]byte("other"), body...)})
		require.NoError(t, err)
		require.False(t, won, "a key was inserted twice")
		found, there, err := documents.Find(ctx, key)
		require.NoError(t, err)
		require.True(t, there)
		require.True(t, bytes.Equal(body, found.Body), key)
		require.Equal(t, "m", found.Meta)
		require.WithinDuration(t, time.Now(), found.Time, time.Minute)
	}
	all, err := documents.FindAll(ctx, []string{"b", "none", "a@000001"})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "", "a@000001"}, []string{all[0].Key, all[1].Key, all[2].Key})
	var keys []string
	require.NoError(t, documents.Range(ctx, "a@", "a@~", func(d mongo.Document) error {
		keys = append(keys, d.Key)
		return nil
	}))
	require.Equal(t, []string{"a@000001", "a@000002"}, keys)

	require.NoError(t, documents.Replace(ctx, mongo.Document{Key: "hint", Body: []byte("1")}))
	require.NoError(t, documents.Replace(ctx, mongo.Document{Key: "hint", Body: []byte("2")}))
	found, _, err := documents.Find(ctx, "hint")
	require.NoError(t, err)
	require.Equal(t, "2", string(found.Body))
	require.NoError(t, documents.Delete(ctx, "b", "hint", "none"))
	_, there, err = documents.Find(ctx, "b")
	require.NoError(t, err)
	require.False(t, there)
}

// Of those who insert one key at once, one wins, also where requests and answers are
// lost, late and sent twice.
func TestOneInsertWins(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, 1)
	name := mongotest.NewDatabase()
	proxy.Use(mongotest.Faults{Delay: 0.1, MaxDelay: time.Millisecond, Lose: 0.005, LoseReply: 0.005, Repeat: 0.1})
	const writers, keys = 4, 50
	var won [keys]atomic.Int64
	var unsure [keys]atomic.Bool
	var group sync.WaitGroup
	for writer := range writers {
		documents := open(t, proxy.URI(name)).Collection("documents")
		group.Go(func() {
			for key := range keys {
				first, err := documents.Insert(t.Context(), mongo.Document{Key: fmt.Sprint(key), Nonce: fmt.Sprintf("%d-%d", writer, key)})
				if err != nil {
					unsure[key].Store(true)
				} else if first {
					won[key].Add(1)
				}
			}
		})
	}
	group.Wait()
	for key := range keys {
		require.LessOrEqual(t, won[key].Load(), int64(1), "key %d was won twice", key)
		require.True(t, won[key].Load() == 1 || unsure[key].Load(), "nobody won key %d", key)
	}
}

// A server that refuses a key before its readers see the document, as a replica set may
// until a majority has it, decides nothing yet: the insert looks again.
func TestTheDocumentInTheWayIsNotShownYet(t *testing.T) {
	t.Parallel()
	proxy := mongotest.NewProxy(t, mongotest.Start(t), 1)
	database := open(t, proxy.URI(mongotest.NewDatabase()))
	documents := database.Collection("documents")
	ours, other := mongo.Document{Key: "a", Nonce: "ours"}, mongo.Document{Key: "b", Nonce: "other"}
	for _, document := range []mongo.Document{ours, other} {
		won, err := documents.Insert(t.Context(), document)
		require.NoError(t, err)
		require.True(t, won)
	}
	hide := func(finds int) {
		var hidden atomic.Int64
		proxy.Use(mongotest.Faults{Answer: func(command bson.D) bson.D {
			if len(command) == 0 || command[0].Key != "find" || hidden.Add(1) > int64(finds) {
				return nil
			}
			cursor := bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: database.Name() + ".documents"}, {Key: "firstBatch", Value: bson.A{}}}
			return bson.D{{Key: "cursor", Value: cursor}, {Key: "ok", Value: 1.0}}
		}})
	}
	hide(1)
	won, err := documents.Insert(t.Context(), ours) // sent again, as after a lost answer
	require.NoError(t, err)
	require.True(t, won)
	hide(1)
	won, err = documents.Insert(t.Context(), mongo.Document{Key: "b", Nonce: "ours"})
	require.NoError(t, err)
	require.False(t, won)
	hide(1000)
	_, err = documents.Insert(t.Context(), ours)
	require.Error(t, err, "nobody knows whose it is")
	require.True(t, mongo.Away(err))
}

// Finding the server and making a connection are handshakes of their own, which may take
// longer together than a server may take to be found.
func TestASlowHandshake(t *testing.T) {
	t.Parallel()
	proxy := mongotest.NewProxy(t, mongotest.Start(t), 1)
	proxy.Use(mongotest.Faults{Latency: 300 * time.Millisecond})
	documents := open(t, proxy.URI(mongotest.NewDatabase())+"?serverSelectionTimeoutMS=1000&timeoutMS=60000").Collection("documents")
	_, there, err := documents.Find(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, there)
}

// A call that waited for a connection when another call found the connection broken failed
// because the database was away, too.
func TestAwayBeforeAConnection(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, 1)
	uri := proxy.URI(mongotest.NewDatabase()) + "?maxPoolSize=1&serverSelectionTimeoutMS=200"
	documents := open(t, uri).Collection("state_records")
	for range 3 {
		ready := make(chan struct{}, 8)
		var calls sync.WaitGroup
		for range cap(ready) {
			calls.Go(func() {
				for { // on a busy machine the others may keep the connection for longer than a call waits
					if _, _, err := documents.Find(t.Context(), "a"); err == nil || t.Context().Err() != nil {
						break
					}
				}
				ready <- struct{}{}
				var err error
				for err == nil {
					_, _, err = documents.Find(t.Context(), "a")
				}
				assert.True(t, mongo.Away(err), "%v", err)
			})
		}
		for range cap(ready) {
			<-ready
		}
		proxy.Refuse(true)
		calls.Wait()
		proxy.Refuse(false)
		require.Eventually(t, func() bool {
			_, _, err := documents.Find(t.Context(), "a")
			return err == nil
		}, time.Minute, time.Millisecond)
	}
}

// The error about an unreachable database names its host and the cause. Later calls find
// the database again.
func TestAway(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, 1)
	documents := open(t, proxy.URI(mongotest.NewDatabase())).Collection("documents")
	_, err := documents.Insert(t.Context(), mongo.Document{Key: "a"})
	require.NoError(t, err)
	server.Kill()
	_, err = documents.Insert(t.Context(), mongo.Document{Key: "b"})
	require.Error(t, err)
	coded := mongo.Coded(fault.StateNotSaved, "run r was not saved", err)
	require.ErrorIs(t, coded, fault.StateNotSaved)
	require.ErrorContains(t, coded, strings.TrimPrefix(strings.TrimSuffix(proxy.URI(""), "/"), "mongodb://"))
	server.Restart()
	proxy.Follow(server)
	_, there, err := documents.Find(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, there)
}
