// Package sessions stores the state of the gate: which run belongs to which
// conversation of which client, learned from the calls of Think that hooks report. It
// reads the runs' records through package think, asks package gate for decisions, and
// records refusals. Its files are in .savant of one project, also where the runs are in a
// database: so it knows without the database whether a conversation is held to a run.
package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/think"
	"savant/think/gate"
	"savant/think/state"
)

// Gate decides on the events of one project's clients. It is safe for concurrent use,
// also by several processes.
type Gate struct {
	root   *os.Root
	path   string
	reader *state.Reader
	// project says where the runs are and which tools there are. It is asked once for the
	// shared store.
	project   Project
	asked     sync.Once
	store     Shared
	storeGone error
	now       func() time.Time
}

// Open returns the gate of the folder SAVANT_PATH. Nothing is written before a run is
// planned. now is the clock.
func Open(savantPath string, project Project, now func() time.Time) (*Gate, error) {
	path, err := filepath.Abs(savantPath)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, ownfolder.NotRead("SAVANT_PATH", err)
	}
	root, err := regular.OpenFolder(path)
	if err != nil {
		return nil, ownfolder.NotRead("SAVANT_PATH", err)
	}
	reader, err := state.OpenReader(path)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Gate{root: root, path: path, reader: reader, project: project, now: now}, nil
}

// shared returns the shared store, nil without one.
func (g *Gate) shared() (Shared, error) {
	g.asked.Do(func() { g.store, g.storeGone = g.project.Shared() })
	return g.store, g.storeGone
}

// Close ends the gate.
func (g *Gate) Close() error { return errors.Join(g.reader.Close(), g.root.Close()) }

// Ask decides on an event. It never fails: where it cannot decide and the session may
// have an open run, no tool passes.
func (g *Gate) Ask(ctx context.Context, e gate.Event) gate.Decision {
	if e.Kind == gate.Other {
		return gate.Decision{}
	}
	if e.Session == "" {
		if e.Kind == gate.BeforeTool && g.Gated(ctx, e.Client, "") {
			return gate.Failed(e.Kind, fault.New(fault.InvalidParams, "the client's event does not name its session"))
		}
		return gate.Decision{}
	}
	g.note(ctx, e)
	about, err := g.about(ctx, e)
	if s, damaged := g.load(g.fileOf(e.Client, e.Session)); damaged == nil && (s == nil || len(s.Pairs) == 0) && (err != nil || about.nothing(s)) {
		return gate.Decision{} // no run of this session is gated, and this event plans none
	}
	if err != nil {
		return gate.Failed(e.Kind, err)
	}
	var decision gate.Decision
	err = g.locked(ctx, func() error {
		decision, err = g.decide(ctx, g.fileOf(e.Client, e.Session), e, about) // the lock has made its folder
		return err
	})
	if err != nil {
		return gate.Failed(e.Kind, err)
	}
	return decision
}

// decide decides on an event while the files are locked.
func (g *Gate) decide(ctx context.Context, name string, e gate.Event, about about) (gate.Decision, error) {
	s, err := g.load(name)
	if err != nil {
		return gate.Decision{}, err
	}
	if s == nil {
		s = &session{Format: format, Client: e.Client, Session: e.Session}
	}
	shared, err := g.shared()
	if err != nil {
		return gate.Decision{}, err
	}
	now := g.now()
	if len(s.Pairs) >= maxPairs { // some may have ended meanwhile
		if err := g.catchUp(ctx, s, now); err != nil {
			return gate.Decision{}, err
		}
		if about.probe != "" && len(s.Pairs) >= maxPairs {
			return gate.Decision{}, full()
		}
	}
	if begun := s.follow(about, now); about.lost && !begun.IsZero() {
		keys, err := g.made(ctx, about.planned, begun)
		if err != nil {
			return gate.Decision{}, err
		}
		isMade := func(key state.Key) bool { return slices.Contains(keys, key) }
		if len(keys) > 0 && !slices.ContainsFunc(about.runs, isMade) {
			about.runs = keys
		}
	}
	for _, key := range about.runs {
		s.learn(about.prefix)
		if err := s.pair(key, now); err != nil {
			return gate.Decision{}, err
		}
	}
	if shared == nil {
		if err := g.announce(s, about); err != nil {
			return gate.Decision{}, err
		}
	}
	if err := g.catchUp(ctx, s, now); err != nil {
		return gate.Decision{}, err
	}
	if shared != nil {
		share(ctx, shared, s, about)
	}
	decision := g.verdict(s, e)
	if decision.Verdict == gate.Refuse {
		g.record(ctx, s, e, decision)
	}
	g.saw(s, e, decision)
	return decision, g.save(name, s)
}

// verdict asks package gate.
func (g *Gate) verdict(s *session, e gate.Event) gate.Decision {
	runs := make([]gate.Run, len(s.Pairs))
	stops := make([]gate.Stops, len(s.Pairs))
	for i, each := range s.Pairs {
		runs[i], stops[i] = each.Run, each.Stops
	}
	if e.Kind == gate.TurnMayEnd {
		decision, _ := gate.End(runs, stops)
		return decision
	}
	if e.Kind == gate.TurnEnd {
		decision, after := gate.End(runs, stops)
		for i, each := range s.Pairs {
			each.Stops = after[i]
		}
		return decision
	}
	e.Project = g.path
	e.Paths = g.resolve(e)
	own := gate.Own{Prefixes: s.Prefixes}
	decision := gate.Decide(runs, own, e)
	if _, ours := own.Name(e.Tool); decision.Verdict != gate.Refuse || !ours {
		return decision
	}
	described, err := g.project.Described()
	if err != nil {
		return decision // it stays refused
	}
	own.Tools = described
	return gate.Decide(runs, own, e)
}

// catchUp updates the runs of a session from their records. It forgets runs that
// ended, were removed, or were not continued by the session for a long time.
func (g *Gate) catchUp(ctx context.Context, s *session, now time.Time) error {
	for _, each := range s.Pairs {
		if now.Sub(each.Seen) > expiry {
			each.Run.Status = ""
			continue
		}
		if err := g.follow(ctx, each); err != nil && !errors.Is(err, fault.UnknownRun) {
			return err
		} else if err != nil {
			each.Run.Status = ""
		}
	}
	s.Pairs = slices.DeleteFunc(s.Pairs, func(each *pair) bool { return !each.Run.Open() })
	return nil
}

// follow applies the records that a run has behind the pair's mark.
func (g *Gate) follow(ctx context.Context, p *pair) error {
	found, mark, whole, err := g.after(ctx, p.key(), p.Mark)
	if err != nil {
		return err
	}
	ok := !whole
	if ok {
		p.Run, ok, err = think.StandingAfter(p.Run, found)
	}
	if !ok && !whole { // a reset: what it goes back to is before the mark
		found, mark, _, err = g.after(ctx, p.key(), state.Mark{})
	}
	if !ok && err == nil {
		p.Run, err = think.Standing(p.key(), found)
	}
	if err == nil {
		p.Mark = mark
	}
	return err
}

// resolve returns the places that an event's arguments name, absolute and without
// links. What does not exist yet is taken from the nearest folder that does.
func (g *Gate) resolve(e gate.Event) []string {
	from := e.Folder
	if from == "" {
		from = g.path
	}
	var found []string
	for _, place := range gate.Places(e) {
		switch {
		case strings.HasPrefix(place, "~"), strings.Contains(place, "{") && (strings.Contains(place, "..") || strings.Contains(place, "{/") || strings.Contains(place, ",/")):
			place = outside // the home folder, and alternatives that may lead out
		case !filepath.IsAbs(place):
			place = from + string(filepath.Separator) + place
		}
		resolved := real(filepath.Clean(place))
		if strings.Contains(place, "..") && resolved != real(place) {
			resolved = outside // behind a link: some clients take ".." from where it leads
		}
		found = append(found, resolved)
	}
	return found
}

// outside is a place that is in no project.
const outside = string(filepath.Separator)

// real resolves the links of as much of an absolute path as exists, element by element,
// as the system does.
func real(place string) string {
	volume := filepath.VolumeName(place)
	at := volume + string(filepath.Separator)
	for _, name := range strings.FieldsFunc(place[len(volume):], func(c rune) bool { return c < utf8.RuneSelf && os.IsPathSeparator(uint8(c)) }) {
		at = filepath.Join(at, name)
		if resolved, err := filepath.EvalSymlinks(at); err == nil {
			at = resolved
		}
	}
	return at
}

// Held is a run to which a session is held, and when the session last called Think for it.
type Held struct {
	Key  state.Key
	Seen time.Time
}

// Held returns the runs to which sessions are held. A damaged file is STATE_CORRUPT.
func (g *Gate) Held(ctx context.Context) (found []Held, err error) {
	return found, g.each(ctx, func(_ string, s *session, damaged error) error {
		if damaged != nil {
			return damaged
		}
		for _, each := range s.Pairs {
			found = append(found, Held{each.key(), each.Seen})
		}
		return nil
	})
}

// Release lets go of a run, by its id or as WORKFLOW/RUN, in every session, or of all runs
// where run is "". It returns which were gated. A damaged file is removed with the rest
// where run is "".
func (g *Gate) Release(ctx context.Context, run string) (released []state.Key, err error) {
	return released, g.each(ctx, func(name string, s *session, damaged error) error {
		switch {
		case errors.Is(damaged, fault.StateCorrupt) && run == "":
			s = new(session)
		case damaged != nil:
			return damaged
		}
		if run == "" {
			s.Plans = nil
		}
		s.Pairs = slices.DeleteFunc(s.Pairs, func(each *pair) bool {
			wanted := run == "" || each.Run.ID == run || each.key().String() == run
			if wanted && !slices.Contains(released, each.key()) {
				released = append(released, each.key())
			}
			return wanted
		})
		return g.save(name, s)
	})
}

// text reads a member of arguments.
func text(input json.RawMessage, name string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return ""
	}
	var value string
	_ = json.Unmarshal(members[name], &value) // what is no text names nothing
	return strings.TrimSpace(value)
}
