package jsonrpc

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
)

// Pending holds the requests of ours that are not answered. Its zero value is
// ready; it may be used by several goroutines at once.
type Pending struct {
	// Unguessable gives requests ids that nobody can guess: whoever answers may not be
	// the one that was asked.
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

// Forget gives up waiting for the answer to a request.
func (p *Pending) Forget(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, string(id))
}

// Deliver hands an answer to whoever asked. One that nobody waits for is
// dropped. It returns whether somebody did.
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
