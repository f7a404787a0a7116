package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"slices"
	"time"
)

// file is one file of a package; its name has slashes.
type file struct {
	name       string
	data       []byte
	executable bool
}

func (f file) mode() os.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// under gives the files with a folder before their names.
func under(folder string, files []file) []file {
	moved := make([]file, len(files))
	for i, f := range files {
		f.name = folder + "/" + f.name
		moved[i] = f
	}
	return moved
}

// archive writes what people unpack by hand: zip for Windows, else tar.gz.
func (r release) archive(t target, program file, documents []file) error {
	files := slices.Concat([]file{program}, documents, r.Manual)
	if t.OS == "windows" {
		return r.writeZip(r.name("savant", t, ".zip"), files)
	}
	return r.writeTar(r.name("savant", t, ".tar.gz"), files)
}

func (r release) writeTar(path string, files []file) error {
	var packed bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: int64(f.mode()), Size: int64(len(f.data)), ModTime: r.Time, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}

func (r release) writeZip(path string, files []file) error {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: earliest(r.Time)}
		header.SetMode(f.mode())
		writer, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := writer.Write(f.data); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}

// earliest is the time, or 1980: zip knows no earlier one.
func earliest(t time.Time) time.Time {
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); t.Before(first) {
		return first
	}
	return t
}
