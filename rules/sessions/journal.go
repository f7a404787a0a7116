package sessions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/journal"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/rules"
	"savant/think/flow"
)

const (
	folder   = ownfolder.State + "/rules"
	lockFile = folder + "/lock"
	ending   = ".journal"
)

// home is the folder of the journals. Its name is the identity of the folder that it is in:
// calls that a clone brings are no evidence, and no session's.
func (j *journals) home() string {
	return path.Join(folder, cmp.Or(ownfolder.Identity(j.root, folder), "none"))
}

// The kinds of records.
const (
	kindCall    = "call"    // it is about to be made
	kindEnd     = "end"     // it ended
	kindRefused = "refused" // it was not made
	kindAsked   = "asked"   // a person has to approve it
	kindAnswer  = "answer"  // a person did, or declined
)

// record is one line of a session's journal. Call names a call within it.
type record struct {
	Kind    string          `json:"kind"`
	Call    string          `json:"call,omitempty"`
	Process string          `json:"process,omitempty"`
	Session string          `json:"session,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Input   map[string]any  `json:"input,omitempty"`
	Time    int64           `json:"time,omitempty"`
	Witness string          `json:"witness,omitempty"`
	Outcome rules.Outcome   `json:"outcome,omitempty"`
	Result  any             `json:"result,omitempty"`
	Receipt string          `json:"receipt,omitempty"`
	Rules   []rules.Summary `json:"rules,omitempty"`
	Uses    []rules.Use     `json:"uses,omitempty"`
	// Runs are those whose workflows have rules about the call.
	Runs []rules.Run `json:"runs,omitempty"`
	// Set names the rules that judged the call.
	Set string `json:"set,omitempty"`
	// Question names what a person is asked about the call, and Texts are the questions.
	Question string   `json:"question,omitempty"`
	Texts    []string `json:"texts,omitempty"`
	// Scope names the approval of a run that covered the call.
	Scope string `json:"scope,omitempty"`
	// Grant is how far the answer reaches, none where the person declined, and By is how
	// the person was asked.
	Grant *flow.Grant `json:"grant,omitempty"`
	By    string      `json:"by,omitempty"`

	// Order is where the record stands among those of all sessions, where that is not Time: in
	// the same millisecond, or after a clock was set back.
	Order int64 `json:"order,omitempty"`

	passed int // the calls of the session before it that were left out
}

// journals are the calls of a folder, a file for each session. They are shared with other
// processes: one reads and writes them under their lock.
type journals struct {
	root *os.Root
	read map[string]int64 // how far each file was read
	last int64            // the order of the last record
	kept string           // the rules that were kept last
	// sizes are those of the files that names listed, and glance leaves out records; nil: none.
	sizes  map[string]int64
	glance *glance
}

// glance reads records for one decision: those of calls that cannot change it are left out.
type glance struct {
	traces []rules.Trace
	calls  map[string]bool // that are not left out
}

// Every record of a call, and of its end, begins so.
const (
	callStart = `{"kind":"` + kindCall + `","call":"`
	endStart  = `{"kind":"` + kindEnd + `","call":"`
)

// passes reports whether a record is left out, and how many calls it is. One that the disk lost
// a part of is not: it may have been any call.
func (g *glance) passes(line []byte) (passes bool, calls int) {
	rest, ends := bytes.CutPrefix(line, []byte(endStart))
	rest, begins := bytes.CutPrefix(rest, []byte(callStart))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	switch {
	case ends:
		return !g.calls[string(name)], 0
	case begins && line[len(line)-1] == '}' && bytes.IndexByte(line, 0) < 0 && !slices.ContainsFunc(g.traces, func(each rules.Trace) bool {
		return bytes.Contains(line, []byte(each.Member)) && bytes.Contains(line, []byte(each.Tool))
	}):
		return true, 1
	}
	g.calls[string(name)] = true
	return false, 0
}

func (j *journals) fileOf(session string) string {
	return j.home() + "/" + jsonvalue.HexSum([]byte(session))[:32] + ending
}

// locked runs work under the lock, after visit got what other processes wrote: of one
// session, or also of all others that changed since a time.
func (j *journals) locked(ctx context.Context, session string, all bool, since time.Time, visit func(record), work func() error) error {
	lock, err := regular.Open(j.root, lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		for _, each := range []string{ownfolder.State, folder} {
			if err := ownfolder.Mkdir(j.root, each, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return ownfolder.NotSaved(each, err)
			}
		}
		lock, err = regular.Open(j.root, lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return ownfolder.NotSaved(lockFile, err)
	}
	defer lock.Close() // and with it the lock
	if err := ownfolder.Mkdir(j.root, j.home(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return ownfolder.NotSaved(j.home(), err)
	}
	if err := filelock.Acquire(ctx, lockFile, func() (bool, error) { return filelock.TryLock(lock, true) }); err != nil {
		return err
	}
	own, names := j.fileOf(session), []string{}
	j.sizes = nil // those of an earlier time say nothing
	if all {
		if names, err = j.names(since); err != nil {
			return err
		}
	}
	if !slices.Contains(names, own) {
		names = append(names, own)
	}
	if err := j.follow(names, visit); err != nil {
		return err
	}
	return work()
}

// names lists the files of all sessions that changed since a time.
func (j *journals) names(since time.Time) ([]string, error) {
	home := j.home()
	entries, err := fs.ReadDir(j.root.FS(), home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ownfolder.NotRead(home, err)
	}
	var names []string
	j.sizes = map[string]int64{}
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ending {
			continue
		}
		name := home + "/" + entry.Name()
		info, err := entry.Info()
		if err == nil {
			j.sizes[name] = info.Size()
		}
		if since.IsZero() || err != nil || info.ModTime().After(since) {
			names = append(names, name)
		}
	}
	return names, nil
}

// follow reads what was added to files, in the order of time.
func (j *journals) follow(names []string, visit func(record)) error {
	var added []*record
	for _, name := range names {
		if size, known := j.sizes[name]; known && size == j.read[name] {
			continue
		}
		latest := int64(0)
		err := j.followOne(name, func(read record) {
			latest = cmp.Or(read.Order, max(latest, read.Time)) // also of a record that has no order
			read.Time, read.Order = cmp.Or(read.Time, latest), latest
			j.last = max(j.last, latest)
			added = append(added, &read)
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(added, func(a, b *record) int { return cmp.Compare(a.Order, b.Order) })
	for _, each := range added {
		visit(*each)
	}
	return nil
}

func (j *journals) followOne(name string, visit func(record)) error {
	file, err := regular.Open(j.root, name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) && j.read[name] == 0 {
		return nil
	}
	if err != nil {
		return ownfolder.NotRead(name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ownfolder.NotRead(name, err)
	}
	if info.Size() < j.read[name] {
		return fault.New(fault.StateCorrupt, "%s is shorter than it was", name)
	}
	if j.glance != nil { // a record that is left out may be the last one
		j.last = max(j.last, info.ModTime().UnixMilli())
	}
	passed := 0
	return journal.Read(file, j.read[name], info.Size(), json.Valid, func(line []byte) error {
		var read record
		if j.glance != nil {
			if passes, calls := j.glance.passes(line); passes {
				passed += calls
				j.read[name] += int64(len(line)) + 1
				return nil
			}
		}
		if err := jsonvalue.UnmarshalStored(line, &read); err != nil || read.Kind == "" {
			return fault.New(fault.StateCorrupt, "%s, at byte %d, is not a record of a call: move the file away", name, j.read[name])
		}
		read.passed, passed = passed, 0
		visit(read)
		j.read[name] += int64(len(line)) + 1
		return nil
	})
}

// append writes one record at the end of a session's file, in place of a torn one.
func (j *journals) append(session string, added record) error {
	name := j.fileOf(session)
	if added.Time <= j.last {
		added.Order = j.last + 1
	}
	line, err := jsonvalue.Encode(added)
	if err != nil {
		return fault.New(fault.Internal, "encoding a call: %w", err)
	}
	file, err := regular.Open(j.root, name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return ownfolder.NotSaved(name, err)
	}
	defer file.Close() // what it wrote was synced
	end := j.read[name]
	if info, err := file.Stat(); err == nil && info.Size() > end {
		if err := file.Truncate(end); err != nil {
			return ownfolder.NotSaved(name, err)
		}
	}
	if err := journal.Append(file, end, append(line, '\n'), true); err != nil {
		return ownfolder.NotSaved(name, err)
	}
	j.read[name] += int64(len(line)) + 1
	j.last = max(j.last+1, added.Time)
	at := time.UnixMilli(j.last) // what was changed when says which files are read
	_ = j.root.Chtimes(name, at, at)
	return nil
}

func setName(digest string) string { return folder + "/" + digest + ".rules" }

// keep keeps the rules that judge, so that their decisions can be computed again.
func (j *journals) keep(all sources, digest string) error {
	if j.kept == digest {
		return nil
	}
	name := setName(digest)
	if _, err := j.root.Lstat(name); err != nil {
		text, err := jsonvalue.Encode(all)
		if err == nil {
			err = atomicfile.Write(j.root, name, text, 0o600)
		}
		if err != nil {
			return ownfolder.NotSaved(name, err)
		}
	}
	j.kept = digest
	return nil
}

// keptFor is how long the calls of a session are kept after its last one.
const keptFor = 90 * 24 * time.Hour

// prune removes the files of sessions that ended long ago, and then the rules of that time by which
// no call that is left was judged.
func (j *journals) prune(now time.Time) error {
	names, err := j.names(time.Time{})
	if err != nil {
		return err
	}
	if _, err := j.removeOld(names, now, nil); err != nil {
		return err
	}
	sets, err := fs.Glob(j.root.FS(), setName("*"))
	if err != nil {
		return err
	}
	old, err := j.removeOld(sets, now, func(string) bool { return true })
	if err != nil || len(old) == 0 { // nothing is read for it
		return err
	}
	all, err := readAll(j.root)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, each := range all {
		used[setName(each.Set)] = true
	}
	kept, err := j.removeOld(old, now, func(name string) bool { return used[name] })
	for _, name := range kept { // all calls are not read again for it at every start
		err = errors.Join(err, j.root.Chtimes(name, now, now))
	}
	return err
}

// removeOld removes files that were not changed for long, and returns those of them that it keeps.
func (j *journals) removeOld(names []string, now time.Time, keeps func(name string) bool) (old []string, err error) {
	for _, name := range names {
		info, err := j.root.Lstat(name)
		if err != nil || now.Sub(info.ModTime()) <= keptFor {
			continue
		}
		if keeps != nil && keeps(name) {
			old = append(old, name)
		} else if err := j.root.Remove(name); err != nil {
			return nil, ownfolder.NotSaved(name, err)
		}
	}
	return old, nil
}
