package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Questions note in a folder of the user's what the servers of this user asked, a file for
// each question. Only those who can write there can say that a question was asked.
type Questions struct {
	// Folder has the notes. It is made if it is absent.
	Folder string
	// Project is the folder that is served: a question of one is none of another.
	Project string
}

const (
	// forgotten is after how long a note is removed. It is longer than any question waits.
	forgotten = time.Hour
	// maxNotes bounds the notes, which are all looked at for each question.
	maxNotes = 10_000
)

// Asked notes a question: STATE_NOT_SAVED.
func (q Questions) Asked(_ context.Context, question string) error {
	err := os.MkdirAll(q.Folder, 0o700)
	if err == nil {
		err = q.forget()
	}
	if err == nil {
		var note *os.File
		if note, err = os.OpenFile(q.note(question), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			err = note.Close()
		}
	}
	if err != nil {
		return fault.New(fault.StateNotSaved, "a question was not noted in %s: %w", q.Folder, fault.WithoutPath(err))
	}
	return nil
}

// Take reports whether a question was asked within a time and not taken since, and takes
// it. Of several servers that take it at once, one does. STATE_NOT_SAVED.
func (q Questions) Take(_ context.Context, question string, within time.Duration) (bool, error) {
	info, err := os.Lstat(q.note(question))
	if err == nil {
		err = os.Remove(q.note(question))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fault.New(fault.StateNotSaved, "an answered question was not noted in %s: %w", q.Folder, fault.WithoutPath(err))
	}
	return time.Since(info.ModTime()) < within, nil
}

func (q Questions) note(question string) string {
	return filepath.Join(q.Folder, jsonvalue.HexSum(fmt.Appendf(nil, "%d %s%s", len(q.Project), q.Project, question)))
}

// forget removes the notes of questions that nobody answered, and refuses more than are kept.
func (q Questions) forget() error {
	entries, err := os.ReadDir(q.Folder)
	left := 0
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > forgotten {
			_ = os.Remove(filepath.Join(q.Folder, entry.Name())) // it counts no more either way
		} else {
			left++
		}
	}
	if err == nil && left >= maxNotes {
		err = fmt.Errorf("%d questions wait there already", left)
	}
	return err
}
