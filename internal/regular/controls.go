package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the links on one path, as systems do.
const maxLinks = 255

// Controls reports whether who writes a folder, or the repository that it is in, decides
// what is at a path: because the path is in there, or leads through it by a link, also
// where it does not exist yet. A clone could bring such a file.
func Controls(folder, path string) bool {
	judged := []fs.FileInfo{}
	for _, each := range []string{folder, repository(folder)} {
		if info, err := os.Stat(each); err == nil {
			judged = append(judged, info)
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	at, rest := start(path)
	for links := 0; ; {
		if info, err := os.Lstat(at); err == nil {
			for _, each := range judged {
				if os.SameFile(each, info) {
					return true
				}
			}
		}
		if len(rest) == 0 {
			return false
		}
		next := filepath.Join(at, rest[0])
		target, err := os.Readlink(next)
		if rest = rest[1:]; err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return true
		}
		above, below := at, elements(target)
		if filepath.IsAbs(target) {
			above, below = start(target)
		}
		at, rest = above, append(below, rest...)
	}
}

// start splits an absolute path into its root and its elements.
func start(path string) (root string, rest []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), elements(path[len(volume):])
}

func elements(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c < 128 && os.IsPathSeparator(uint8(c)) })
}

// repository returns the nearest folder with .git, from a folder upward, or the folder.
func repository(folder string) string {
	resolved, err := filepath.EvalSymlinks(folder)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	if err != nil {
		return folder
	}
	for at := resolved; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if filepath.Dir(at) == at {
			return folder
		}
	}
}
