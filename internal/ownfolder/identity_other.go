//go:build !linux && !darwin && !windows

package ownfolder

import (
	"io/fs"
	"os"
	"time"
)

// numberOf knows neither the number nor the time of creation.
func numberOf(*os.File, fs.FileInfo) (uint64, time.Time) { return 0, unknown }
