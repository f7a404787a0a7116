package maintenance

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"slices"
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
	Format      int                       `json:"format"`
	Workflow    string                    `json:"workflow"`
	Run         string                    `json:"run"`
	Version     int                       `json:"version"`
	Hash        string                    `json:"hash"`
	Workflows   writtenPins               `json:"workflows"`
	Checkpoints boundedList[namedVersion] `json:"checkpoints"`
	Files       boundedList[manifestItem] `json:"files"`
}

// writtenPins are for a person who looks into the file: an import reads those of the plan.
type writtenPins map[string]pin

// UnmarshalJSON implements json.Unmarshaler.
func (writtenPins) UnmarshalJSON([]byte) error { return nil }

// manifestItem is one file: its size in bytes and hex SHA-256.
type manifestItem struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// write writes the archive, byte for byte the same for the same content. It returns why an
// import would refuse it, "" if it would not.
func (a *archive) write(to io.Writer) (refused string, err error) {
	lines, _, err := state.Lines(a.key, a.records)
	if err != nil {
		return "", err
	}
	journal := append(bytes.Join(lines, []byte("\n")), '\n')
	described, err := a.manifest(journal)
	if err != nil {
		return "", err
	}
	if err := a.importable(lines, len(described)); err != nil {
		refused = fault.From(err).Details
	}
	zipped := gzip.NewWriter(to)
	files := tar.NewWriter(zipped)
	if err = addFile(files, manifestFile, described); err == nil {
		err = addFile(files, journalFile, journal)
	}
	for _, digest := range slices.Sorted(maps.Keys(a.artifacts)) {
		if err == nil {
			err = addFile(files, artifactsPart+digest, a.artifacts[digest])
		}
	}
	if err = cmp.Or(err, files.Close(), zipped.Close()); err != nil { // the first is the cause of the others
		return "", fault.New(fault.StateNotSaved, "the export was not written: %w", err)
	}
	return refused, nil
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
	for _, digest := range slices.Sorted(maps.Keys(a.artifacts)) {
		m.Files = append(m.Files, manifestItem{artifactsPart + digest, int64(len(a.artifacts[digest])), digest})
	}
	text, err := jsonvalue.EncodeIndented(m, 0)
	if err != nil {
		return nil, fault.New(fault.Internal, "encoding the manifest: %w", err)
	}
	return append(text, '\n'), nil
}
