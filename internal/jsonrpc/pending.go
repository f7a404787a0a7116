package jsonrpc

import (
	"encoding/json"
	"strconv"
	"strings"
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

// KeyOf returns an id in the one form by which requests are found. Some peers give a number
// back as a text, or with a fraction.
func KeyOf(id json.RawMessage) string {
	return strings.TrimSuffix(strings.Trim(string(id), `"`), ".0")
}

// Open returns the id of a new request to a peer and the channel its answer arrives on. The
// id is a number, since some peers take no text.
func (p *Pending) Open(peer string) (json.RawMessage, <-chan *Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[string]unanswered{}
	}
	p.asked++
	id := strconv.Itoa(p.asked)
	answer := make(chan *Message, 1)
	p.waiting[id] = unanswered{peer, answer}
	return json.RawMessage(id), answer
}

// Forget stops waiting for the answer to a request.
func (p *Pending) Forget(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, KeyOf(id))
}

// Asked reports whether there was ever a request with an id.
func (p *Pending) Asked(id json.RawMessage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	number, err := strconv.Atoi(KeyOf(id))
	return err == nil && number > 0 && number <= p.asked
}

// Several reports whether more than one request is unanswered.
func (p *Pending) Several() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) > 1
}

// Deliver passes a peer's answer to its request, and reports whether the request was pending
// and to this peer. Other answers are dropped.
func (p *Pending) Deliver(peer string, m *Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	request := p.waiting[KeyOf(m.ID)]
	waits := request.answer != nil && request.peer == peer
	if waits {
		delete(p.waiting, KeyOf(m.ID))
		request.answer <- m
	}
	return waits
}
