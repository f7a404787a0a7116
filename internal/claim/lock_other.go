//go:build !unix

package claim

import "os"

func lock(*os.File) error { return nil }
