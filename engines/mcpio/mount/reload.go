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

// errReplaced is why a server ends that is no longer in the file as it was.
var errReplaced = errors.New("it was taken out of " + configName + ", or changed there; if it is still there, call again")

// Reload takes over the file of servers where it changed: new servers come,
// those that are gone go with their tools, changed ones are begun anew. What is
// wrong with the file as a whole leaves the servers as they were; Problems says
// so, and the log. Where the file is as it was this costs one look at it.
func (m *Mounts) Reload() {
	m.reloading.Lock()
	defer m.reloading.Unlock()
	now := m.fileState()
	if m.mounted || m.life.Err() != nil || sameFile(now, m.file) {
		return
	}
	if now == nil || time.Since(now.ModTime()) > tick { // looked at before it is read: what changes meanwhile is seen next time
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

// tick is within which a file may change again without its time telling.
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

// retire takes the server's engine away and ends what it runs.
func (s *server) retire(why error) {
	s.adopting.Lock()
	defer s.adopting.Unlock()
	s.end(why)
	_ = s.registry.RemoveEngine(s.entry.name) // it is there: the name is this server's
}

// fileState is what tells one state of the file from another; nil: there is none.
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

// all returns the servers in the order of the file, those that came last at the end.
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

// forget makes the problems those of the file as it is now.
func (m *Mounts) forget() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.problems = nil
}

// Seek looks for a tool that nobody has: in the file of servers, where that
// changed, and at the servers nothing is known of whose name the tool's begins
// with. shown says which engines may be looked at. It waits as Discover does.
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
