package mount

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// Names below SAVANT_PATH.
const (
	folder = ".savant"
	// File is the file of servers, below SAVANT_PATH.
	File      = ".savant/mcp.json"
	lockName  = ".savant/mcp.lock.json"
	guardName = ".savant/mcp.lock"
)

// maxLock is the maximum size of the lock file, in bytes: some 2,000 tools of a usual size.
const maxLock = 4 << 20

// lockFile is .savant/mcp.lock.json: what is trusted, by server.
type lockFile struct {
	Version int                      `json:"version"` // 1
	Servers map[string]*pinnedServer `json:"servers"`
}

// pinnedServer is what is trusted of one server.
type pinnedServer struct {
	// Tools are the definitions, by the server's own names.
	Tools map[string]pin `json:"tools"`
}

// definition returns the pin as a definition.
func (p pin) definition(name string) mcpclient.Definition {
	return mcpclient.Definition{Name: name, Raw: p.Definition}
}

// pin is one trusted definition and the digest of its encoding.
type pin struct {
	Digest     string          `json:"digest"`
	Definition json.RawMessage `json:"definition"`
}

// readLock returns what is trusted. An unreadable file is STATE_CORRUPT: trust must not
// be lost silently.
func readLock(root *os.Root) (*lockFile, error) {
	file := &lockFile{Version: 1, Servers: map[string]*pinnedServer{}}
	data, err := regular.ReadFile(root, lockName, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if errors.Is(err, regular.ErrTooLarge) {
		return nil, fault.New(fault.StateCorrupt, "%s has more than %d bytes and was not read: restore it, or remove it and trust every server again", lockName, maxLock)
	}
	if err == nil {
		err = json.Unmarshal(data, file)
	}
	if err != nil || file.Version != 1 || !file.allMatch() {
		return nil, fault.New(fault.StateCorrupt, "%s cannot be read: restore it, or remove it and trust every server again", lockName)
	}
	return file, nil
}

// allMatch reports whether every definition matches its digest.
func (l *lockFile) allMatch() bool {
	if l.Servers == nil {
		return false
	}
	for _, server := range l.Servers {
		if server == nil {
			return false
		}
		for name, each := range server.Tools {
			again, err := pinOf(each.definition(name))
			if err != nil || again.Digest != each.Digest {
				return false
			}
		}
	}
	return true
}

// pinServer changes the trust in one server, under a lock between processes. edit gets
// the current trust (nil for none) and returns the new one, or nil to leave it. A write
// error is STATE_NOT_SAVED, and nothing has changed.
func pinServer(root *os.Root, name string, edit func(*pinnedServer) *pinnedServer) error {
	err := editLock(root, name, edit)
	if err != nil && !errors.As(err, new(*fault.Error)) {
		return ownfolder.NotSaved(lockName+", which lists what is trusted of "+name+",", err)
	}
	return err
}

func editLock(root *os.Root, name string, edit func(*pinnedServer) *pinnedServer) error {
	if err := ownfolder.Mkdir(root, folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	guard, err := regular.Open(root, guardName, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer guard.Close()
	if err := filelock.Acquire(context.Background(), lockName, func() (bool, error) { return filelock.TryLock(guard, true) }); err != nil {
		return err
	}
	file, err := readLock(root)
	if err != nil {
		return err
	}
	next := edit(file.Servers[name])
	if next == nil {
		return nil
	}
	file.Servers[name] = next
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(file); err != nil {
		return err
	}
	if data.Len() > maxLock {
		return fault.New(fault.LimitExceeded, "%s may have %d bytes, and the definitions of %s do not fit: take a server out of %s", lockName, maxLock, name, File)
	}
	return atomicfile.Write(root, lockName, data.Bytes(), 0o600)
}
