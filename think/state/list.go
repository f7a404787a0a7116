package state

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// List implements Store. It reads the first and the last record of each
// journal, without a lock: two small reads a run, whatever its length.
func (d *Dir) List(ctx context.Context, workflow string) ([]Info, error) {
	workflows, err := d.workflows(workflow)
	if err != nil {
		return nil, err
	}
	infos := []Info{}
	for _, name := range workflows {
		found, err := d.listWorkflow(ctx, name)
		if err != nil {
			return nil, err
		}
		infos = append(infos, found...)
	}
	sortNewestFirst(infos)
	return infos, nil
}

// workflows returns the names of the folders to look into.
func (d *Dir) workflows(only string) ([]string, error) {
	if only != "" {
		return []string{only}, validateName("workflow", only)
	}
	names, err := d.disk.Names(stateFolder)
	if err != nil && !missing(err) {
		return nil, notRead(stateFolder, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return validateName("workflow", name) != nil }), nil
}

func (d *Dir) listWorkflow(ctx context.Context, workflow string) ([]Info, error) {
	folder, err := d.disk.Folder(runsFolder(workflow))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, notRead(runsFolder(workflow), err)
	}
	defer func() { _ = folder.Close() }() // only read
	names, err := folder.Names(".")
	if err != nil {
		return nil, notRead(runsFolder(workflow), err)
	}
	runs := withSuffix(names, journalSuffix)
	infos := make([]Info, len(runs))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8, len(runs)) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(runs)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				infos[i] = infoOf(folder, Key{workflow, runs[i]})
			}
		})
	}
	readers.Wait()
	if ctx.Err() != nil {
		return nil, interrupted(runsFolder(workflow), ctx)
	}
	return slices.DeleteFunc(infos, func(info Info) bool { return info.Run == "" }), nil
}

// infoOf describes a run from the two ends of its journal; the zero Info when
// it has no record.
func infoOf(folder disk, key Key) Info {
	damaged := Info{Workflow: key.Workflow, Run: key.Run, Status: StatusDamaged}
	opened, now, err := openFile(folder, key.Run+journalSuffix, os.O_RDONLY)
	if missing(err) {
		return Info{}
	}
	if err != nil {
		return damaged
	}
	defer func() { _ = opened.Close() }() // only read
	damaged.Updated = now.modified.UTC().Format(time.RFC3339Nano)
	start, err := readRange(opened, 0, min(now.size, listBlock))
	if err != nil || formatOf(start) > Format {
		return damaged
	}
	last, err := lastRecord(opened, key, start, now.size)
	if err != nil {
		return damaged
	}
	if last == nil {
		return Info{}
	}
	first, end := headOf(start), headOf(last)
	if first.Version != 1 || (Key{first.Workflow, first.Run}) != key || end.Version < 1 {
		return damaged
	}
	return Info{key.Workflow, key.Run, end.Status, end.Version, first.Time, end.Time}
}

// listBlock is what is read first of either end of a journal: with large
// values in artifacts the last record is within it.
const listBlock = 4 << 10

// lastRecord returns the last line of a journal that is whole, nil when there
// is none. start is how the file begins, up to listBlock. Where the end of the
// file is not a record that matches its hash, all of it is read.
func lastRecord(source file, key Key, start []byte, size int64) ([]byte, error) {
	tail := start
	if size > listBlock {
		var err error
		if tail, err = readRange(source, size-listBlock, size); err != nil {
			return nil, err
		}
	}
	if line, ok := bytes.CutSuffix(tail, []byte("\n")); ok {
		begin := bytes.LastIndexByte(line, '\n') + 1
		body, hash, whole := split(line[begin:])
		if (begin > 0 || size <= listBlock) && whole && digestOf(body, "}") == hash {
			return line[begin:], nil
		}
	}
	var last []byte
	s := scanner{name: journalName(key), key: key, file: source, size: size}
	s.visit = func(_ Link, line []byte) error { last = line; return nil }
	_, err := s.scan(chain{}, true)
	return last, err
}

// sortNewestFirst orders a listing by the time of the last change, then by
// name. The times are RFC 3339 but not all of one width, so they are parsed.
func sortNewestFirst(infos []Info) {
	type timed struct {
		Info
		at time.Time
	}
	order := make([]timed, len(infos))
	for i, info := range infos {
		at, _ := time.Parse(time.RFC3339Nano, info.Updated) // the zero time sorts last
		order[i] = timed{info, at}
	}
	slices.SortFunc(order, func(a, b timed) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Run, b.Run))
	})
	for i := range order {
		infos[i] = order[i].Info
	}
}
