package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"savant/fault"
	"savant/internal/filelock"
	"savant/internal/journal"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/rules"
)

const (
	folder    = ownfolder.State + "/rules"
	callsFile = folder + "/calls.journal"
)

// The kinds of records.
const (
	kindCall    = "call"    // it is about to be made
	kindEnd     = "end"     // it ended
	kindRefused = "refused" // it was not made
)

// record is one line of the journal. Call names a call within it.
type record struct {
	Kind    string          `json:"kind"`
	Call    string          `json:"call,omitempty"`
	Process string          `json:"process,omitempty"`
	Session string          `json:"session,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Input   map[string]any  `json:"input,omitempty"`
	Time    int64           `json:"time,omitempty"`
	Witness string          `json:"witness,omitempty"`
	Outcome string          `json:"outcome,omitempty"`
	Result  any             `json:"result,omitempty"`
	Receipt string          `json:"receipt,omitempty"`
	Rules   []rules.Summary `json:"rules,omitempty"`
	Uses    []use           `json:"uses,omitempty"`
}

// use says which call served a rule as evidence.
type use struct {
	Rule     string `json:"rule"`
	Evidence string `json:"evidence"`
	At       int    `json:"at"`
	Receipt  string `json:"receipt,omitempty"`
}

var outcomes = map[rules.Outcome]string{rules.Unknown: "unknown", rules.Succeeded: "succeeded", rules.Failed: "failed"}

func outcomeOf(text string) rules.Outcome {
	for outcome, name := range outcomes {
		if name == text {
			return outcome
		}
	}
	return rules.Unknown
}

// lines is the journal of a folder's calls. It is shared with other processes: one reads
// and writes it under its lock.
type lines struct {
	root *os.Root
	end  int64 // how far it was read
}

// locked opens the journal, follows what other processes wrote, and runs work.
func (l *lines) locked(ctx context.Context, visit func(record) error, work func(*os.File) error) error {
	file, err := regular.Open(l.root, callsFile, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		for _, each := range []string{ownfolder.State, folder} {
			if err := ownfolder.Mkdir(l.root, each, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return ownfolder.NotSaved(each, err)
			}
		}
		file, err = regular.Open(l.root, callsFile, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return ownfolder.NotSaved(callsFile, err)
	}
	defer file.Close() // and with it the lock
	if err := filelock.Acquire(ctx, callsFile, func() (bool, error) { return filelock.TryLock(file, true) }); err != nil {
		return err
	}
	if err := l.follow(file, visit); err != nil {
		return err
	}
	return work(file)
}

// follow reads the records after those that were read.
func (l *lines) follow(file *os.File, visit func(record) error) error {
	info, err := file.Stat()
	if err != nil {
		return ownfolder.NotRead(callsFile, err)
	}
	if info.Size() < l.end {
		return fault.New(fault.StateCorrupt, "%s is shorter than it was", callsFile)
	}
	return journal.Read(file, l.end, info.Size(), json.Valid, func(line []byte) error {
		var read record
		if err := jsonvalue.UnmarshalStored(line, &read); err != nil {
			return fault.New(fault.StateCorrupt, "%s, at byte %d, is not a record of a call", callsFile, l.end)
		}
		if err := visit(read); err != nil {
			return err
		}
		l.end += int64(len(line)) + 1
		return nil
	})
}

// append writes one record at the end, in place of a torn one.
func (l *lines) append(file *os.File, added record) error {
	line, err := jsonvalue.Encode(added)
	if err != nil {
		return fault.New(fault.Internal, "encoding a call: %w", err)
	}
	if info, err := file.Stat(); err == nil && info.Size() > l.end {
		if err := file.Truncate(l.end); err != nil {
			return ownfolder.NotSaved(callsFile, err)
		}
	}
	if err := journal.Append(file, l.end, append(line, '\n'), true); err != nil {
		return ownfolder.NotSaved(callsFile, err)
	}
	l.end += int64(len(line)) + 1
	return nil
}
