package service

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"savant/internal/atomicfile"
	"savant/internal/regular"
	"savant/reasoning"
)

// answerFiles is a persistent cache of answers, one file each. Errors are ignored: a
// lost answer is asked for again. A nil answerFiles stores nothing.
type answerFiles struct{ folder *os.Root }

// answerFile is an answer as its file holds it.
type answerFile struct {
	key    string           // its name
	Until  time.Time        `json:"until"`
	Intent reasoning.Intent `json:"intent"`
}

const answerEnding = ".json"

// load returns the unexpired answers, oldest first, and removes the others.
func (f *answerFiles) load(now time.Time) (read []answerFile) {
	if f == nil {
		return nil
	}
	names, err := fs.ReadDir(f.folder.FS(), ".")
	if err != nil {
		return nil
	}
	for _, entry := range names {
		if !strings.HasSuffix(entry.Name(), answerEnding) {
			continue
		}
		each := answerFile{key: strings.TrimSuffix(entry.Name(), answerEnding)}
		data, err := regular.ReadFile(f.folder, entry.Name(), maxKeptSize)
		if err != nil || json.Unmarshal(data, &each) != nil || now.After(each.Until) {
			_ = f.folder.Remove(entry.Name()) // expired
			continue
		}
		read = append(read, each)
	}
	slices.SortFunc(read, func(a, b answerFile) int { return cmp.Or(a.Until.Compare(b.Until), strings.Compare(a.key, b.key)) })
	return read
}

func (f *answerFiles) save(key string, until time.Time, intent reasoning.Intent) {
	if f == nil {
		return
	}
	if data, err := json.Marshal(answerFile{Until: until, Intent: intent}); err == nil {
		_ = atomicfile.Write(f.folder, key+answerEnding, data, 0o600)
	}
}

func (f *answerFiles) remove(key string) {
	if f != nil {
		_ = f.folder.Remove(key + answerEnding)
	}
}
