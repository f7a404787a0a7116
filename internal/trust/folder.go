package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
)

// Folder holds the answers about the parts of one folder, and notices changes by other
// processes. A nil Folder accepts everything: it is for programs that bring their own
// files, and for tests. It is safe for concurrent use.
type Folder struct {
	// Path is the folder, with links resolved.
	Path string
	keep string // the folder of the files; empty: there is none

	mutex   sync.Mutex
	allowed map[string]bool // by key: what the environment accepts
	info    fs.FileInfo     // of the file when it was read; nil for none
	held    answersFile
	failed  error // why what was said is not known
}

// answersFile is the file with the answers about one folder.
type answersFile struct {
	Version int `json:"version"` // 1
	// Folder is for a person who looks at the file.
	Folder  string   `json:"folder"`
	Answers []answer `json:"answers"`
}

// answer is the answer about a part with this content.
type answer struct {
	Kind   Kind      `json:"kind"`
	Name   string    `json:"name"`
	Digest string    `json:"digest"`
	Answer Answer    `json:"answer"`
	At     time.Time `json:"at"`
	// Programs are those of the part, apart from what Except names.
	Programs map[string]string `json:"programs,omitempty"`
	Except   []string          `json:"except,omitempty"`
}

// covers reports whether the answer is about this content of a part. A program that is gone
// changes nothing that runs.
func (a answer) covers(p Part) bool {
	if a.Kind != p.Kind || a.Name != p.Name || a.Digest != p.Digest {
		return false
	}
	for name, digest := range p.Programs {
		if a.Programs[name] != digest && !excepted(a.Except, name) {
			return false
		}
	}
	return true
}

// maxKept is the maximum size of the file in bytes. maxAnswers is how many contents of
// one part are remembered, so that changing the branch asks nothing again.
const (
	maxKept    = 16 << 20
	maxAnswers = 20
)

// Open returns the answers about a folder. configuration is the user's configuration
// folder; if it is empty, or if the folder's author could bring it, nothing is accepted.
func Open(configuration, path string) *Folder {
	f := &Folder{Path: Resolved(path), allowed: map[string]bool{}}
	if configuration != "" {
		f.keep = filepath.Join(configuration, "savant", "trust")
	}
	if f.keep != "" && regular.Controls(f.Path, filepath.Join(f.keep, f.name())) {
		f.keep = ""
	}
	return f
}

// Resolved returns the absolute path without links, as far as the path exists.
func Resolved(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if target, err := filepath.EvalSymlinks(absolute); err == nil {
		return target
	}
	return absolute
}

func (f *Folder) name() string {
	return jsonvalue.HexSum([]byte(f.Path))[:32] + ".json"
}

func key(p Part) string { return Digest([]Part{p}) }

// Allow accepts parts for this process only.
func (f *Folder) Allow(parts ...Part) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, each := range parts {
		f.allowed[key(each)] = true
	}
}

// AnswerTo returns the answer about a part.
func (f *Folder) AnswerTo(part Part) Answer {
	said, _ := f.answerOf(part)
	return said
}

// answerOf is Said, with the error if the answers cannot be read.
func (f *Folder) answerOf(part Part) (Answer, error) {
	if f == nil {
		return Accepted, nil
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.allowed[key(part)] {
		return Accepted, nil
	}
	f.read()
	said := Unsaid
	for _, each := range f.held.Answers {
		switch {
		case each.Kind != part.Kind || each.Name != part.Name:
		case each.covers(part):
			return each.Answer, nil
		case each.Answer == Accepted:
			said = Changed
		}
	}
	return said, f.failed
}

// Accepts reports whether a part may be used.
func (f *Folder) Accepts(part Part) bool { return f.AnswerTo(part) == Accepted }

// Require returns nil if a part may be used, else TRUST_REQUIRED with the reason.
func (f *Folder) Require(part Part) error {
	said, failed := f.answerOf(part)
	switch {
	case said == Accepted:
		return nil
	case failed != nil:
		return fault.New(fault.TrustRequired, "%s is not used: %w", part, failed).Hinted(Hint())
	}
	return required(part, said)
}

// Stamp changes when the answers may have changed.
func (f *Folder) Stamp() string {
	if f == nil || f.keep == "" {
		return ""
	}
	info, err := os.Stat(filepath.Join(f.keep, f.name()))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.ModTime().UnixNano(), info.Size())
}

// read reads the file if it changed; the mutex is held. An unreadable file accepts
// nothing.
func (f *Folder) read() {
	if f.keep == "" {
		f.failed = errNoFolder
		return
	}
	info, err := os.Stat(filepath.Join(f.keep, f.name()))
	if err == nil && f.info != nil && os.SameFile(info, f.info) && info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size() {
		return
	}
	f.info, f.held, f.failed = nil, answersFile{}, nil
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		f.held, err = readKept(filepath.Join(f.keep, f.name()))
	}
	if err != nil {
		f.failed = fmt.Errorf("the answers of savant trust cannot be read: %w", fault.WithoutPath(err))
		return
	}
	f.info = info
}

var errNoFolder = errors.New("there is no folder for the answers of savant trust: set XDG_CONFIG_HOME or HOME to an absolute path outside of SAVANT_PATH and its repository")

func readKept(file string) (held answersFile, err error) {
	data, err := regular.ReadPath(file, maxKept)
	if err == nil {
		err = json.Unmarshal(data, &held)
	}
	if err == nil && held.Version != 1 {
		err = fmt.Errorf("its version is %d, and this Savant knows 1", held.Version)
	}
	if err != nil {
		return answersFile{}, err
	}
	return held, nil
}

// Accept stores that a person accepted parts. The error is STATE_NOT_SAVED.
func (f *Folder) Accept(parts ...Part) error { return f.say(Accepted, parts) }

// Refuse stores that a person refused parts. The error is STATE_NOT_SAVED.
func (f *Folder) Refuse(parts ...Part) error { return f.say(Refused, parts) }

func (f *Folder) say(said Answer, parts []Part) error {
	now := time.Now().UTC().Truncate(time.Second)
	return f.edit(func(answers []answer) []answer {
		for _, part := range parts {
			if len(part.Except) == 0 {
				part.Except = except(answers, part)
			}
			answers = slices.DeleteFunc(answers, func(a answer) bool { return a.covers(part) })
			answers = append(answers, answer{Kind: part.Kind, Name: part.Name, Digest: part.Digest, Answer: said, At: now, Programs: part.Programs, Except: part.Except})
			answers = latest(answers, part)
		}
		return answers
	})
}

// except returns the patterns of the latest yes to a part, whatever its content: they stay
// until others are given.
func except(answers []answer, part Part) []string {
	for _, each := range slices.Backward(answers) {
		if each.Kind == part.Kind && each.Name == part.Name && each.Answer == Accepted {
			return each.Except
		}
	}
	return nil
}

// Pinned returns the programs of a part that may not change.
func (f *Folder) Pinned(part Part) map[string]string {
	if f == nil || len(part.Programs) == 0 {
		return part.Programs
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.read()
	patterns := except(f.held.Answers, part)
	pinned := maps.Clone(part.Programs)
	maps.DeleteFunc(pinned, func(name, _ string) bool { return excepted(patterns, name) })
	return pinned
}

// latest drops the oldest answers about a part beyond the limit.
func latest(answers []answer, part Part) []answer {
	same := func(a answer) bool { return a.Kind == part.Kind && a.Name == part.Name }
	for count := len(slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return !same(a) })); count > maxAnswers; count-- {
		at := slices.IndexFunc(answers, same)
		answers = slices.Delete(answers, at, at+1)
	}
	return answers
}

// Forget removes the answers about the parts with these IDs, or all answers without
// any, and returns the number of parts.
func (f *Folder) Forget(ids ...string) (int, error) {
	gone := map[string]bool{}
	err := f.edit(func(answers []answer) []answer {
		return slices.DeleteFunc(answers, func(a answer) bool {
			id := Part{Kind: a.Kind, Name: a.Name}.ID()
			drop := len(ids) == 0 || slices.Contains(ids, id)
			if drop {
				gone[id] = true
			}
			return drop
		})
	})
	return len(gone), err
}

// AnsweredIDs returns the sorted IDs of the parts with an answer.
func (f *Folder) AnsweredIDs() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.read()
	var ids []string
	for _, each := range f.held.Answers {
		ids = append(ids, Part{Kind: each.Kind, Name: each.Name}.ID())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// edit changes the file under a lock between processes.
func (f *Folder) edit(change func([]answer) []answer) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	err := f.write(change)
	if err != nil && !errors.As(err, new(*fault.Error)) {
		return fault.New(fault.StateNotSaved, "the answers of savant trust could not be saved in %s: %w", filepath.Join(f.keep, f.name()), fault.WithoutPath(err))
	}
	return err
}

func (f *Folder) write(change func([]answer) []answer) error {
	if f.keep == "" {
		return fault.New(fault.StateNotSaved, "%w", errNoFolder)
	}
	if err := os.MkdirAll(f.keep, 0o700); err != nil {
		return err
	}
	root, err := regular.OpenFolder(f.keep)
	if err != nil {
		return err
	}
	defer root.Close()
	guard, err := root.OpenFile("lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer guard.Close()
	if err := filelock.Acquire(context.Background(), "what is trusted", func() (bool, error) { return filelock.TryLock(guard, true) }); err != nil {
		return err
	}
	f.info = nil // read again what another process may have written in between
	f.read()
	if f.failed != nil {
		return f.failed
	}
	next := answersFile{Version: 1, Folder: f.Path, Answers: change(slices.Clone(f.held.Answers))}
	f.info = nil
	if len(next.Answers) == 0 {
		if err := root.Remove(f.name()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.MarshalIndent(next, "", " ")
	if err != nil {
		return err
	}
	return atomicfile.Write(root, f.name(), append(data, '\n'), 0o600)
}
