package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
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
	infos := []Info{}
	block := make([]byte, listBlock)
	for _, run := range withSuffix(names, journalSuffix) {
		if ctx.Err() != nil {
			return nil, interrupted(ctx, runsFolder(workflow))
		}
		if info, ok := infoOf(folder, Key{workflow, run}, block); ok {
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// listBlock is what is read first of either end of a journal, in bytes: with
// large values in artifacts the last record is within it.
const listBlock = 4 << 10

// infoOf describes a run from the two ends of its journal; false if it has no
// record. block is listBlock bytes to read into.
func infoOf(folder disk, key Key, block []byte) (Info, bool) {
	info := Info{Workflow: key.Workflow, Run: key.Run, Status: StatusDamaged}
	opened, now, err := openFile(folder, key.Run+journalSuffix, os.O_RDONLY)
	if err != nil {
		return info, !missing(err)
	}
	defer func() { _ = opened.Close() }() // only read
	start, err := readBlock(opened, 0, min(now.size, listBlock), block)
	if err != nil {
		return info, true
	}
	first := headOf(start)
	if checkBinding(journalName(key), key, first) != nil {
		return info, true
	}
	info.Created, info.Updated = first.Time, first.Time
	last, err := lastRecord(opened, key, now.size, block)
	if err == nil && last.Version > 0 {
		info.Status, info.Version, info.Updated = last.Status, last.Version, last.Time
	}
	return info, err != nil || last.Version > 0
}

// lastRecord returns what stands before the data of the last record that is
// whole. If the file does not end with a record that matches its hash, all of
// it is read.
func lastRecord(source file, key Key, size int64, block []byte) (last Record, err error) {
	from := max(0, size-listBlock)
	tail, err := readBlock(source, from, size, block)
	if err != nil {
		return Record{}, err
	}
	line, ended := bytes.CutSuffix(tail, []byte("\n"))
	if start := bytes.LastIndexByte(line, '\n') + 1; ended && (start > 0 || from == 0) && isWhole(line[start:]) {
		return headOf(line[start:]), nil
	}
	s := scanner{name: journalName(key), key: key, file: source, size: size}
	s.visit = func(_ Link, line []byte) error { last = headOf(line); return nil }
	_, err = s.scan(Link{}, 0)
	return last, err
}

// readBlock is readRange that reads into block.
func readBlock(source io.ReaderAt, from, to int64, block []byte) ([]byte, error) {
	n, err := source.ReadAt(block[:to-from], from)
	if errors.Is(err, io.EOF) { // somebody cut the file meanwhile
		err = nil
	}
	return block[:n], err
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
