package clientsetup

import "os"

// existing returns the first existing file, else the first one.
func existing(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return paths[0]
}
