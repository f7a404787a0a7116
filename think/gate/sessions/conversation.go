package sessions

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"savant/internal/jsonvalue"
	"savant/internal/regular"
	"savant/think"
	"savant/think/gate"
	"savant/think/state"
)

// callExpiry is how long the announcement of a call names its session.
const callExpiry = time.Minute

// maxTools bounds the names of tools that are remembered of a session.
const maxTools = 256

// call is an announced call of Think that means the caller's own run, and the content of
// the file of a session's tools.
type call struct {
	Time time.Time `json:"time"`
	// Sessions are the files of the sessions that announced it.
	Sessions []string `json:"sessions,omitempty"`
	// Tools are the client's names of tools that the session called.
	Tools []string `json:"tools,omitempty"`
}

// callOf names the file of a call by what no client changes on the way.
func (g *Gate) callOf(asked think.Asked) string {
	asked.Workflow, _, _ = strings.Cut(asked.Workflow, "@")
	return g.noted("call", asked)
}

// toolsOf names the file of the tools of a session, which is given by its own file.
func (g *Gate) toolsOf(session string) string { return g.noted("tools", session) }

func (g *Gate) noted(kind string, value any) string {
	digest, _ := jsonvalue.Digest(map[string]any{"kind": kind, "of": value})
	return path.Join(g.probeFolder(), digest[:min(len(digest), 24)]+suffix)
}

// note remembers what Conversation tells the server: which session is about to call Think
// without naming a run, and which other tools it called. Before the first run of a folder is
// planned it writes nothing. What cannot be noted is not known: the call has to name its run.
func (g *Gate) note(ctx context.Context, e gate.Event) {
	name, prefix, ofThink := gate.Meaning(e.Tool)
	run := text(e.Input, "run_id")
	if _, err := g.root.Lstat(Home(g.root)); e.Kind != gate.BeforeTool || err != nil && !(ofThink && gate.Plans(name)) || ofThink && run != "" && !gate.Plans(name) {
		return
	}
	session := g.fileOf(e.Client, e.Session)
	if !ofThink {
		if seen := g.calls(g.toolsOf(session)); !slices.Contains(seen.Tools, e.Tool) && len(seen.Tools) < maxTools {
			_ = g.locked(ctx, func() error {
				seen = g.calls(g.toolsOf(session))
				return g.replace(g.toolsOf(session), call{Time: g.now(), Tools: append(seen.Tools, e.Tool)})
			})
		}
		return
	}
	_ = g.locked(ctx, func() error {
		file := g.callOf(think.Asked{Tool: name, Workflow: text(e.Input, "workflow"), Run: run, Step: text(e.Input, "step_id")})
		said := g.calls(file)
		if g.now().Sub(said.Time) > callExpiry {
			said.Sessions = nil
		}
		if session = g.fileOf(e.Client, e.Session); !slices.Contains(said.Sessions, session) { // the lock has made its folder
			said.Sessions = append(said.Sessions, session)
		}
		said.Tools = slices.DeleteFunc(g.calls(g.toolsOf(session)).Tools, func(tool string) bool { return prefix != "" && strings.HasPrefix(tool, prefix) })
		said.Time = g.now()
		return g.replace(file, said)
	})
}

// calls reads a file of calls; the zero call if it says none.
func (g *Gate) calls(name string) (said call) {
	if data, err := regular.ReadFile(g.root, name, maxFile); err == nil && jsonvalue.UnmarshalStored(data, &said) != nil {
		return call{}
	}
	return said
}

// Conversation returns what hooks say of the session that makes a call of Think now, nil if
// no hook, or those of several sessions, announced it. An announcement counts once.
func (g *Gate) Conversation(ctx context.Context, asked think.Asked) *think.Conversation {
	file := g.callOf(asked)
	if _, err := g.root.Stat(file); err != nil {
		return nil
	}
	var conversation *think.Conversation
	err := g.locked(ctx, func() error {
		found := g.calls(file)
		if err := g.root.Remove(file); err != nil {
			return err
		}
		if age := g.now().Sub(found.Time); age < 0 || age > callExpiry || len(found.Sessions) != 1 {
			return nil
		}
		conversation = &think.Conversation{Tools: found.Tools}
		names, err := g.sessionFiles()
		if err != nil {
			return err
		}
		for _, name := range names {
			if name == found.Sessions[0] {
				conversation.Own = g.paired(name)
			} else {
				conversation.Others = append(conversation.Others, g.paired(name)...)
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return conversation
}

// paired returns the runs of a session, the last called first; none if its file is damaged.
func (g *Gate) paired(name string) (keys []state.Key) {
	s, err := g.load(name)
	if err != nil || s == nil {
		return nil
	}
	pairs := slices.DeleteFunc(s.Pairs, func(each *pair) bool { return g.now().Sub(each.Seen) > expiry })
	slices.SortStableFunc(pairs, func(x, y *pair) int { return cmp.Compare(y.Seen.UnixNano(), x.Seen.UnixNano()) })
	for _, each := range pairs {
		keys = append(keys, each.key())
	}
	return keys
}
