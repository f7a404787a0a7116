package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"savant/internal/ownfolder"
)

// A clone can bring anything under the names of the gate's files: a file, a pipe, or a link
// to where it likes. What is no folder holds no session, so it gates none.

// maxFile bounds the file of a session, in bytes.
const maxFile = 16 << 20

// absent reports whether a file of the gate cannot be there.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || ownfolder.Displaced(err)
}

// displaced returns the first entry of the gate that is something else than it must be, ""
// for none.
func (g *Gate) displaced() string {
	lockName := g.lockName()
	for _, name := range []string{ownfolder.State, folder, Home(g.root), g.probeFolder(), lockName} {
		if _, err := g.root.Lstat(name); err != nil {
			continue
		}
		info, err := g.root.Stat(name)
		if absent(err) || err == nil && (name == lockName && !info.Mode().IsRegular() || name != lockName && !info.IsDir()) {
			return name
		}
	}
	return ""
}

// MoveAside renames what is in the place of the gate's files, and returns the new names.
func (g *Gate) MoveAside() (moved []string, err error) {
	for name := g.displaced(); name != ""; name = g.displaced() {
		aside := name + ".aside-" + strings.ToLower(rand.Text()[:8])
		if err := g.root.Rename(name, aside); err != nil {
			return moved, ownfolder.NotSaved(name, err)
		}
		moved = append(moved, aside)
	}
	return moved, nil
}

// Gated reports whether the session of an event may have an open run here, and where the
// event names no session, whether any of its client may. It returns true if that is unknown
// or ctx has ended.
func (g *Gate) Gated(ctx context.Context, client, session string) bool {
	names, err := g.sessionFiles()
	if err != nil {
		return true
	}
	for _, name := range names {
		if session != "" && name != g.fileOf(client, session) || !strings.HasPrefix(path.Base(name), client+"-") {
			continue
		}
		if ctx.Err() != nil || g.holds(ctx, name) {
			return true
		}
	}
	return false
}

// holds reports whether a session's file may have an open run.
func (g *Gate) holds(ctx context.Context, name string) bool {
	s, err := g.load(name)
	if err != nil || s == nil {
		return err != nil
	}
	return g.catchUp(ctx, s, g.now()) != nil || len(s.Pairs) > 0
}

// readable reports whether a session's file can be one.
func readable(info os.FileInfo) bool { return info.Mode().IsRegular() && info.Size() <= maxFile }
