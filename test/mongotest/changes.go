package mongotest

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// ChangeStreams is a proxy before a server without change streams. It claims to be a
// replica set and reports the inserts that pass through it, as MongoDB reports inserts
// confirmed by a majority. It supports only what Collection.Watch of package mongo
// needs: a test double, since MongoDB is not available everywhere.
type ChangeStreams struct {
	proxy *Proxy

	mu      sync.Mutex
	streams map[int64]*changeStream
	inserts map[int32][]string // keys of inserts that have no reply yet, by request
	opened  int64
}

// changeStream holds the unreported changes of one stream, of keys from and below to.
type changeStream struct {
	from, to string
	reported int
	changed  chan struct{} // has a value if there may be more
	inserted []bson.D
}

// NewChangeStreams starts a double before a server. It ends with the test.
func NewChangeStreams(t testing.TB, server *Server) *ChangeStreams {
	t.Helper()
	server.skipForeign("the test puts a double before the server")
	c := &ChangeStreams{proxy: NewProxy(t, server, 1), streams: map[int64]*changeStream{}, inserts: map[int32][]string{}}
	c.proxy.Use(Faults{Answer: c.own, passes: c.passes})
	t.Cleanup(c.Break)
	return c
}

// URI returns the address of a database behind the double.
func (c *ChangeStreams) URI(database string) string {
	return c.proxy.URI(database) + "?directConnection=true"
}

// Opened returns how many streams were opened so far.
func (c *ChangeStreams) Opened() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(c.opened)
}

// Break ends all connections, and the streams with them.
func (c *ChangeStreams) Break() {
	c.mu.Lock()
	for _, stream := range c.streams {
		close(stream.changed)
	}
	clear(c.streams)
	c.mu.Unlock()
	c.proxy.Refuse(true)
	c.proxy.Refuse(false)
}

// own returns the reply to a command that does not reach the server: one about a change
// stream, and what a client asks to learn what the server is.
func (c *ChangeStreams) own(command bson.D) bson.D {
	if len(command) == 0 {
		return nil
	}
	switch command[0].Key {
	case "hello":
		return bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "setName", Value: "rs0"}, {Key: "maxBsonObjectSize", Value: 16 << 20},
			{Key: "maxMessageSizeBytes", Value: maxMessage}, {Key: "maxWriteBatchSize", Value: 100_000}, {Key: "minWireVersion", Value: 0},
			{Key: "maxWireVersion", Value: 21}, {Key: "ok", Value: 1}}
	case "aggregate":
		return c.open(command)
	case "getMore":
		cursor, _ := command[0].Value.(int64)
		return c.more(cursor, command)
	}
	return nil
}

// passes sees each message before it is passed on: an insert is reported once the server
// has confirmed it.
func (c *ChangeStreams) passes(message []byte, request bool) {
	id, command, keys := readCommand(message)
	if request {
		if len(command) > 0 && command[0].Key == "insert" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.inserts[id] = keys
		}
		return
	}
	_, _, answered, _, _, _ := wiremessage.ReadHeader(message)
	c.mu.Lock()
	defer c.mu.Unlock()
	if find(command, "writeErrors") == nil {
		c.tell(c.inserts[answered])
	}
	delete(c.inserts, answered)
}

// open opens a stream as Collection.Watch asks for it.
func (c *ChangeStreams) open(command bson.D) bson.D {
	pipeline, _ := find(command, "pipeline").(bson.A)
	if len(pipeline) < 2 {
		return nil
	}
	first, _ := pipeline[0].(bson.D)
	second, _ := pipeline[1].(bson.D)
	match, _ := find(second, "$match").(bson.D)
	keys, _ := find(match, "documentKey._id").(bson.D)
	from, hasFrom := find(keys, "$gte").(string)
	to, hasTo := find(keys, "$lt").(string)
	if find(first, "$changeStream") == nil || find(match, "operationType") != "insert" || !hasFrom || !hasTo {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	c.streams[c.opened] = &changeStream{from: from, to: to, changed: make(chan struct{}, 1)}
	return batch(c.opened, "firstBatch", nil)
}

// more waits for changes as long as the client asks for.
func (c *ChangeStreams) more(cursor int64, command bson.D) bson.D {
	c.mu.Lock()
	stream := c.streams[cursor]
	c.mu.Unlock()
	if stream == nil {
		return nil
	}
	patience, _ := find(command, "maxTimeMS").(int64)
	select {
	case <-stream.changed:
	case <-time.After(time.Duration(patience) * time.Millisecond):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changes := stream.inserted
	stream.inserted = nil
	return batch(cursor, "nextBatch", changes)
}

// tell records inserted keys. The caller holds the lock.
func (c *ChangeStreams) tell(keys []string) {
	for _, key := range keys {
		for _, stream := range c.streams {
			if key < stream.from || key >= stream.to {
				continue
			}
			stream.reported++
			stream.inserted = append(stream.inserted, bson.D{{Key: "_id", Value: bson.D{{Key: "_data", Value: strconv.Itoa(stream.reported)}}}})
			select {
			case stream.changed <- struct{}{}:
			default:
			}
		}
	}
}

func batch(cursor int64, name string, changes []bson.D) bson.D {
	list := bson.A{}
	for _, each := range changes {
		list = append(list, each)
	}
	return bson.D{{Key: "cursor", Value: bson.D{{Key: "id", Value: cursor}, {Key: "ns", Value: "d.c"}, {Key: name, Value: list}}}, {Key: "ok", Value: 1}}
}

func find(document bson.D, key string) any {
	for _, each := range document {
		if each.Key == key {
			return each.Value
		}
	}
	return nil
}

// readCommand reads a message with a command or a reply, and the keys of its further
// documents. Other messages have no command.
func readCommand(message []byte) (id int32, command bson.D, keys []string) {
	_, id, _, kind, rest, ok := wiremessage.ReadHeader(message)
	if !ok || kind != wiremessage.OpMsg {
		return id, nil, nil
	}
	_, rest, ok = wiremessage.ReadMsgFlags(rest)
	for ok && len(rest) > 4 { // a checksum may follow
		var section wiremessage.SectionType
		section, rest, ok = wiremessage.ReadMsgSectionType(rest)
		var documents []bsoncore.Document
		if section == wiremessage.SingleDocument && ok {
			var document bsoncore.Document
			if document, rest, ok = wiremessage.ReadMsgSectionSingleDocument(rest); ok {
				ok = bson.Unmarshal(document, &command) == nil
			}
		} else if ok {
			_, documents, rest, ok = wiremessage.ReadMsgSectionDocumentSequence(rest)
		}
		for _, document := range documents {
			if key, isText := document.Lookup("_id").StringValueOK(); isText {
				keys = append(keys, key)
			}
		}
	}
	return id, command, keys
}

// encodeReply returns the message that answers a request.
func encodeReply(request int32, document bson.D) ([]byte, error) {
	body, err := bson.Marshal(document)
	if err != nil {
		return nil, err
	}
	index, message := wiremessage.AppendHeaderStart(nil, request, request, wiremessage.OpMsg)
	message = wiremessage.AppendMsgFlags(message, 0)
	message = wiremessage.AppendMsgSectionType(message, wiremessage.SingleDocument)
	message = bsoncore.UpdateLength(append(message, body...), index, int32(len(message)+len(body)))
	if len(message) > maxMessage {
		return nil, errors.New("the reply is too long")
	}
	return message, nil
}
