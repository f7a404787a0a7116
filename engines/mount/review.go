package mount

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"savant/fault"
)

// Review is the difference between a server's pin and its current state. Its texts are
// safe for a terminal: control characters are escaped.
type Review struct {
	Server string
	// First means that the server has no pin yet.
	First bool
	// Changes are the tools that differ, by name.
	Changes []Change
	// Refused are the tools that cannot be trusted, with the reason.
	Refused map[string]string

	before string // the digest of the pin
	next   *pinnedServer
}

// Change is one tool that differs.
type Change struct {
	Tool string
	// Kind is "new", "changed" or "gone".
	Kind string
	// Diff has the old and new lines, marked - and +.
	Diff string
}

// IsUnchanged reports whether there is nothing to accept.
func (r Review) IsUnchanged() bool { return !r.First && len(r.Changes) == 0 }

// Review starts a server, trusted or not, compares it with its pin, and ends it. It
// changes nothing.
func (m *Mounts) Review(ctx context.Context, name string) (Review, error) {
	s, err := m.server(name)
	if err != nil {
		return Review{}, err
	}
	if _, refused, err := m.Part(name); err != nil || refused != nil {
		return Review{}, cmp.Or(err, refused)
	}
	if s.fixed != nil { // which only a reload changes
		return Review{}, s.fixed
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	began, err := s.start(ctx)
	if err != nil {
		coded := fault.From(err)
		return Review{}, fault.New(coded.Code, "%s does not start: %s", name, s.launch.hidden.Text(coded.Message()))
	}
	defer began.close()
	pins, refused := pinAll(began.definitions)
	file, err := readLock(m.options.Root)
	if err != nil {
		return Review{}, err
	}
	review := Review{Server: name, Refused: refused, next: &pinnedServer{Tools: pins}}
	old := file.Servers[name]
	if review.First = old == nil; review.First {
		old = &pinnedServer{}
	}
	review.before = old.digest()
	review.Changes = changes(old.Tools, pins)
	return review, nil
}

// changes lists the differing tools, by name.
func changes(old, now map[string]pin) []Change {
	var all []Change
	kinds, different := map[string]string{isNew: "new", isChanged: "changed", isGone: "gone"}, compare(old, now)
	for _, name := range slices.Sorted(maps.Keys(different)) {
		all = append(all, Change{Tool: visibleText(name), Kind: kinds[different[name]], Diff: diff(lines(old[name].Definition), lines(now[name].Definition))})
	}
	return all
}

// digest returns a text that changes with what is trusted.
func (p *pinnedServer) digest() string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		text += "\n" + name + " " + p.Tools[name].Digest
	}
	return text
}

// Accept trusts what a review showed. If the pin has changed since the review, it
// returns STATE_CONFLICT and changes nothing.
func (m *Mounts) Accept(review Review) error {
	if review.next == nil {
		return fault.New(fault.InvalidParams, "nothing was reviewed")
	}
	stale := false
	err := pinServer(m.options.Root, review.Server, func(held *pinnedServer) *pinnedServer {
		if held == nil {
			held = &pinnedServer{}
		}
		if stale = held.digest() != review.before; stale {
			return nil
		}
		return review.next
	})
	if err == nil && stale {
		err = fault.New(fault.StateConflict, "the answers about %s changed meanwhile: review it again", review.Server)
	}
	if err == nil {
		m.Refresh()
	}
	return err
}

// Refresh reads what other processes accepted.
func (m *Mounts) Refresh() {
	for _, each := range m.all() {
		if err := each.refresh(); err != nil {
			m.options.Logger.Warn("the list of what is trusted of a server cannot be read", "server", each.entry.name, "reason", fault.From(err).Message())
		}
	}
}

// refresh reads the server's pin again.
func (s *server) refresh() error {
	if s.untrusted != nil {
		return nil
	}
	file, err := readLock(s.root)
	if err != nil {
		return err
	}
	if now := file.Servers[s.entry.name]; now != nil {
		return s.trust(now)
	}
	return nil
}

// Follow polls the lock file and the file of servers, and applies changes, until ctx
// ends. It starts servers without trusted definitions.
func (m *Mounts) Follow(ctx context.Context, shown func(engine string) bool) {
	if m.mounted {
		return
	}
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	seen := m.lockTime()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		m.Reload()
		m.discoverNew(shown)
		if now := m.lockTime(); !now.Equal(seen) {
			seen = now
			m.Refresh()
		}
	}
}

// discoverNew starts servers without trusted definitions in the background. If a start
// fails, only a call tries again.
func (m *Mounts) discoverNew(shown func(engine string) bool) {
	for _, each := range m.all() {
		if shown(each.entry.name) && each.untried() {
			m.work.Go(func() { _ = each.discover(each.life) }) // its status has the error
		}
	}
}

// followEvery is Follow's polling interval.
const followEvery = 2 * time.Second

func (m *Mounts) lockTime() time.Time {
	info, err := m.options.Root.Stat(lockName)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// trust makes the server use a pin.
func (s *server) trust(now *pinnedServer) error {
	s.mutex.Lock()
	same := s.trusted != nil && s.trusted.digest() == now.digest()
	if !same {
		s.trusted = now
	}
	live := s.live
	s.mutex.Unlock()
	switch {
	case same:
		return nil
	case live != nil:
		return s.adopt(live)
	default:
		s.adopting.Lock()
		defer s.adopting.Unlock()
		return s.publish(slices.Collect(maps.Keys(now.Tools)))
	}
}
