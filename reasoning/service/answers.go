package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"savant/reasoning"
)

// How long an answer is kept, how many are, and how large they are together, in
// bytes. The oldest go first.
const (
	AnswersTTL  = time.Hour
	maxAnswers  = 1000
	maxKeptSize = 32 << 20
)

// answers keeps the decisions that were made, by the key of what was asked, so that a
// question that comes again is not paid for again. One that comes while it is being
// decided waits for that decision.
type answers struct {
	// base bounds the decisions that nobody waits for any more; nil ends them: nobody
	// will ask again.
	base context.Context

	mu      sync.Mutex
	pending map[string]*pending
	kept    *lru.Cache[string, kept]
	size    int // of kept, in bytes
	files   *answerFiles
}

// kept is an answer that was given.
type kept struct {
	intent reasoning.Intent
	until  time.Time
	size   int
}

// pending is a question that is being decided.
type pending struct {
	cancel  context.CancelFunc
	waiting int
	written transcript
	done    chan struct{} // closed when intent and err are set
	intent  reasoning.Intent
	err     error
}

// decide decides a request.
type decide func(context.Context, reasoning.Request) (reasoning.Intent, error)

// newAnswers returns a store of answers, with those that a folder keeps; nil for memory
// alone.
func newAnswers(folder *os.Root) *answers {
	a := &answers{pending: map[string]*pending{}}
	a.kept, _ = lru.NewWithEvict(maxAnswers, func(key string, old kept) { // fails only for a size below 1
		a.size -= old.size
		a.files.remove(key)
	})
	if folder != nil {
		a.files = &answerFiles{folder}
	}
	for _, each := range a.files.load(time.Now()) {
		a.keep(each.key, each.Intent, each.Until)
	}
	return a
}

// ask returns the kept answer to a request, or has it decided. It returns when ctx
// ends, with the error of ctx. Errors are not kept. What is written meanwhile is told
// the observer of ctx, from the beginning.
func (a *answers) ask(ctx context.Context, key string, request reasoning.Request, by decide) (reasoning.Intent, error) {
	key = digest(key, request)
	a.mu.Lock()
	if intent, has := a.answered(key); has {
		a.mu.Unlock()
		return intent, nil
	}
	p := a.pending[key]
	if p == nil {
		p = a.begin(ctx, key, request, by)
	}
	p.waiting++
	a.mu.Unlock()
	tell := p.written.listener(reasoning.ObserverFrom(ctx).Wrote)
	for {
		more := tell()
		select {
		case <-p.done:
			tell()
			return p.intent, p.err
		case <-more:
		case <-ctx.Done():
			a.leave(key, p)
			return reasoning.Intent{}, ctx.Err()
		}
	}
}

// answered returns an answer that is kept.
func (a *answers) answered(key string) (reasoning.Intent, bool) {
	held, has := a.kept.Get(key)
	if has && time.Now().After(held.until) {
		a.kept.Remove(key)
		has = false
	}
	held.intent.Cached = has
	return held.intent, has
}

// begin has a request decided, whatever becomes of those who wait for it.
func (a *answers) begin(ctx context.Context, key string, request reasoning.Request, by decide) *pending {
	bounded, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := func() bool { return true }
	if a.base != nil {
		forget = context.AfterFunc(a.base, cancel)
	}
	p := &pending{cancel: cancel, done: make(chan struct{})}
	a.pending[key] = p
	if observer := reasoning.ObserverFrom(ctx); observer.Wrote != nil {
		observer.Wrote = p.written.add
		bounded = reasoning.WithObserver(bounded, observer)
	}
	go func() {
		defer cancel()
		defer forget()
		p.intent, p.err = by(bounded, request)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.pending[key] == p {
			delete(a.pending, key)
		}
		if p.err == nil {
			until := time.Now().Add(AnswersTTL)
			a.keep(key, p.intent, until)
			a.files.save(key, until, p.intent)
		}
		close(p.done)
	}()
	return p
}

func (a *answers) keep(key string, intent reasoning.Intent, until time.Time) {
	raw, err := json.Marshal(intent)
	if err != nil || len(raw) > maxKeptSize {
		return
	}
	a.kept.Remove(key)
	a.kept.Add(key, kept{intent: intent, until: until, size: len(raw)})
	for a.size += len(raw); a.size > maxKeptSize; {
		a.kept.RemoveOldest()
	}
}

// leave is called by who waits no more.
func (a *answers) leave(key string, p *pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.waiting--; p.waiting > 0 || a.base != nil {
		return
	}
	if a.pending[key] == p {
		delete(a.pending, key)
	}
	p.cancel()
}

// digest is over a key and what is asked. It keeps a key that was used for another
// question, in another folder perhaps, from getting its answer. The tools that are
// offered, the repository and the limits may change until the question comes again.
func digest(key string, request reasoning.Request) string {
	request.Tools, request.Repo, request.Limits = nil, nil, reasoning.Limits{}
	sum := sha256.New()
	raw, err := request.Encode()
	if err == nil {
		sum.Write(raw)
	}
	fmt.Fprintf(sum, "\x00%s", key)
	return hex.EncodeToString(sum.Sum(nil))
}
