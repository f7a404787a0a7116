package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"savant/engines/repo/files"
	"savant/fault"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/internal/withheld"
)

// maxRead is the maximum size of a file that is read: lines are counted to its end.
const maxRead = 32 << 20

// resolvedFile is a readable file or folder, after resolving symbolic links.
type resolvedFile struct {
	root *os.Root
	name string // below root, in the system's notation
	info fs.FileInfo
}

// locate finds a caller's path in a repository. It opens only the folder, which the
// caller closes.
func (e *reader) locate(ctx context.Context, in repository, named string) (resolvedFile, error) {
	base, err := filepath.EvalSymlinks(in.folder)
	if err != nil {
		return resolvedFile{}, notOpened(in.name, err)
	}
	clean := filepath.FromSlash(path.Clean(strings.ReplaceAll(named, "\\", "/")))
	if filepath.IsAbs(clean) {
		if clean, err = filepath.Rel(in.folder, clean); err != nil {
			return resolvedFile{}, outside(named)
		}
	}
	if strings.ContainsRune(named, 0) || !filepath.IsLocal(clean) {
		return resolvedFile{}, outside(named)
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(base, clean))
	if errors.Is(err, fs.ErrNotExist) && files.NotCheckedOut(ctx, base, filepath.ToSlash(clean)).Files > 0 {
		return resolvedFile{}, fault.From(missing(named)).Hinted(fault.Hint{Text: "it is not checked out, because this is a sparse checkout; git sparse-checkout add FOLDER brings it"})
	}
	if err != nil {
		return resolvedFile{}, notFound(in, base, named, err)
	}
	way, err := filepath.Rel(base, resolved)
	if err != nil || !filepath.IsLocal(way) {
		return resolvedFile{}, outside(named)
	}
	if e.Withheld.Has(filepath.ToSlash(way)) || e.Withheld.Has(filepath.ToSlash(clean)) {
		return resolvedFile{}, withheld.DeniedError(named)
	}
	root, err := regular.OpenFolder(base)
	if err != nil {
		return resolvedFile{}, notOpened(in.name, err)
	}
	info, err := root.Stat(way)
	if err != nil {
		return resolvedFile{}, errors.Join(notFound(in, base, named, err), root.Close())
	}
	return resolvedFile{root: root, name: way, info: info}, nil
}

// notFound returns the error of a path that cannot be resolved: it does not exist, it
// is unreadable, or the whole repository is.
func notFound(in repository, base, named string, cause error) error {
	if errors.Is(cause, fs.ErrNotExist) || errors.Is(cause, syscall.ENOTDIR) {
		return missing(named)
	}
	root, err := os.Open(base)
	if err != nil {
		return notOpened(in.name, err)
	}
	_ = root.Close() // nothing was read
	return unreadable(named, cause)
}

func unreadable(named string, cause error) error {
	return fault.New(fault.ToolFailed, "path: %q cannot be read: %w", fault.Cut(named, 200), ownfolder.Reason(cause))
}

func outside(named string) error {
	return fault.New(fault.ToolDenied, "path: %q is outside the repository", fault.Cut(named, 200))
}

func missing(named string) error {
	return invalid("path", "a path that exists, relative to the repository", named)
}

// text reads a text file of a repository. Another kind of file is INVALID_PARAMS.
func (e *reader) text(ctx context.Context, in repository, named string) (string, error) {
	found, err := e.locate(ctx, in, named)
	if err != nil {
		return "", err
	}
	defer found.root.Close()
	if !found.info.Mode().IsRegular() {
		return "", invalid("path", "a file", named)
	}
	if found.info.Size() > maxRead {
		return "", fault.New(fault.LimitExceeded, "path: %q has %d bytes; at most %d are read", fault.Cut(named, 200), found.info.Size(), maxRead)
	}
	data, err := regular.ReadFile(found.root, found.name, maxRead)
	if err != nil {
		return "", invalid("path", "a file that may be read", named)
	}
	if binary(data) {
		return "", fault.New(fault.InvalidParams, "path: %q is binary (%d bytes), not text", fault.Cut(named, 200), len(data)).
			With(fault.Diagnostic{Path: "path", Expected: "a text file", Actual: fault.Cut(named, 200), Message: "the file is binary"})
	}
	if e.Withheld.Holds(named, data) {
		return "", withheld.DeniedError(named)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// probe is how much of a file decides whether it is text, as in git.
const probe = 8000

func binary(data []byte) bool {
	return strings.ContainsRune(string(data[:min(len(data), probe)]), 0)
}
