package sessions

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/think/gate"
	"savant/think/state"
)

// The files of the gate, below SAVANT_PATH. Each session has one that is replaced
// whole, and one lock orders who changes them.
const (
	folder = ownfolder.State + "/hooks"
	suffix = ".json"
)

// Home is the folder of the gate's files. Its name is the identity of the folder that it is
// in: some clients' sessions have ids that anybody can guess, and a clone that brings their
// files does not know the name that counts here.
func Home(root *os.Root) string {
	return path.Join(folder, cmp.Or(ownfolder.Identity(root, folder), "none"))
}

func (g *Gate) probeFolder() string { return path.Join(Home(g.root), "probes") }

func (g *Gate) lockName() string { return path.Join(Home(g.root), ".lock") }

// format is the version of a session's file; a newer one is not read.
const format = 1

// session is one conversation of a client, with the runs that it planned or continued.
type session struct {
	Format  int    `json:"format"`
	Client  string `json:"client"`
	Session string `json:"session"`
	// Prefixes are the client's prefixes of this server's tool names.
	Prefixes []string `json:"prefixes"`
	Pairs    []*pair  `json:"runs"`
	// Plans are calls of think.plan that the session is about to make.
	Plans []plan `json:"plans,omitempty"`
}

// pair binds a run to the session.
type pair struct {
	Run gate.Run `json:"run"`
	// Mark is up to where the run's records were read.
	Mark state.Mark `json:"mark"`
	// Seen is when the session last called Think for the run; long after, it is
	// forgotten.
	Seen  time.Time  `json:"seen"`
	Stops gate.Stops `json:"stops"`
	// Asked are the steps of announced calls of think.next that Continued has not
	// consumed.
	Asked []string `json:"asked,omitempty"`
	// Refused counts the refusals since the run's last progress, and Unrecorded those
	// that no record counts yet.
	Refused    int `json:"refused,omitempty"`
	RefusedAt  int `json:"refused_at,omitempty"`
	Unrecorded int `json:"unrecorded,omitempty"`
}

func (p *pair) key() state.Key { return state.Key{Workflow: p.Run.Workflow, Run: p.Run.ID} }

// expiry is how long a session may not call Think for a run before the run is forgotten.
const expiry = 12 * time.Hour

// maxPairs and maxPrefixes bound a session's file.
const (
	maxPairs    = 32
	maxPrefixes = 4
	maxAsked    = 16
)

func (g *Gate) fileOf(client, session string) string {
	return path.Join(Home(g.root), client+"-"+jsonvalue.HexSum([]byte(client + "\x00" + session))[:24]+suffix)
}

// load reads the session of an event, or nil.
func (g *Gate) load(name string) (*session, error) {
	info, err := g.root.Lstat(name)
	if absent(err) {
		return nil, nil
	}
	if err == nil && !readable(info) {
		return nil, fault.New(fault.StateCorrupt, "%s is not a file of at most %d MB", name, maxFile>>20)
	}
	data, err := regular.ReadFile(g.root, name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ownfolder.NotRead(name, err)
	}
	read := new(session)
	if err := jsonvalue.UnmarshalStored(data, read); err != nil || read.Format != format || slices.Contains(read.Pairs, nil) {
		return nil, fault.New(fault.StateCorrupt, "%s cannot be read", name)
	}
	return read, nil
}

// save replaces the file of a session, or removes it where it says nothing. A crash of
// the machine may lose the last change, so nothing is synced: the pair is learnt again
// from the next event of Think.
func (g *Gate) save(name string, s *session) error {
	if len(s.Pairs)+len(s.Plans) == 0 {
		if err := g.root.RemoveAll(name); err != nil { // a clone can bring a folder of this name
			return ownfolder.NotSaved(name, err)
		}
		return nil
	}
	return g.replace(name, s)
}

func (g *Gate) replace(name string, value any) error {
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return fault.New(fault.Internal, "encoding %s: %w", name, err)
	}
	if err := atomicfile.Replace(atomicfile.Root(g.root), name, data, 0o600, atomicfile.Lazy); err != nil {
		return ownfolder.NotSaved(name, err)
	}
	return nil
}

// mkdir makes the folders of the gate.
func (g *Gate) mkdir() error {
	for _, each := range []func() string{func() string { return ownfolder.State }, func() string { return folder }, func() string { return Home(g.root) }, g.probeFolder} {
		name := each() // known when the folder above is there
		if err := ownfolder.Mkdir(g.root, name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return ownfolder.NotSaved(name, err)
		}
	}
	return nil
}

// locked runs work while no other process changes the gate's files.
func (g *Gate) locked(ctx context.Context, work func() error) error {
	if name := g.displaced(); name != "" {
		return fault.New(fault.StateCorrupt, "%s is something else than Savant makes under this name, so no run can be kept for the hooks", name)
	}
	lockName := g.lockName()
	file, err := regular.Open(g.root, lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = g.mkdir(); err != nil {
			return err
		}
		lockName = g.lockName()
		file, err = regular.Open(g.root, lockName, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return ownfolder.NotSaved(lockName, err)
	}
	defer func() { _ = file.Close() }() // and with it the lock
	if err := filelock.Wait(ctx, func() (bool, error) { return filelock.TryLock(file, true) }); err != nil {
		return fault.New(fault.StateConflict, "%s: another process has held its lock for too long: %w", lockName, err)
	}
	return work()
}

// learn notes that the session calls Think under a prefix.
func (s *session) learn(prefix string) {
	if prefix == "" || slices.Contains(s.Prefixes, prefix) {
		return
	}
	s.Prefixes = append(s.Prefixes, prefix)
	if len(s.Prefixes) > maxPrefixes {
		s.Prefixes = s.Prefixes[1:]
	}
}

// pair binds a run to the session, or renews the binding. After the expiry the binding
// starts anew, so that earlier held ends of turn do not count. INVALID_PARAMS if the session
// has too many: no open run is forgotten for another.
func (s *session) pair(key state.Key, at time.Time) error {
	for _, each := range s.Pairs {
		if each.key() == key {
			if at.Sub(each.Seen) > expiry {
				each.Stops = gate.Stops{}
			}
			each.Seen = at
			return nil
		}
	}
	if len(s.Pairs) >= maxPairs {
		return full()
	}
	s.Pairs = append(s.Pairs, &pair{Run: gate.Run{Workflow: key.Workflow, ID: key.Run}, Seen: at})
	return nil
}

// full is the error of a session that begins one run more than it may have.
func full() error {
	return fault.New(fault.InvalidParams, "this session has %d open runs; finish one of them first", maxPairs)
}

// sessionFiles lists the files of all sessions.
func (g *Gate) sessionFiles() ([]string, error) {
	home := Home(g.root)
	entries, err := regular.ReadDir(g.root, home)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, ownfolder.NotRead(home, err)
	}
	var found []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffix) && !strings.HasPrefix(entry.Name(), ".") {
			found = append(found, path.Join(home, entry.Name()))
		}
	}
	return found, nil
}

// each locks the gate's files and visits those of all sessions: what each has, or why it
// cannot be read. It stops at the first error.
func (g *Gate) each(ctx context.Context, visit func(name string, s *session, damaged error) error) error {
	names, err := g.sessionFiles()
	if err != nil || len(names) == 0 {
		return err
	}
	return g.locked(ctx, func() error {
		for _, name := range names {
			if s, err := g.load(name); s != nil || err != nil { // else it was removed
				if err := visit(name, s, err); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
