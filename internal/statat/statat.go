// Package statat tells of a file below an open folder in one call of the system,
// where os.Root opens every folder on the way. It is for what is asked at every
// step, and on Unix only.
package statat
