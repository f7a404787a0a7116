package think

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"savant/fault"
	"savant/internal/visible"
	"savant/think/flow"
	"savant/think/state"
)

// Caller says who makes a call. The zero Caller is the program itself: no run is its own.
type Caller struct {
	// ID tells callers apart: it names a connection, a session over HTTP, or a token.
	ID string
	// Name is what records say: a token's name, ByLocal, ByTerminal or ByHub.
	Name string
	// Client is what the client calls itself, which nobody checked.
	Client string
	// Ask asks the person at the client; nil if the client does not support questions.
	Ask Ask
	// Apps: the client shows a question as a page in the conversation, see AppTool.
	Apps bool
	// Admission decides which answers of the caller are taken; nil takes all.
	Admission Admission
	// Conversation is the client's session that makes the call; nil if no hook announced it.
	Conversation *Conversation
}

// Asked names a call of Think as the hook of a client sees it.
type Asked struct {
	Tool     string `json:"tool"`
	Workflow string `json:"workflow,omitempty"`
	Run      string `json:"run,omitempty"`
	Step     string `json:"step,omitempty"`
}

// Conversation is a client's session as its hook knows it.
type Conversation struct {
	// Own are the open runs that the session planned or continued, the last called first,
	// and Others those of other sessions.
	Own, Others []state.Key
	// Tools are the client's names of the tools that it called, but for this server's.
	Tools []string
}

// splitRuns returns which of a connection's runs are of the session, and the session's others.
func (c *Conversation) splitRuns(connection []state.Key) []state.Key {
	if c == nil {
		return connection
	}
	rest := slices.DeleteFunc(slices.Clone(connection), func(key state.Key) bool {
		return slices.Contains(c.Own, key) || slices.Contains(c.Others, key)
	})
	return append(slices.Clone(c.Own), rest...)
}

// Admission decides whether an answer is taken.
type Admission interface {
	// Admit is asked about an answer to a step of a run that goes on, with the run held,
	// and says why it is not taken. enforced: the run's workflow requires hooks.
	Admit(ctx context.Context, run state.Key, step string, enforced bool) error
}

// The names of callers that have no token: a program on this machine, a person at a
// terminal or in the hub, and a client's hook.
const (
	ByLocal    = "local"
	ByTerminal = "terminal"
	ByHub      = "hub"
	ByHook     = "hook"
)

// attribution is the part of a record's data that says who made it.
type attribution struct {
	By string `json:"by,omitempty"`
	// Claims is the client's own name for itself.
	Claims string `json:"by_claims,omitempty"`
}

// maxClaim bounds the client's own name in a record, in bytes.
const maxClaim = 100

func (c Caller) attribution() attribution {
	return attribution{By: cmp.Or(c.Name, ByLocal), Claims: visible.Line(fault.Cut(c.Client, maxClaim))}
}

// The bounds of what is remembered: callers, and runs of each.
const (
	maxCallers = 4096
	maxOwned   = 256
)

// callers remembers the runs of callers: those that one planned or named. The least
// recently used caller, and run, are forgotten first; such a run has to be named.
type callers struct {
	mu    sync.Mutex
	ids   []string // the last used last
	owned map[string][]state.Key
}

// note remembers a run as a caller's last.
func (c *callers) note(caller Caller, key state.Key) {
	if caller.ID == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owned == nil {
		c.owned = map[string][]state.Key{}
	}
	runs := slices.DeleteFunc(c.owned[caller.ID], func(each state.Key) bool { return each == key })
	if runs = append(runs, key); len(runs) > maxOwned {
		runs = runs[1:]
	}
	c.owned[caller.ID] = runs
	c.ids = append(slices.DeleteFunc(c.ids, func(each string) bool { return each == caller.ID }), caller.ID)
	if len(c.ids) > maxCallers {
		delete(c.owned, c.ids[0])
		c.ids = c.ids[1:]
	}
}

// runs returns the runs of a caller, its last first.
func (c *callers) runs(caller Caller) []state.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	runs := slices.Clone(c.owned[caller.ID])
	slices.Reverse(runs)
	return runs
}

// target is the run that a call means.
type target struct {
	key state.Key
	// implied: the call did not name it.
	implied bool
	// ended: it is the caller's last run, and none of the caller's runs is open.
	ended bool
	// before is the caller's last run, where that has ended, and open are those of its
	// runs that have not; also beside an error. A lost reply may have been its last.
	before state.Key
	open   []state.Info
}

// id is the id of an implied run, "" where the call named it.
func (t target) id() string {
	if t.implied {
		return t.key.Run
	}
	return ""
}

// targetOf returns the run that a call means: the one it names, which is the caller's own
// from then on, or the only open run that is its own, else the last of those that ended.
// Else INVALID_PARAMS, which lists the caller's runs and then other open ones.
func (e *Engine) targetOf(ctx context.Context, caller Caller, workflow, run string) (target, error) {
	if run != "" {
		key, err := e.Locate(ctx, workflow, run)
		if err == nil {
			e.callers.note(caller, key)
		}
		return target{key: key}, err
	}
	all, open, err := e.openRuns(ctx, workflow)
	if err != nil {
		return target{}, err
	}
	own := e.runsOf(caller)
	owned := func(info state.Info) bool { return slices.Contains(own, info.Key()) }
	mine := slices.DeleteFunc(slices.Clone(open), func(info state.Info) bool { return !owned(info) })
	var before state.Key
	last := slices.IndexFunc(own, func(key state.Key) bool {
		return slices.ContainsFunc(all, func(info state.Info) bool { return info.Key() == key })
	})
	if last >= 0 && !slices.ContainsFunc(mine, func(info state.Info) bool { return info.Key() == own[last] }) {
		before = own[last]
	}
	switch {
	case len(mine) == 1:
		e.callers.note(caller, mine[0].Key()) // a session's run is its connection's too
		return target{key: mine[0].Key(), implied: true, before: before, open: mine}, nil
	case len(mine) == 0 && before != state.Key{}:
		return target{key: before, implied: true, ended: true}, nil
	}
	return target{before: before, open: mine}, e.unnamed(ctx, workflow, own, all, open)
}

// runsOf returns the runs that are a caller's own, its last first.
func (e *Engine) runsOf(caller Caller) []state.Key {
	return caller.Conversation.splitRuns(e.callers.runs(caller))
}

// isOpen reports whether a run with a status goes on.
func isOpen(status string) bool {
	return slices.Contains([]flow.Status{flow.Running, flow.Waiting, flow.Blocked}, flow.Status(status))
}
