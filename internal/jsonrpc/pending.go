package jsonrpc

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Pending holds the unanswered requests to peers. Its zero value is ready, and safe for
// concurrent use.
type Pending struct {
	mu      sync.Mutex
	asked   int
	waiting map[string]unanswered
}

// unanswered is a request to a peer, who alone answers it.
type unanswered struct {
	peer   string
	answer chan *Message
}

// Open returns the id of a new request to a peer and the channel its answer arrives on.
func (p *Pending) Open(peer string) (json.RawMessage, <-chan *Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[string]unanswered{}
	}
	p.asked++
	id := fmt.Sprintf(`"savant-%d"`, p.asked)
	answer := make(chan *Message, 1)
	p.waiting[id] = unanswered{peer, answer}
	return json.RawMessage(id), answer
}

// Forget stops waiting for the answer to a request.
func (p *Pending) Forget(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, string(id))
}

// Deliver passes a peer's answer to its request, and reports whether the request was pending
// and to this peer. Other answers are dropped.
func (p *Pending) Deliver(peer string, m *Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	request := p.waiting[string(m.ID)]
	waits := request.answer != nil && request.peer == peer
	if waits {
		delete(p.waiting, string(m.ID))
		request.answer <- m
	}
	return waits
}
