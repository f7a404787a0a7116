package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
)

// openAgent makes the agent and its tools.
func (p *program) openAgent(h *house) error {
	client, decider, err := p.reasoner(h.recordAttempt)
	if err != nil {
		return err
	}
	a := p.settings.Agent
	var asking sync.Mutex
	policy := agent.Policy{DisableTools: a.DisableTools, DisableContext: a.DisableContext, DisableSearch: a.DisableSearch, AllowThink: a.AllowThink}
	if h.attended {
		policy.Confirm = func(ctx context.Context, tool string, args json.RawMessage) (bool, error) {
			asking.Lock()
			defer asking.Unlock()
			return p.confirmCall(ctx, tool, args), nil
		}
	}
	h.agent = agent.New(agent.Options{Toolbox: h.tools, Client: client, Decider: decider, Memory: memory.Open(h.root, time.Now),
		Recorder: h.recorder, Policy: policy, Prompts: h.prompts,
		Repo:          p.repository(h.path, h.gitRoots(p.settings)),
		Workflows:     func(context.Context) ([]string, error) { return h.think.Library.Names(), h.think.Library.Unlisted() },
		DisableDetect: a.DisableDetect, TimeoutMS: int(p.settings.Reasoning.Timeout / time.Millisecond),
		Now: time.Now, NewID: func() string { return strings.ToLower(ulid.Make().String()) }, Logger: h.logger})
	return h.tools.AddEngine(engines.Engine{Name: "agent", Description: "works on a goal by itself"}, h.agent.Tools()...)
}

// confirmCall asks the person at the terminal about a destructive call.
func (p *program) confirmCall(ctx context.Context, tool string, args json.RawMessage) bool {
	asking := *p
	asking.stdout = &output{Writer: p.stderr} // stdout is for the answer alone
	return asking.confirm(ctx, "Call "+visible(tool)+" "+visible(string(args))+"?") == nil
}

// recordAttempt tells of an attempt to reach the Reasoning API that failed.
func (h *house) recordAttempt(_ context.Context, failed reasoning.Attempt) {
	kind := telemetry.Retry
	if failed.Last {
		kind = telemetry.Error
	}
	h.recorder.RecordLater(telemetry.Event{Type: kind, Source: telemetry.SourceAgent, SessionID: failed.SessionID, RunID: failed.RunID, Step: failed.Step,
		DurationMS: float64(failed.Elapsed) / float64(time.Millisecond),
		Error:      &telemetry.Failure{Code: "REASONING_UNAVAILABLE", Details: fault.From(failed.Err).Details},
		Metadata:   map[string]any{"attempt": failed.Number, "wait_ms": failed.Wait.Milliseconds()}})
}

// closeAgent ends the runs of this process; they can be resumed.
func (h *house) closeAgent() {
	if h.agent != nil {
		h.agent.Close()
	}
}
