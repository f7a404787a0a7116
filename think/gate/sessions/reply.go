package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/think/state"
)

// Clients report a reply of Think in wrappings of their own: lists, objects, texts that
// hold JSON, cut or quoted. So it is looked for in all of a report, not under names.

// maxDepth and maxValues bound the search for a reply in a client's report.
const (
	maxDepth  = 12
	maxValues = 20_000
)

// replyOf finds the run id in a report of a call of think.plan or think.next. cut says that
// it is from a reply without its end, in which a text of the model's can stand before the
// id; failed, that the report is of a call that failed.
func replyOf(output json.RawMessage) (run string, cut, failed bool) {
	value, err := jsonvalue.DecodeStored(output)
	if err != nil {
		return "", false, false
	}
	search := &search{left: maxValues}
	search.walk(value, maxDepth)
	return search.run, search.cut, search.run == "" && search.failed
}

// search is one search for a reply.
type search struct {
	left        int // values to look at
	run         string
	cut, failed bool
}

func (s *search) walk(value any, depth int) {
	if s.left--; s.left < 0 || depth == 0 || s.run != "" {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if standing, ok := value["state"].(map[string]any); ok {
			s.run, _ = standing["run_id"].(string)
		}
		s.failed = s.failed || fails(value)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			s.walk(value[name], depth-1)
		}
	case []any:
		for _, each := range value {
			s.walk(each, depth-1)
		}
	case string:
		s.text(value, depth)
	}
}

// text searches a text that is JSON, has JSON in it, or is the beginning of some.
func (s *search) text(text string, depth int) {
	whole, err := jsonvalue.DecodeStored([]byte(text))
	if err != nil {
		from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
		if from < 0 {
			return
		}
		whole, err = jsonvalue.DecodeStored([]byte(text[from:max(from, to+1)]))
	}
	if err == nil {
		s.walk(whole, depth-1)
		return
	}
	if found := cutReply().FindStringSubmatch(text); found != nil {
		s.run, s.cut = found[1], true
	}
}

// cutReply matches the run in a reply that a client has cut, also where it was quoted.
var cutReply = pattern.Lazy(`\\*"state\\*"\s*:\s*\{\s*\\*"run_id\\*"\s*:\s*\\*"([A-Za-z0-9_.-]+)\\*"`)

// fails reports whether an object says that a call failed, in the words of MCP, Savant or a
// client.
func fails(object map[string]any) bool {
	for name, value := range object {
		switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
		case "error", "iserror":
			if value != nil && value != false && value != "" {
				return true
			}
		case "resulttype", "status":
			text, isText := value.(string)
			if text = strings.ToLower(text); isText && (strings.HasPrefix(text, "fail") || strings.HasPrefix(text, "error") || text == "denied" || text == "rejected") {
				return true
			}
		}
	}
	return false
}

// plan is a call of think.plan that the session is about to make.
type plan struct {
	Workflow string    `json:"workflow"`
	Time     time.Time `json:"time"`
}

// maxPlans bounds the calls that are remembered; one that was not made is forgotten after
// probeExpiry.
const maxPlans = 8

// follow remembers a call of think.plan before it is made, and returns when it was about to
// be made once it was.
func (s *session) follow(said about, now time.Time) (begun time.Time) {
	s.Plans = slices.DeleteFunc(s.Plans, func(each plan) bool { return now.Sub(each.Time) > probeExpiry })
	switch {
	case said.planned == "":
	case said.probe != "":
		s.Plans = append(s.Plans, plan{said.planned, now})
		s.Plans = s.Plans[max(0, len(s.Plans)-maxPlans):]
	default:
		at := slices.IndexFunc(s.Plans, func(each plan) bool { return each.Workflow == said.planned })
		if at >= 0 {
			begun = s.Plans[at].Time
			s.Plans = slices.Delete(s.Plans, at, at+1)
		}
	}
	return begun
}

// clockLeeway is how much the clocks of two machines may differ.
const clockLeeway = time.Minute

// made returns the runs of a workflow that began since a time and that no session has: one
// of them is that of a plan whose reply the client does not show.
func (g *Gate) made(ctx context.Context, workflow string, since time.Time) ([]state.Key, error) {
	infos, err := g.list(ctx, workflow)
	if err != nil {
		return nil, err
	}
	if shared, _ := g.shared(); shared != nil {
		since = since.Add(-clockLeeway)
	}
	names, err := g.sessionFiles()
	if err != nil {
		return nil, err
	}
	taken := map[state.Key]bool{}
	for _, name := range names {
		if s, err := g.load(name); err == nil && s != nil {
			for _, each := range s.Pairs {
				taken[each.key()] = true
			}
		}
	}
	var keys []state.Key
	for _, each := range infos {
		began, err := time.Parse(time.RFC3339Nano, each.Created)
		if err == nil && !began.Before(since) && !taken[each.Key()] {
			keys = append(keys, each.Key())
		}
	}
	return keys[:min(len(keys), maxPairs)], nil
}

// list returns the runs of a workflow.
func (g *Gate) list(ctx context.Context, workflow string) (infos []state.Info, err error) {
	filter := state.Filter{Workflow: workflow}
	if shared, err := g.shared(); err != nil || shared != nil {
		if err == nil {
			infos, err = shared.List(ctx, filter)
		}
		return infos, err
	}
	store, err := state.Open(g.path, state.Options{Now: g.now})
	if err != nil {
		return nil, err
	}
	infos, err = store.List(ctx, filter)
	return infos, errors.Join(err, store.Close())
}
