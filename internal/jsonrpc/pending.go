package jsonrpc

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
)

// Pending holds the unanswered requests to the peer. Its zero value is ready, and safe
// for concurrent use.
type Pending struct {
	// Unguessable uses random ids, for connections where others than the peer could send
	// an answer.
	Unguessable bool

	mu      sync.Mutex
	asked   int
	waiting map[string]chan *Message
}

// Open returns the id of a new request and the channel its answer arrives on.
func (p *Pending) Open() (json.RawMessage, <-chan *Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[string]chan *Message{}
	}
	p.asked++
	id := fmt.Sprintf(`"savant-%d"`, p.asked)
	if p.Unguessable {
		id = `"savant-` + rand.Text() + `"`
	}
	answer := make(chan *Message, 1)
	p.waiting[id] = answer
	return json.RawMessage(id), answer
}

// Forget stops waiting for the answer to a request.
func (p *Pending) Forget(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, string(id))
}

// Deliver passes an answer to its request, and reports whether the request was pending.
// Other answers are dropped.
func (p *Pending) Deliver(m *Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer, waits := p.waiting[string(m.ID)]
	if waits {
		delete(p.waiting, string(m.ID))
		answer <- m
	}
	return waits
}
