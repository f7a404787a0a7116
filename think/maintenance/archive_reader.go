package maintenance

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/state"
)

// MaxImport is how many bytes the journal and the artifacts of an export may have together.
const MaxImport = 12 << 20

// Bounds of an import. All of a run is in memory until it is verified, so they keep an
// import below 100 MB, whatever the file says.
const (
	maxManifest      = 12 << 20
	maxArchiveFiles  = 50_000
	maxRecords       = 30_000
	maxJournalLine   = 8 << 20
	maxLineValues    = 250_000 // JSON values of one record
	maxResultValues  = 500_000 // JSON values of all results that are artifacts
	maxCheckpoints   = 1_000
	journalReadAhead = 64 << 10
)

// importHeap is the heap from which an import collects garbage at once, in bytes.
const importHeap = 20 << 20

// keepSmall makes the collector keep to importHeap until restore is called, unless whoever
// started the program set a lower limit. Without it, garbage of a multiple of what is in use
// would come on top.
func keepSmall() (restore func()) {
	before, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(20)
	debug.SetMemoryLimit(min(before, importHeap))
	return func() {
		debug.SetMemoryLimit(before)
		debug.SetGCPercent(percent)
		debug.FreeOSMemory() // the next one begins as this one did
	}
}

// boundedList is a list of a manifest: its length is checked while it is decoded.
type boundedList[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *boundedList[T]) UnmarshalJSON(text []byte) error {
	items := json.NewDecoder(bytes.NewReader(text))
	if _, err := items.Token(); err != nil {
		return err
	}
	for items.More() {
		if len(*l) == maxArchiveFiles {
			return fmt.Errorf("a list has more than %d items", maxArchiveFiles)
		}
		var text json.RawMessage
		var item T
		if err := items.Decode(&text); err != nil {
			return err
		}
		if err := jsonvalue.Unmarshal(text, &item); err != nil {
			return err
		}
		*l = append(*l, item)
	}
	return nil
}

// readArchive reads a file and checks that its content matches its manifest exactly. No
// name in it is used as a path.
func readArchive(from io.Reader) (*archive, error) {
	source := bufio.NewReader(from)
	zipped, err := gzip.NewReader(source)
	if err != nil {
		return nil, notArchive("it is not compressed with gzip")
	}
	zipped.Multistream(false)
	r := &archiveReader{files: tar.NewReader(zipped)}
	m, err := r.manifest()
	if err != nil {
		return nil, err
	}
	out, err := m.empty()
	if err != nil {
		return nil, err
	}
	if err := r.readFiles(m, out); err != nil {
		return nil, err
	}
	return out, r.end(zipped, source)
}

func (r *archiveReader) manifest() (*manifest, error) {
	size, err := r.next(manifestFile, maxManifest)
	if err != nil {
		return nil, err
	}
	described, err := r.whole(manifestFile, size)
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := jsonvalue.Unmarshal(described, &m); err != nil {
		return nil, notArchive(manifestFile + " is not a manifest: " + fault.Cut(err.Error(), 200))
	}
	return &m, nil
}

// empty checks what a manifest says, and returns the archive it describes
// without its files.
func (m *manifest) empty() (*archive, error) {
	key := state.Key{Workflow: m.Workflow, Run: m.Run}
	switch {
	case m.Format > archiveFormat:
		return nil, notArchive("its format is newer than this Savant knows; upgrade to read it")
	case m.Format != archiveFormat:
		return nil, notArchive("its format is not known")
	case len(m.Files) == 0 || m.Files[0].Name != journalFile:
		return nil, notArchive("it has no journal")
	}
	artifacts := m.Files[1:]
	for i, item := range artifacts {
		if item.Name != artifactsPart+item.SHA256 || i > 0 && item.Name <= artifacts[i-1].Name {
			return nil, notArchive("its manifest names " + fault.Cut(item.Name, 100) + " out of place")
		}
	}
	return &archive{key: key, checkpoints: m.Checkpoints, artifacts: map[string][]byte{}, results: map[string]bool{}}, key.Validate()
}

// archiveReader reads the files of an archive in their order.
type archiveReader struct {
	files *tar.Reader
	volume
}

// next begins the file that has to come now, and returns its size.
func (r *archiveReader) next(name string, limit int64) (size int64, err error) {
	header, err := r.files.Next()
	if err != nil {
		return 0, notArchive("it ends before " + name)
	}
	if header.Name == name && header.Typeflag != tar.TypeReg {
		return 0, notArchive(name + " is not a file in it")
	}
	if header.Name != name {
		return 0, notArchive("it has " + fault.Cut(header.Name, 100) + " where " + name + " is expected")
	}
	if header.Size > limit {
		return 0, tooLarge(name+" has more bytes", limit)
	}
	return header.Size, nil
}

// whole reads the file that next began.
func (r *archiveReader) whole(name string, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(r.files, data); err != nil {
		return nil, notToItsEnd(name)
	}
	return data, nil
}

// item begins the next file of a manifest.
func (r *archiveReader) item(item manifestItem) error {
	size, err := r.next(item.Name, math.MaxInt64)
	if err == nil && size != item.Size {
		err = fault.New(fault.StateCorrupt, "%s has %d bytes, and the manifest says %d", item.Name, size, item.Size)
	}
	return err
}

func (r *archiveReader) readFiles(m *manifest, into *archive) error {
	if err := r.readJournal(m, into); err != nil {
		return err
	}
	if err := into.checkCheckpoints(); err != nil {
		return err
	}
	if err := into.checkReferences(m.Files[1:]); err != nil {
		return err
	}
	for _, item := range m.Files[1:] {
		data, err := r.artifact(item)
		if err != nil {
			return err
		}
		if into.results[item.SHA256] {
			if err := r.addResult(data); err != nil {
				return err
			}
		}
		into.artifacts[item.SHA256] = data
	}
	return nil
}

func (r *archiveReader) artifact(item manifestItem) ([]byte, error) {
	if err := r.item(item); err != nil {
		return nil, err
	}
	if err := r.add(item.Name, item.Size); err != nil {
		return nil, err
	}
	data, err := r.whole(item.Name, item.Size)
	if err == nil && jsonvalue.HexSum(data) != item.SHA256 {
		err = doesNotMatch(item.Name)
	}
	return data, err
}

// readJournal reads the records line by line. The first line that is not the next record
// of the run ends it.
func (r *archiveReader) readJournal(m *manifest, into *archive) error {
	if err := r.item(m.Files[0]); err != nil {
		return err
	}
	digest := sha256.New()
	lines := bufio.NewReaderSize(io.TeeReader(r.files, digest), journalReadAhead)
	last := state.Link{}
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			break
		}
		where := lineName(number)
		switch {
		case errors.Is(err, errLongLine):
			return tooLarge(where+" has more bytes", maxJournalLine)
		case err != nil:
			return notToItsEnd(where)
		case number > m.Version:
			return fault.New(fault.StateCorrupt, "%s: the manifest says that the run has %d records", where, m.Version)
		}
		if err := r.addLine(number, line); err != nil {
			return err
		}
		record, err := state.ReadLine(where, into.key, last, line)
		if err != nil {
			return err
		}
		if sealed, _, err := state.Seal(into.key, last, record, time.Time{}); err != nil || sealed.Hash != record.Hash {
			return fault.New(fault.StateCorrupt, "%s is not a record as Savant writes it", where)
		}
		record.Prev = last.Hash // the same text as that of the record before, to save memory
		last = state.Link{Version: record.Version, Hash: record.Hash}
		into.records = append(into.records, record)
	}
	switch {
	case len(into.records) == 0:
		return notArchive("its journal has no record")
	case last != state.Link{Version: m.Version, Hash: m.Hash}:
		return fault.New(fault.StateCorrupt, "%s ends at version v%d, not where the manifest says", journalFile, last.Version)
	case hex.EncodeToString(digest.Sum(nil)) != m.Files[0].SHA256:
		return doesNotMatch(journalFile)
	}
	return nil
}

var errLongLine = errors.New("the line is too long")

// readLine returns the next line without its newline, in memory of its own: io.EOF after
// the last.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(line)+len(part) > maxJournalLine {
			return nil, errLongLine
		}
		if line = append(line, part...); errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && len(line) > 0 {
			err = nil // the last line need not end
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

func (a *archive) checkCheckpoints() error {
	if err := checkCount("checkpoints", len(a.checkpoints), maxCheckpoints); err != nil { // the run is replayed for each
		return err
	}
	for _, each := range a.checkpoints {
		key := state.Key{Workflow: a.key.Workflow, Run: each.Name} // of the same alphabet
		if key.Validate() != nil || each.Version < 1 || each.Version > len(a.records) {
			return notArchive("its checkpoint " + fault.Cut(each.Name, 100) + " has no version")
		}
	}
	return nil
}

// end reads to the end of the file, which must be empty from here, so that the checksum
// of the stream is verified.
func (r *archiveReader) end(zipped *gzip.Reader, source *bufio.Reader) error {
	switch _, err := r.files.Next(); {
	case err == nil:
		return notArchive("it has more files than its manifest")
	case !errors.Is(err, io.EOF):
		return notArchive("it is damaged at its end")
	}
	if rest, err := io.Copy(io.Discard, io.LimitReader(zipped, maxManifest)); err != nil || rest == maxManifest {
		return notArchive("it is damaged at its end")
	}
	if _, err := source.ReadByte(); !errors.Is(err, io.EOF) {
		return notArchive("it has data after its end")
	}
	return nil
}

func notArchive(what string) error {
	return fault.New(fault.InvalidParams, "this is not a run that savant state export wrote: %s", what)
}

func notToItsEnd(what string) error { return notArchive(what + " cannot be read to its end") }

func doesNotMatch(file string) error {
	return fault.New(fault.StateCorrupt, "%s does not match its digest", file)
}
