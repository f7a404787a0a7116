package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"savant/fault"
	"savant/internal/regular"
)

// Archive returns the content as a .tar.gz, the same for the same content.
func (c Content) Archive() ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	files := tar.NewWriter(compressed)
	for _, name := range c.Names() {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(c[name])), Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := files.Write(c[name]); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(files.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// maxEntries bounds the entries of an archive, of which some may be left out.
const maxEntries = 10_000

// maxUnpacked bounds what an archive unpacks to, with what is left out.
const maxUnpacked = 64 << 20

// readArchive reads an archive as Archive writes it, or as a folder was packed.
func readArchive(source Source, file string) (Fetched, error) {
	found := Fetched{Content: Content{}}
	opened, err := regular.OpenPath(file)
	if err != nil {
		return found, notRead(source, err)
	}
	defer func() { _ = opened.Close() }() // only read
	unpacked, err := gzip.NewReader(opened)
	if err != nil {
		return found, notRead(source, fmt.Errorf("a file is taken where it is an archive that tar and gzip wrote: %w", err))
	}
	bounded := &io.LimitedReader{R: unpacked, N: maxUnpacked}
	files := tar.NewReader(bounded)
	for count := 0; ; count++ {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err = io.Copy(io.Discard, bounded) // the checksum stands at the end
			return found, notRead(source, err)
		case bounded.N <= 0, count >= maxEntries:
			return found, fault.New(fault.LimitExceeded, "%s: an archive has at most %d entries and unpacks to at most %d MB", source, maxEntries, maxUnpacked>>20)
		case err != nil:
			return found, notRead(source, err)
		case header.Typeflag == tar.TypeDir || header.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		if err := found.unpack(source, header, files); err != nil {
			return found, err
		}
	}
}

// unpack reads one entry of an archive.
func (f *Fetched) unpack(source Source, header *tar.Header, content io.Reader) error {
	mode := fs.ModeIrregular
	if header.Typeflag == tar.TypeReg {
		mode = 0
	}
	name := strings.TrimPrefix(header.Name, "./") // tar of a folder writes that
	taken, err := f.take(source, name, mode, header.Size)
	if err != nil || !taken {
		return err
	}
	if _, twice := f.Content[name]; twice {
		return fault.New(fault.InvalidParams, "%s: %s stands in the archive twice", source, name)
	}
	f.Content[name], err = io.ReadAll(io.LimitReader(content, maxFile))
	return notRead(source, err)
}
