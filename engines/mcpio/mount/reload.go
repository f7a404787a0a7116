package mount

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"savant/engines"
)

// errReplaced is why a server ends whose entry in the file changed or went.
var errReplaced = errors.New("it was taken out of " + configName + ", or changed there; if it is still there, call again")

// Reload reads the file of servers again if it changed: new servers are added,
// those that are gone are removed with their tools, changed ones are replaced. If
// the file as a whole is wrong, the servers stay as they were, and Problems and
// the log say so. If the file did not change, this costs one stat.
func (m *Mounts) Reload() {
	m.reloading.Lock()
	defer m.reloading.Unlock()
	now := m.fileState()
	if m.mounted || m.life.Err() != nil || sameFile(now, m.file) {
		return
	}
	if now == nil || time.Since(now.ModTime()) > tick { // it was looked at before it is read, so a change in between is seen next time
		m.file = now
	}
	all, err := m.read()
	if err != nil {
		m.forget()
		m.problem(err)
		return
	}
	m.take(all)
}

// tick is how long a file may change again without a new modification time.
const tick = 50 * time.Millisecond

// take makes the servers those of the file.
func (m *Mounts) take(all []entry) {
	m.forget()
	held, lockErr := readLock(m.options.Root)
	if lockErr != nil {
		held = &lockFile{}
	}
	var kept []*server
	for _, each := range m.all() {
		if i := slices.IndexFunc(all, func(e entry) bool { return reflect.DeepEqual(e, each.entry) }); i >= 0 {
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

// retire removes the server's engine and ends its session.
func (s *server) retire(why error) {
	s.adopting.Lock()
	defer s.adopting.Unlock()
	s.end(why)
	_ = s.registry.RemoveEngine(s.entry.name) // it is there: the name is this server's
}

// fileState returns what sameFile compares; nil: there is no file.
func (m *Mounts) fileState() fs.FileInfo {
	info, err := m.options.Root.Stat(configName)
	if err != nil {
		return nil
	}
	return info
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
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
		if shown(name) && (strings.HasPrefix(tool, name+".") || strings.HasPrefix(tool, engines.Underscored(name)+"_")) {
			may = append(may, name)
		}
	}
	m.Discover(ctx, may...)
}
