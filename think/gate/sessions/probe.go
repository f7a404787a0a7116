package sessions

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/think/state"
)

// A probe says that hooks were asked about a call of think.plan just before it: then the
// session that makes the call is gated. It counts once.

// probeExpiry is how long a probe counts: a person may have to permit the call first.
const probeExpiry = time.Hour

// probe is the content of its file.
type probe struct {
	Time time.Time `json:"time"`
}

// probeOf names a call of think.plan by what no client changes on the way.
func probeOf(workflow, run string) string {
	name, _, _ := strings.Cut(workflow, "@")
	digest, _ := jsonvalue.Digest(map[string]any{"workflow": name, "run": run})
	return digest[:min(len(digest), 24)]
}

// stepOf names a call of think.next.
func stepOf(key state.Key, step string) string {
	digest, _ := jsonvalue.Digest(map[string]any{"workflow": key.Workflow, "run": key.Run, "step": step})
	return digest
}

// announce notes in the folder that hooks were asked about a call.
func (g *Gate) announce(s *session, about about) error {
	for _, each := range about.continued(s) {
		each.asked(about.step)
	}
	if about.probe == "" {
		return nil
	}
	return g.probed(about.probe)
}

// share is announce for runs in a database. What cannot be noted does not count: where it
// is required, the server refuses the call.
func share(ctx context.Context, shared Shared, s *session, about about) {
	if about.probe != "" {
		_ = shared.Announce(ctx, about.probe)
	}
	for _, each := range about.continued(s) {
		_ = shared.Announce(ctx, stepOf(each.key(), about.step))
	}
}

// probed notes that hooks were asked about a call.
func (g *Gate) probed(digest string) error {
	if err := g.mkdir(); err != nil {
		return err
	}
	probeFolder := g.probeFolder()
	entries, err := regular.ReadDir(g.root, probeFolder)
	if err != nil {
		return ownfolder.NotRead(probeFolder, err)
	}
	for _, entry := range entries { // those whose call was never made
		if info, err := entry.Info(); err == nil && g.now().Sub(info.ModTime()) > probeExpiry {
			_ = g.root.Remove(path.Join(probeFolder, entry.Name())) // it counts no more either way
		}
	}
	return g.replace(path.Join(probeFolder, digest+suffix), probe{g.now()})
}

// Probed reports whether hooks were asked about a call of think.plan that is being made
// now, and forgets that they were.
func (g *Gate) Probed(ctx context.Context, workflow, run string) (bool, error) {
	shared, err := g.shared()
	if err != nil {
		return false, err
	}
	if shared != nil {
		return shared.Announced(ctx, probeOf(workflow, run), probeExpiry)
	}
	name := path.Join(g.probeFolder(), probeOf(workflow, run)+suffix)
	if _, err := g.root.Stat(name); absent(err) {
		return false, nil
	}
	found := false
	err = g.locked(ctx, func() error {
		data, err := regular.ReadFile(g.root, name, maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return ownfolder.NotRead(name, err)
		}
		var said probe
		if jsonvalue.UnmarshalStored(data, &said) == nil {
			age := g.now().Sub(said.Time)
			found = age >= 0 && age < probeExpiry
		}
		if err := g.root.Remove(name); err != nil {
			return ownfolder.NotSaved(name, err)
		}
		return nil
	})
	return found && err == nil, err
}

// Continued reports whether a session's hook announced the current call of think.next,
// and consumes the announcement: another session's call of the same step needs its own.
func (g *Gate) Continued(ctx context.Context, workflow, run, step string) (bool, error) {
	shared, err := g.shared()
	if err != nil {
		return false, err
	}
	if shared != nil {
		return shared.Announced(ctx, stepOf(state.Key{Workflow: workflow, Run: run}, step), probeExpiry)
	}
	found := false
	err = g.each(ctx, func(name string, s *session, damaged error) error {
		if damaged != nil && !errors.Is(damaged, fault.StateCorrupt) {
			return damaged
		}
		if damaged != nil || found {
			return nil
		}
		for _, each := range s.Pairs {
			at := slices.Index(each.Asked, step)
			if at >= 0 && each.Run.Workflow == workflow && each.Run.ID == run && g.now().Sub(each.Seen) <= probeExpiry {
				each.Asked, found = slices.Delete(each.Asked, at, at+1), true
				return g.save(name, s)
			}
		}
		return nil
	})
	return found && err == nil, err
}
