package state

import (
	"errors"
	"io/fs"
	"syscall"

	"savant/fault"
	"savant/internal/ownfolder"
)

// ErrNewerFormat is wrapped by the STATE_CORRUPT of a file that a newer Savant
// wrote: it is not damage, and no repair may touch it.
var ErrNewerFormat = errors.New("written by a newer Savant; upgrade to use it")

// ErrNoArtifact is wrapped by the STATE_CORRUPT of a digest that no value has.
var ErrNoArtifact = errors.New("the artifact is missing")

// errIrregular is the error of a folder, a link or a named pipe in place of a file. It
// is reported as damage, and the entry is left unchanged.
var errIrregular = errors.New("is not a regular file: move it aside, and put a copy of the file back if there is one")

// errLarge is the error of a file that is larger than those the store writes. It is
// reported like errIrregular.
var errLarge = errors.New("is larger than any file of its kind: move it aside, and put a copy of the file back if there is one")

// notOurs reports that something is in a file's place that the store did not write.
func notOurs(cause error) bool { return errors.Is(cause, errIrregular) || errors.Is(cause, errLarge) }

// notSaved reports that something could not be made durable.
func notSaved(name string, cause error) error {
	if notOurs(cause) {
		return corrupt(name, "%w", cause)
	}
	return ownfolder.NotSaved(name, cause)
}

// notRead reports that a file is there and could not be read.
func notRead(name string, cause error) error {
	if notOurs(cause) {
		return corrupt(name, "%w", cause)
	}
	return ownfolder.NotRead(name, cause)
}

// toReader makes INTERNAL of the STATE_NOT_SAVED that a reader gets when a file
// cannot be locked or synced: a reader syncs what it returns, see
// runJournal.refresh.
func toReader(name string, err error) error {
	var cause syscall.Errno
	if errors.Is(err, fault.StateNotSaved) && errors.As(err, &cause) {
		return notRead(name, cause)
	}
	return err
}

func corrupt(name, format string, args ...any) error {
	failure := fault.New(fault.StateCorrupt, format, args...)
	failure.Details = name + ": " + failure.Details
	return failure
}

// corruptRecord names the record, counting from 1.
func corruptRecord(name string, number int, what string) error {
	return corrupt(name, "record %d %s; the file is kept as it is", number, what)
}

func newer(name string, format int) error {
	return corrupt(name, "format %d (this Savant knows %d): %w", format, Format, ErrNewerFormat)
}

func unknownRun(key Key) error {
	return fault.New(fault.UnknownRun, "workflow %q has no run %q", key.Workflow, key.Run)
}

func runExists(key Key, version int) error {
	return fault.New(fault.StateConflict, "run %q of workflow %q exists, at version v%d", key.Run, key.Workflow, version)
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// absent reports that a folder does not exist, or that a file has its name.
func absent(err error) bool { return missing(err) || errors.Is(err, syscall.ENOTDIR) }

// unlisted reports that a folder shows no runs: it is absent, or a link that leads nowhere or
// out has its name. What removes files must not take that for an empty folder.
func unlisted(err error) bool { return absent(err) || ownfolder.Displaced(err) }

func exists(err error) bool { return errors.Is(err, fs.ErrExist) }

func isNewer(err error) bool { return errors.Is(err, ErrNewerFormat) }

func isCorrupt(err error) bool { return errors.Is(err, fault.StateCorrupt) }
