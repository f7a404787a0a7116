package maintenance

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/state"
)

// The files of an archive, in this order; the artifacts by digest.
const (
	manifestFile  = "savant-run.json"
	journalFile   = "journal"
	artifactsPart = "artifacts/"
)

// archiveFormat is the version of the file. A newer one is refused.
const archiveFormat = 1

// manifest is the first file of an archive and names all others.
type manifest struct {
	Format      int            `json:"format"`
	Workflow    string         `json:"workflow"`
	Run         string         `json:"run"`
	Version     int            `json:"version"`
	Hash        string         `json:"hash"`
	Workflows   map[string]pin `json:"workflows"`
	Checkpoints []namedVersion `json:"checkpoints"`
	Files       []manifestItem `json:"files"`
}

// manifestItem is one file: its size in bytes and hex SHA-256.
type manifestItem struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Bounds of what an import reads: it is all in memory until it is verified.
const (
	maxArchive      = 512 << 20
	maxManifest     = 32 << 20
	maxArchiveFiles = 100_000
)

// write writes the archive, byte for byte the same for the same content.
func (a *archive) write(to io.Writer) error {
	journal, err := a.journal()
	if err != nil {
		return err
	}
	described, err := a.manifest(journal)
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(to)
	files := tar.NewWriter(zipped)
	if err = addFile(files, manifestFile, described); err == nil {
		err = addFile(files, journalFile, journal)
	}
	for _, digest := range sortedKeys(a.artifacts) {
		if err == nil {
			err = addFile(files, artifactsPart+digest, a.artifacts[digest])
		}
	}
	if err = cmp.Or(err, files.Close(), zipped.Close()); err != nil { // the first is the cause of the others
		return fault.New(fault.StateNotSaved, "the export was not written: %w", err)
	}
	return nil
}

func addFile(files *tar.Writer, name string, data []byte) error {
	header := &tar.Header{Name: name, Size: int64(len(data)), Mode: 0o600, Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if err := files.WriteHeader(header); err != nil {
		return err
	}
	_, err := files.Write(data)
	return err
}

func (a *archive) manifest(journal []byte) ([]byte, error) {
	var plan struct {
		Pins map[string]pin `json:"pins"`
	}
	if err := json.Unmarshal(a.records[0].Data, &plan); err != nil {
		return nil, fault.New(fault.StateCorrupt, "record 1: its data cannot be read")
	}
	last := a.records[len(a.records)-1]
	m := manifest{Format: archiveFormat, Workflow: a.key.Workflow, Run: a.key.Run, Version: last.Version, Hash: last.Hash,
		Workflows: plan.Pins, Checkpoints: a.checkpoints, Files: []manifestItem{{journalFile, int64(len(journal)), jsonvalue.HexSum(journal)}}}
	for _, digest := range sortedKeys(a.artifacts) {
		m.Files = append(m.Files, manifestItem{artifactsPart + digest, int64(len(a.artifacts[digest])), digest})
	}
	text, err := jsonvalue.EncodeIndented(m, 0)
	if err != nil {
		return nil, fault.New(fault.Internal, "encoding the manifest: %w", err)
	}
	return append(text, '\n'), nil
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
	described, err := r.next(manifestFile, maxManifest)
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(described, &m); err != nil {
		return nil, notArchive(manifestFile + " is not a manifest")
	}
	out, err := m.empty()
	if err != nil {
		return nil, err
	}
	if err := r.readFiles(&m, out); err != nil {
		return nil, err
	}
	return out, r.end(zipped, source)
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
	case len(m.Files) > maxArchiveFiles:
		return nil, notArchive("it has too many files")
	case len(m.Files) == 0 || m.Files[0].Name != journalFile:
		return nil, notArchive("it has no journal")
	}
	return &archive{key: key, checkpoints: m.Checkpoints, artifacts: map[string][]byte{}}, key.Validate()
}

// archiveReader reads the files of an archive in their order.
type archiveReader struct {
	files *tar.Reader
	total int64
}

// next reads the file that has to come now.
func (r *archiveReader) next(name string, limit int64) ([]byte, error) {
	header, err := r.files.Next()
	if err != nil {
		return nil, notArchive("it ends before " + name)
	}
	if header.Name == name && header.Typeflag != tar.TypeReg {
		return nil, notArchive(name + " is not a file in it")
	}
	if header.Name != name {
		return nil, notArchive("it has " + fault.Cut(header.Name, 100) + " where " + name + " is expected")
	}
	if r.total += header.Size; header.Size > limit || r.total > maxArchive {
		return nil, notArchive(name + " is too large")
	}
	data, err := io.ReadAll(r.files)
	if err != nil {
		return nil, notArchive(name + " cannot be read to its end")
	}
	return data, nil
}

func (r *archiveReader) readFiles(m *manifest, into *archive) error {
	for i, item := range m.Files {
		digest, isArtifact := strings.CutPrefix(item.Name, artifactsPart)
		if i > 0 && (!isArtifact || digest != item.SHA256 || item.Name <= m.Files[i-1].Name && i > 1) {
			return notArchive("its manifest names " + fault.Cut(item.Name, 100) + " out of place")
		}
		data, err := r.next(item.Name, maxArchive)
		if err != nil {
			return err
		}
		if int64(len(data)) != item.Size || jsonvalue.HexSum(data) != item.SHA256 {
			return fault.New(fault.StateCorrupt, "%s does not match its digest", item.Name)
		}
		if isArtifact {
			into.artifacts[digest] = data
		} else if into.records, err = recordsOf(data); err != nil {
			return err
		}
	}
	last := into.records[len(into.records)-1]
	if last.Version != m.Version || last.Hash != m.Hash {
		return fault.New(fault.StateCorrupt, "%s ends at version v%d, not where the manifest says", journalFile, last.Version)
	}
	return into.checkCheckpoints()
}

// recordsOf reads the lines of a journal; their chain is verified later.
func recordsOf(journal []byte) ([]state.Record, error) {
	var records []state.Record
	for line := range bytes.Lines(journal) {
		var record state.Record
		if err := json.Unmarshal(line, &record); err != nil {
			return nil, fault.New(fault.StateCorrupt, "%s: record %d is not JSON", journalFile, len(records)+1)
		}
		records = append(records, record)
	}
	if len(records) == 0 {
		return nil, notArchive("its journal has no record")
	}
	return records, nil
}

func (a *archive) checkCheckpoints() error {
	for _, each := range a.checkpoints {
		named := state.Key{Workflow: a.key.Workflow, Run: each.Name} // of the same alphabet
		if named.Validate() != nil || each.Version < 1 || each.Version > len(a.records) {
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
