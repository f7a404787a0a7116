package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"savant/internal/pattern"
)

// ownFile matches the files of an index, of any version: its stem and its suffix.
var ownFile = pattern.Lazy(`^([0-9a-f]{32}-v[0-9]+)\.(sqlite(-wal|-shm|-journal|\.lock)?|folder)$`)

// folderFile is the file beside an index that names its folder, with a line end.
func folderFile(file string) string { return strings.TrimSuffix(file, ".sqlite") + ".folder" }

// name writes which folder the index is of, unless that is written.
func (ix *Index) name() error {
	if _, err := os.Lstat(folderFile(ix.file)); err == nil {
		return nil
	}
	return os.WriteFile(folderFile(ix.file), []byte(ix.folder+"\n"), 0o600)
}

// Unused is an index that nothing needs.
type Unused struct {
	// Folder is gone; "" where the index does not name it.
	Folder string `json:"folder"`
	Bytes  int64  `json:"bytes"`
}

// Prune removes the indexes in a cache folder whose folders are gone, and those of earlier
// versions, which do not name theirs; a search makes the index of a folder anew. With
// dryRun it only says which.
func Prune(cache string, dryRun bool) (unused []Unused, err error) {
	entries, err := os.ReadDir(cache) // in the order of names, so the files of an index follow each other
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	stem, used := "", true
	var failed error
	for _, entry := range entries {
		parts := ownFile().FindStringSubmatch(entry.Name())
		if parts == nil || !entry.Type().IsRegular() {
			continue
		}
		if parts[1] != stem {
			stem = parts[1]
			folder := folderIn(filepath.Join(cache, stem+".folder"))
			if _, err := os.Stat(folder); folder == "" || errors.Is(err, fs.ErrNotExist) {
				used, unused = false, append(unused, Unused{Folder: folder})
			} else {
				used = true
			}
		}
		if used {
			continue
		}
		if info, err := entry.Info(); err == nil {
			unused[len(unused)-1].Bytes += info.Size()
		}
		if !dryRun {
			failed = errors.Join(failed, os.Remove(filepath.Join(cache, entry.Name())))
		}
	}
	return unused, errors.Join(err, failed)
}

// folderIn returns the folder that a file names. It returns "" if the file is missing or damaged.
func folderIn(file string) string {
	text, err := os.ReadFile(file)
	folder, whole := strings.CutSuffix(string(text), "\n")
	if err != nil || !whole || !filepath.IsAbs(folder) {
		return ""
	}
	return folder
}
