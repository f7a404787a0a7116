package mount

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"savant/engines"
	"savant/fault"
)

// errReplaced is why a server ends whose entry in the file changed or went.
var errReplaced = errors.New("it was taken out of " + configName + ", or changed there; if it is still there, call again")

// Reload reads the file of servers: new servers are added, those that are gone
// are removed with their tools, changed ones are replaced. If the file as a whole
// is wrong, the servers stay as they were, and Problems and the log say so. If it
// did not change since, nor what a person accepted, nothing happens.
func (m *Mounts) Reload() {
	m.reloading.Lock()
	defer m.reloading.Unlock()
	if m.mounted || m.life.Err() != nil {
		return
	}
	stamp := m.options.Trust.Stamp() // before the answers that are read below
	text, err := m.readConfig()
	seen := string(text)
	if err != nil {
		seen = err.Error()
	}
	seen += "\n" + stamp
	if m.seen == seen {
		return
	}
	opened := m.seen != ""
	m.seen = seen
	var all []entry
	if err == nil {
		all, err = entries(configName, text)
	}
	if err != nil {
		m.forget()
		m.problem(err)
		return
	}
	m.take(all)
	for _, each := range m.all() {
		if opened && each.untrusted != nil { // at the start whoever opens says it of all that is not used
			m.options.Logger.Warn("a server is not used", "server", each.entry.name, "reason", each.untrusted.Message())
		}
	}
}

// take makes the servers those of the file.
func (m *Mounts) take(all []entry) {
	m.forget()
	held, lockErr := readLock(m.options.Root)
	if lockErr != nil {
		held = &lockFile{}
	}
	var kept []*server
	for _, each := range m.all() {
		if i := slices.IndexFunc(all, func(e entry) bool {
			return reflect.DeepEqual(e, each.entry) && reflect.DeepEqual(m.untrusted(e), each.untrusted)
		}); i >= 0 {
			kept = append(kept, each)
			all = slices.Delete(all, i, i+1)
			continue
		}
		each.retire(errReplaced)
		m.options.Logger.Info("a server is no longer mounted as it was", "server", each.entry.name)
	}
	m.set(kept)
	for _, each := range all {
		m.add(each, held.Servers[each.name], lockErr)
	}
}

// untrusted returns why a server may not be used that nobody accepted, or nil. A
// disabled one is not asked about.
func (m *Mounts) untrusted(each entry) *fault.Error {
	if each.wrong != nil || each.disabled {
		return nil
	}
	part, err := each.part()
	if err == nil {
		err = m.options.Trust.Require(part)
	}
	return fault.From(err)
}

// retire removes the server's engine and ends its session.
func (s *server) retire(why error) {
	s.adopting.Lock()
	defer s.adopting.Unlock()
	s.end(why)
	_ = s.registry.RemoveEngine(s.entry.name) // it is there: the name is this server's
}

// all returns the servers in the order of the file, those added last at the end.
func (m *Mounts) all() []*server {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.servers)
}

func (m *Mounts) set(servers []*server) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.servers = servers
}

// forget drops the problems of the file as it was.
func (m *Mounts) forget() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.problems = nil
}

// Seek looks for a tool that the registry does not have: it reloads the file of
// servers, and starts the servers of which nothing is trusted yet and whose name
// the tool's begins with. shown says which engines may be started. It waits as
// Discover does.
func (m *Mounts) Seek(ctx context.Context, tool string, shown func(engine string) bool) {
	m.Reload()
	var may []string
	for _, each := range m.all() {
		name := each.entry.name
		if shown(name) && claims(name, tool) {
			may = append(may, name)
		}
	}
	m.Discover(ctx, may...)
}

// claims says whether a tool's name begins with that of a server.
func claims(server, tool string) bool {
	return strings.HasPrefix(tool, server+".") || strings.HasPrefix(tool, engines.Underscored(server)+"_")
}
