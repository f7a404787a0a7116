package mongotest

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Faults are what a proxy does to messages: its latency, and accidents, each with a chance
// from 0 to 1.
type Faults struct {
	// Latency is how long every message takes, to the server and back.
	Latency time.Duration
	// Delay holds a message back for up to MaxDelay.
	Delay    float64
	MaxDelay time.Duration
	// Lose ends the connection before a request reaches the server; LoseReply ends
	// it after the server answered and before the answer reaches the client.
	Lose, LoseReply float64
	// Repeat sends a request a second time over a connection of its own, before or
	// after the first, and drops the answer.
	Repeat float64
	// Answer is asked about each command. If it returns a document, the client gets that,
	// and the server does not get the command. It may be nil.
	Answer func(command bson.D) bson.D

	passes func(message []byte, request bool) // sees what is passed on; it may be nil
}

// Proxy stands between clients and a server, at an address that stays the same
// when the server moves.
type Proxy struct {
	listener net.Listener
	working  sync.WaitGroup

	mu      sync.Mutex
	target  string
	faults  Faults
	chance  *rand.Rand
	refuses bool
	open    map[net.Conn]bool
}

// NewProxy starts a proxy before a server. Chance is decided under the seed. It
// ends with the test.
func NewProxy(t testing.TB, server *Server, seed uint64) *Proxy {
	t.Helper()
	target := server.Address()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, target: target, chance: rand.New(rand.NewPCG(seed, 1)), open: map[net.Conn]bool{}}
	p.working.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.Refuse(true)
		p.working.Wait()
	})
	return p
}

// URI returns the address of a database behind the proxy.
func (p *Proxy) URI(database string) string {
	return "mongodb://" + p.listener.Addr().String() + "/" + database
}

// Follow sends new connections to where the server is now.
func (p *Proxy) Follow(server *Server) {
	target := server.Address()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Use sets what happens to messages from now on.
func (p *Proxy) Use(faults Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = faults
}

func (p *Proxy) used() Faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// Refuse ends all connections, and new ones at once, until it is called with false.
func (p *Proxy) Refuse(refuses bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refuses
	if refuses {
		for connection := range p.open {
			_ = connection.Close()
		}
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.working.Go(func() { p.serve(client) })
	}
}

// keep notes a connection as open, or closes it where connections are refused.
func (p *Proxy) keep(connection net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses {
		_ = connection.Close()
		return false
	}
	p.open[connection] = true
	return true
}

func (p *Proxy) end(connection net.Conn) {
	_ = connection.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, connection)
}

// serve passes messages on until one of the two ends the connection.
func (p *Proxy) serve(client net.Conn) {
	if !p.keep(client) {
		return
	}
	defer p.end(client)
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	if !p.keep(server) {
		return
	}
	defer p.end(server)
	var replies sync.WaitGroup
	replies.Go(func() {
		defer p.end(client)
		p.pass(server, client, false)
	})
	p.pass(client, server, true)
	p.end(server)
	replies.Wait()
}

// pass copies whole messages from one side to the other.
func (p *Proxy) pass(from, to net.Conn, requests bool) {
	for {
		message, err := readMessage(from)
		if err != nil {
			return
		}
		fate := p.decide(requests)
		time.Sleep(fate.delay)
		if fate.lost {
			return
		}
		if reply := p.answer(message, requests); reply != nil {
			if _, err := from.Write(reply); err != nil {
				return
			}
			continue
		}
		if passes := p.used().passes; passes != nil {
			passes(message, requests)
		}
		if fate.repeated && fate.first {
			p.repeat(message)
		}
		if _, err := to.Write(message); err != nil {
			return
		}
		if fate.repeated && !fate.first {
			p.repeat(message)
		}
	}
}

// answer is the reply to a request that does not reach the server, nil for any other.
func (p *Proxy) answer(message []byte, request bool) []byte {
	own := p.used().Answer
	if !request || own == nil {
		return nil
	}
	id, command, _ := readCommand(message)
	document := own(command)
	if document == nil {
		return nil
	}
	reply, err := encodeReply(id, document)
	if err != nil {
		return nil
	}
	return reply
}

// fate is what happens to one message.
type fate struct {
	delay                 time.Duration
	lost, repeated, first bool
}

func (p *Proxy) decide(request bool) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	decided := fate{delay: p.faults.Latency}
	if p.chance.Float64() < p.faults.Delay {
		decided.delay += time.Duration(p.chance.Int64N(int64(p.faults.MaxDelay) + 1))
	}
	if request {
		decided.lost = p.chance.Float64() < p.faults.Lose
		decided.repeated = p.chance.Float64() < p.faults.Repeat
		decided.first = p.chance.IntN(2) == 0
	} else {
		decided.lost = p.chance.Float64() < p.faults.LoseReply
	}
	return decided
}

// repeat sends a message over a connection of its own and waits for the answer.
func (p *Proxy) repeat(message []byte) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil || !p.keep(server) {
		return
	}
	defer p.end(server)
	if _, err := server.Write(message); err == nil {
		_, _ = readMessage(server)
	}
}

// maxMessage is the largest message of the protocol, in bytes.
const maxMessage = 48_000_000

// readMessage reads one message: its first four bytes are its length.
func readMessage(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < 16 || length > maxMessage {
		return nil, io.ErrUnexpectedEOF
	}
	message := make([]byte, length)
	copy(message, head[:])
	_, err := io.ReadFull(from, message[4:])
	return message, err
}
