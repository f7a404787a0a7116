package mongotest

import (
	"errors"
	"io"
	"net"
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
	listener net.Listener
	target   string
	working  sync.WaitGroup

	mu      sync.Mutex
	clients map[net.Conn]bool
	streams map[int64]*changeStream
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &ChangeStreams{listener: listener, target: server.Address(), clients: map[net.Conn]bool{}, streams: map[int64]*changeStream{}}
	c.working.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			c.working.Go(func() { c.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.Break()
		c.working.Wait()
	})
	return c
}

// URI returns the address of a database behind the double.
func (c *ChangeStreams) URI(database string) string {
	return "mongodb://" + c.listener.Addr().String() + "/" + database + "?directConnection=true"
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
	defer c.mu.Unlock()
	for _, stream := range c.streams {
		close(stream.changed)
	}
	clear(c.streams)
	for client := range c.clients {
		_ = client.Close()
	}
}

// serve answers the requests of one connection.
func (c *ChangeStreams) serve(client net.Conn) {
	c.mu.Lock()
	c.clients[client] = true
	c.mu.Unlock()
	defer func() {
		_ = client.Close()
		c.mu.Lock()
		delete(c.clients, client)
		c.mu.Unlock()
	}()
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer server.Close()
	for {
		message, err := readMessage(client)
		if err != nil {
			return
		}
		reply, err := c.answer(server, message)
		if err != nil {
			return
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

// answer returns the reply to a message: the server's, unless the message concerns
// change streams.
func (c *ChangeStreams) answer(server io.ReadWriter, message []byte) ([]byte, error) {
	id, command, inserted := readCommand(message)
	if own := c.own(command); own != nil {
		return encodeReply(id, own)
	}
	if _, err := server.Write(message); err != nil {
		return nil, err
	}
	reply, err := readMessage(server)
	if err != nil || len(command) == 0 {
		return reply, err
	}
	switch command[0].Key {
	case "hello":
		_, said, _ := readCommand(reply)
		return encodeReply(id, append(said, bson.E{Key: "setName", Value: "rs0"}))
	case "insert":
		if _, said, _ := readCommand(reply); find(said, "writeErrors") == nil {
			c.tell(inserted)
		}
	}
	return reply, nil
}

// own returns the reply to a message about a change stream, nil for other messages.
func (c *ChangeStreams) own(command bson.D) bson.D {
	if len(command) == 0 {
		return nil
	}
	switch command[0].Key {
	case "aggregate":
		return c.open(command)
	case "getMore":
		cursor, _ := command[0].Value.(int64)
		return c.more(cursor, command)
	}
	return nil
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

// tell records inserted keys.
func (c *ChangeStreams) tell(keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
