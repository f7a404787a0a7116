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

// errReplaced is why a server ends whose entry was changed or removed.
var errReplaced = errors.New("it was removed from " + File + " or changed there; if it is still there, call again")

// Reload reads the file of servers: it adds new servers, removes missing ones with
// their tools, and replaces changed ones. If the file as a whole is wrong, the servers
// stay, and Problems and the log say so. If neither the file nor the accepted parts
// have changed, it does nothing.
func (m *Mounts) Reload() {
	m.reloading.Lock()
	defer m.reloading.Unlock()
	if m.mounted || m.life.Err() != nil {
		return
	}
	stamp := m.options.Trust.Stamp() // before the answers that are read below
	text, err := readConfig(m.options.Root)
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
		all, err = entries(text)
	}
	if err != nil {
		m.forget()
		m.problem(err)
		return
	}
	m.take(all)
	for _, each := range m.all() {
		if opened && each.untrusted != nil { // at the start the caller of Open reports all unaccepted parts
			m.options.Logger.Warn("a server is not used", "server", each.entry.name, "reason", each.untrusted.Message())
		}
	}
}

// take replaces the servers by those of the file.
func (m *Mounts) take(all []entry) {
	m.forget()
	var names []string
	for _, each := range all {
		names = append(names, each.name)
	}
	file, lockErr := readLock(m.options.Root)
	if lockErr != nil {
		file = &lockFile{}
	}
	var servers []*server
	for _, each := range m.all() {
		if i := slices.IndexFunc(all, func(e entry) bool {
			return reflect.DeepEqual(e, each.entry) && reflect.DeepEqual(m.untrusted(e), each.untrusted)
		}); i >= 0 {
			servers = append(servers, each)
			all = slices.Delete(all, i, i+1)
			continue
		}
		each.retire(errReplaced)
		m.options.Logger.Info("a server's entry was removed or changed", "server", each.entry.name)
	}
	m.set(servers)
	for _, each := range all {
		m.add(each, names, file.Servers[each.name], lockErr)
	}
}

// untrusted returns ENGINE_OFFLINE for a server that nobody accepted, else nil. A
// disabled server needs no acceptance.
func (m *Mounts) untrusted(each entry) *fault.Error {
	if each.wrong != nil || each.disabled {
		return nil
	}
	part, err := each.part(m.options.Path)
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
	_ = s.registry.RemoveEngine(s.entry.name) // it exists: the name is this server's
}

// all returns the servers in the order of the file, later additions last.
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

// forget drops the problems of the previous file.
func (m *Mounts) forget() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.problems = nil
}

// Seek looks for a tool that the registry does not have. It reloads the file of servers
// and starts those without trusted definitions whose name is the prefix of the tool's.
// shown says which engines may be started. It waits as Discover does.
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

// claims reports whether a tool's name begins with a server's.
func claims(server, tool string) bool {
	return strings.HasPrefix(tool, server+".") || strings.HasPrefix(tool, engines.Underscored(server)+"_")
}
