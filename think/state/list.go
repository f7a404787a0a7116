package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
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
	if absent(err) {
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
			block := make([]byte, listBlock)
			for i := next.Add(1) - 1; i < int64(len(runs)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				infos[i] = infoOf(folder, Key{workflow, runs[i]}, block)
			}
		})
	}
	readers.Wait()
	if ctx.Err() != nil {
		return nil, interrupted(ctx, runsFolder(workflow))
	}
	return slices.DeleteFunc(infos, func(info Info) bool { return info.Run == "" }), nil
}

// infoOf describes a run from the two ends of its journal; the zero Info when
// it has no record. block is listBlock bytes to read into.
func infoOf(folder disk, key Key, block []byte) Info {
	info := Info{Workflow: key.Workflow, Run: key.Run, Status: StatusDamaged}
	if n, err := folder.Peek(key.Run+journalSuffix, block); err == nil && info.whole(block[:n], len(block)) {
		return info
	}
	opened, err := folder.Open(key.Run+journalSuffix, os.O_RDONLY)
	if missing(err) {
		return Info{}
	}
	if err != nil {
		return info
	}
	defer func() { _ = opened.Close() }() // only read
	last, err := info.readStart(opened, block)
	if err == nil && last == nil {
		return Info{}
	}
	if err == nil {
		info.end(headOf(last))
	}
	return info
}

// whole fills in what a journal says that is shorter than limit and ends with
// a record as it was written: most do. Else it fills in nothing.
func (i *Info) whole(journal []byte, limit int) bool {
	first := headOf(journal)
	line := lastLine(journal)
	if len(journal) >= limit || line == nil || first.Version != 1 || first.Format > Format || (Key{first.Workflow, first.Run}) != (Key{i.Workflow, i.Run}) {
		return false
	}
	i.Created = first.Time
	i.end(headOf(line))
	return true
}

func (i *Info) end(last Record) {
	if last.Version > 0 {
		i.Status, i.Version, i.Updated = last.Status, last.Version, last.Time
	}
}

// listBlock is what is read first of either end of a journal: with large
// values in artifacts the last record is within it.
const listBlock = 4 << 10

// readStart fills in what the first record says, and returns the last.
func (i *Info) readStart(journal file, block []byte) (last []byte, err error) {
	n, err := journal.ReadAt(block, 0)
	size := int64(n)
	if err == nil { // else the whole file is in the block: no stat is needed
		now, err := journal.Stat()
		if err != nil {
			return nil, err
		}
		size = now.size
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	key := Key{i.Workflow, i.Run}
	first := headOf(block[:n])
	i.Created, i.Updated = first.Time, first.Time
	if first.Format > Format || (first.Version == 1 && (Key{first.Workflow, first.Run}) != key) {
		return nil, checkBinding(journalName(key), key, block[:n])
	}
	return lastRecord(journal, key, block[:n], size)
}

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
	if line := lastLine(tail); line != nil && (len(line)+1 < len(tail) || size <= listBlock) {
		return line, nil
	}
	var last []byte
	s := scanner{name: journalName(key), key: key, file: source, size: size}
	s.visit = func(_ Link, line []byte) error { last = line; return nil }
	_, err := s.scan(chain{}, true)
	return last, err
}

// lastLine returns the line that a text ends with when it is a record that
// matches its hash, else nil.
func lastLine(text []byte) []byte {
	line, ok := bytes.CutSuffix(text, []byte("\n"))
	if !ok {
		return nil
	}
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	if body, hash, whole := split(line); !whole || digestOf(body, "}") != hash {
		return nil
	}
	return line
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
