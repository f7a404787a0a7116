package state

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// List implements Journal. It reads only the first and the last record of each journal,
// without a lock, and skips journals unchanged since the last listing.
func (d *Dir) List(ctx context.Context, filter Filter) ([]Info, error) {
	workflows, err := d.workflows(filter.Workflow)
	if err != nil {
		return nil, err
	}
	infos := []Info{}
	if filter.Run != "" && validateName("run_id", filter.Run) != nil {
		return infos, nil // there is no such run
	}
	for _, workflow := range workflows {
		var found []Info
		if filter.Run != "" {
			found, err = d.listRun(ctx, Key{workflow, filter.Run})
		} else {
			found, err = d.listWorkflow(ctx, workflow)
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, found...)
	}
	SortInfos(infos)
	return infos, nil
}

// workflows returns the names of the folders to look into.
func (d *Dir) workflows(only string) ([]string, error) {
	if only != "" {
		return []string{only}, validateName("workflow", only)
	}
	names, err := namesIn(d.disk, stateFolder)
	if err != nil && !missing(err) {
		return nil, notRead(stateFolder, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return validateName("workflow", name) != nil }), nil
}

// listRun describes one run, also one that has lost its journal.
func (d *Dir) listRun(ctx context.Context, key Key) ([]Info, error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx, runsFolder(key.Workflow))
	}
	name := journalName(key)
	_, err := d.disk.Stat(name)
	switch {
	case err == nil:
		if info, ok := infoOf(d.disk, name, key, &ends{}); ok {
			return []Info{info}, nil
		}
	case !unlisted(err):
		return nil, notRead(name, err)
	case d.orphan(key):
		return []Info{{Workflow: key.Workflow, Run: key.Run, Status: StatusDamaged}}, nil
	}
	return nil, nil
}

// listed is the cached result for a journal with a stat.
type listed struct {
	stat stat
	info Info
	ok   bool
}

// listWorkflow describes the runs of a workflow. It reads the journals that are
// not as they were when this process listed them last.
func (d *Dir) listWorkflow(ctx context.Context, workflow string) ([]Info, error) {
	folder := runsFolder(workflow)
	entries, err := d.disk.Entries(folder)
	if unlisted(err) {
		return nil, nil
	}
	if err != nil {
		return nil, notRead(folder, err)
	}
	d.mu.Lock()
	known := d.listings[workflow]
	d.mu.Unlock()
	in, err := d.disk.Folder(folder)
	if unlisted(err) {
		return nil, nil // deleted meanwhile
	}
	if err != nil {
		return nil, notRead(folder, err)
	}
	defer func() { _ = in.Close() }() // only read
	journals := slices.DeleteFunc(entries, func(each entry) bool { _, ok := cutSuffix(each.name, journalSuffix); return !ok })
	found := listRuns(ctx, in, workflow, journals, known)
	if ctx.Err() != nil {
		return nil, interrupted(ctx, folder)
	}
	infos, now := []Info{}, make(map[string]listed, len(found))
	for _, each := range found {
		if now[each.info.Run] = each; each.ok {
			infos = append(infos, each.info)
		}
	}
	d.mu.Lock()
	d.listings[workflow] = now
	d.mu.Unlock()
	return infos, nil
}

// listRuns returns the result for each journal of a folder; that of an unchanged one is
// known. It reads on all processors, and stops when ctx ends.
func listRuns(ctx context.Context, in opener, workflow string, journals []entry, known map[string]listed) []listed {
	found := make([]listed, len(journals))
	share := len(journals)/runtime.GOMAXPROCS(0) + 1
	var work sync.WaitGroup
	for from := 0; from < len(journals); from += share {
		work.Go(func() {
			buffer := ends{}
			for i := from; i < min(from+share, len(journals)) && ctx.Err() == nil; i++ {
				run := strings.TrimSuffix(journals[i].name, journalSuffix)
				if found[i] = known[run]; !found[i].stat.equals(journals[i].stat) {
					info, ok := infoOf(in, journals[i].name, Key{workflow, run}, &buffer)
					found[i] = listed{journals[i].stat, info, ok}
				}
			}
		})
	}
	work.Wait()
	return found
}

// listBlock is the size in bytes of the first read from each end of a journal. The
// last usually contains the last record, because large values are artifacts.
const listBlock = 4 << 10

// ends has room for the two ends of a journal.
type ends struct{ first, last [listBlock]byte }

// infoOf describes a run from the two ends of its journal; false if it has no record.
func infoOf(in opener, name string, key Key, buffer *ends) (Info, bool) {
	info := Info{Workflow: key.Workflow, Run: key.Run, Status: StatusDamaged}
	opened, now, err := openFile(in, name, os.O_RDONLY)
	if err != nil {
		return info, !missing(err)
	}
	defer func() { _ = opened.Close() }() // only read
	start, err := readInto(buffer.first[:], opened, 0, now.size)
	first := headOf(start)
	if err != nil || checkBinding(journalName(key), key, first) != nil {
		return info, true
	}
	info.Created, info.Updated = first.Time, first.Time
	tail := start
	if now.size > listBlock {
		tail, err = readInto(buffer.last[:], opened, now.size-listBlock, now.size)
	}
	var last Record
	if err == nil {
		last, err = lastRecord(opened, key, tail, now.size)
	}
	if err == nil && last.Version > 0 {
		info.Status, info.Version, info.Updated = last.Status, last.Version, last.Time
	}
	return info, err != nil || last.Version > 0
}

// lastRecord returns what stands before the data of the last whole record of a journal,
// given the end of it. If that does not end with a record that matches its hash, all of
// the journal is read.
func lastRecord(source file, key Key, tail []byte, size int64) (last Record, err error) {
	line, ended := bytes.CutSuffix(tail, []byte("\n"))
	if begin := bytes.LastIndexByte(line, '\n') + 1; ended && (begin > 0 || int64(len(tail)) == size) && isWhole(line[begin:]) {
		return headOf(line[begin:]), nil
	}
	s := scanner{name: journalName(key), key: key, file: source, size: size}
	s.visit = func(_ Link, line []byte) error { last = headOf(line); return nil }
	_, err = s.scan(Link{}, 0)
	return last, err
}

// SortInfos orders a listing as List does: by the time of the last change, the latest
// first, then by name. The times are RFC 3339 but not all of one width, so they are
// parsed, each once.
func SortInfos(infos []Info) {
	type dated struct {
		info Info
		at   time.Time
	}
	list := make([]dated, len(infos))
	for i, info := range infos {
		list[i] = dated{info, updated(info)}
	}
	slices.SortFunc(list, func(a, b dated) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.info.Workflow, b.info.Workflow), cmp.Compare(a.info.Run, b.info.Run))
	})
	for i, each := range list {
		infos[i] = each.info
	}
}

// updated returns when a run changed last; the zero time, which sorts last, for a
// damaged one.
func updated(info Info) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, info.Updated)
	return at
}

// Keys returns every run that has a file here, also one whose journal is gone,
// by workflow and name.
func (d *Dir) Keys(ctx context.Context) ([]Key, error) {
	workflows, err := d.workflows("")
	if err != nil {
		return nil, err
	}
	keys := []Key{}
	for _, workflow := range workflows {
		folder := runsFolder(workflow)
		if ctx.Err() != nil {
			return nil, interrupted(ctx, folder)
		}
		names, err := namesIn(d.disk, folder)
		if err != nil && !absent(err) {
			return nil, notRead(folder, err)
		}
		for _, run := range runsAmong(names) {
			keys = append(keys, Key{workflow, run})
		}
	}
	return keys, nil
}

// runsAmong returns the runs that the files of a folder belong to.
func runsAmong(names []string) []string {
	runs := withSuffix(names, journalSuffix)
	for _, suffix := range []string{jsonSuffix, checkpointSuffix} {
		runs = append(runs, withSuffix(names, suffix)...)
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

// orphan reports whether a run without a journal has other files: its journal
// was lost, or a deletion was interrupted.
func (d *Dir) orphan(key Key) bool {
	_, err := d.disk.Stat(snapshotName(key))
	checkpoints, _ := d.disk.Entries(checkpointFolder(key))
	return err == nil || len(checkpoints) > 0
}
