package state

import (
	"path"
	"path/filepath"
	"strings"
)

// Where things are, relative to SAVANT_PATH.
const (
	stateFolder    = ".savant/state"
	trashFolder    = ".savant/trash"
	artifactFolder = ".savant/artifacts/sha256"
	receiptFolder  = ".savant/receipts"
	importFolder   = ".savant/imported"
	headFolder     = ".savant/heads"

	journalSuffix    = ".journal"
	jsonSuffix       = ".json"
	checkpointSuffix = ".checkpoints"
	temporarySuffix  = ".tmp"
)

// JournalFolder returns the folder of the journals below SAVANT_PATH: each workflow has a
// folder in it, each run a file there that ends in .journal.
func JournalFolder(savantPath string) string {
	return filepath.Join(savantPath, filepath.FromSlash(stateFolder))
}

func runsFolder(workflow string) string { return path.Join(stateFolder, workflow) }

func journalName(key Key) string { return path.Join(stateFolder, key.Workflow, key.Run+journalSuffix) }

func snapshotName(key Key) string { return path.Join(stateFolder, key.Workflow, key.Run+jsonSuffix) }

func latestName(workflow string) string { return path.Join(stateFolder, workflow+jsonSuffix) }

func checkpointFolder(key Key) string {
	return path.Join(stateFolder, key.Workflow, key.Run+checkpointSuffix)
}

func checkpointName(key Key, name string) string {
	return path.Join(checkpointFolder(key), name+jsonSuffix)
}

func artifactName(digest string) string {
	return path.Join(artifactFolder, digest[:2], digest)
}

// withSuffix returns the names that end in suffix, stripped of it, except those of
// temporary files.
func withSuffix(names []string, suffix string) []string {
	found := make([]string, 0, len(names))
	for _, name := range names {
		if base, ok := cutSuffix(name, suffix); ok {
			found = append(found, base)
		}
	}
	return found
}

// cutSuffix strips a suffix from a name; false if the name lacks it or belongs to a
// temporary file.
func cutSuffix(name, suffix string) (string, bool) {
	base, ok := strings.CutSuffix(name, suffix)
	return base, ok && isName(base)
}
