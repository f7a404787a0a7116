package mcpio

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

const (
	// progressSpacing is the least time between two progress notifications,
	// and between the last one and the reply: TypeScript clients lose progress
	// that arrives in one chunk with the reply.
	progressSpacing = 5 * time.Millisecond
	// maxProgressWaiting bounds how far a reply is delayed by what waits to be
	// sent before it. Beyond it the latest report replaces the one before.
	maxProgressWaiting = 8
)

// newPacer returns the pacer of a request, or nil when its _meta does not ask
// for progress.
func (c *connection) newPacer(meta json.RawMessage) *pacer {
	if len(meta) == 0 {
		return nil
	}
	token := json.RawMessage(jsonvalue.Member(meta, "progressToken"))
	if !jsonrpc.ValidID(token) {
		return nil
	}
	return &pacer{token: token, write: c.lines.Write}
}

// pacer sends the progress of one request. A nil pacer sends none.
type pacer struct {
	token json.RawMessage
	write func(any) error

	mu       sync.Mutex
	waiting  []progress
	reported *float64
	last     time.Time
	// idle is closed when the sending goroutine has nothing left; it is nil
	// when none was started.
	idle     chan struct{}
	sending  bool
	finished bool
}

// progress is the parameters of notifications/progress.
type progress struct {
	Token   json.RawMessage `json:"progressToken"`
	Done    float64         `json:"progress"`
	Total   float64         `json:"total,omitempty"`
	Message string          `json:"message,omitempty"`
}

// reporter returns the function tools report with, or nil.
func (p *pacer) reporter() func(done, total float64, message string) {
	if p == nil {
		return nil
	}
	return p.report
}

// report queues one report and returns at once. One that does not grow is
// dropped, as the protocol asks, and so is one that comes after the reply.
func (p *pacer) report(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished || (p.reported != nil && done <= *p.reported) {
		return
	}
	p.reported = &done
	if len(p.waiting) == maxProgressWaiting {
		p.waiting = p.waiting[:maxProgressWaiting-1]
	}
	p.waiting = append(p.waiting, progress{p.token, done, total, message})
	if !p.sending {
		p.sending, p.idle = true, make(chan struct{})
		go p.send(p.idle)
	}
}

// send writes what waits, spaced, until nothing does.
func (p *pacer) send(idle chan<- struct{}) {
	defer close(idle)
	for {
		next, wait, any := p.next()
		if !any {
			return
		}
		time.Sleep(wait)
		_ = p.write(jsonrpc.Notify(string(mcp.MethodNotificationProgress), next))
		p.mu.Lock()
		p.last = time.Now()
		p.mu.Unlock()
	}
}

// next takes the next report and the time to wait before it is written.
func (p *pacer) next() (next progress, wait time.Duration, any bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.sending = false
		return progress{}, 0, false
	}
	next, p.waiting = p.waiting[0], p.waiting[1:]
	return next, time.Until(p.last.Add(progressSpacing)), true
}

// finish sends what still waits, nothing if ctx has ended, and returns when
// the reply may follow.
func (p *pacer) finish(ctx context.Context) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.finished = true
	if ctx.Err() != nil {
		p.waiting = nil
	}
	idle := p.idle
	p.mu.Unlock()
	if idle == nil {
		return
	}
	<-idle
	time.Sleep(time.Until(p.last.Add(progressSpacing)))
}
