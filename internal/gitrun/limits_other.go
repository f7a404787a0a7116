//go:build !linux

package gitrun

// limitMemory does nothing: only Linux can bound the memory of another process.
func limitMemory(int) {}
