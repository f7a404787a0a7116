package sessions

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/think/gate"
	"savant/think/state"
)

// What hooks saw of a session while it was held to a run lies beside the session's file,
// a line for each event: a second account of the calls that Savant saw itself.
const seenSuffix = ".seen"

// maxSeen bounds such a file, in bytes; what comes later is not noted. keptSeen is how long
// one is kept after its last line.
const (
	maxSeen  = 4 << 20
	keptSeen = 90 * 24 * time.Hour
)

// Call is a call of a client's tool, as its hooks saw it.
type Call struct {
	Client string `json:"client"`
	// Runs are the runs that the session was held to.
	Runs []state.Key `json:"runs"`
	// Tool is the client's name of the tool; Savant: it is one of Savant's.
	Tool   string `json:"tool"`
	Savant bool   `json:"savant,omitempty"`
	// Input is the digest of the arguments.
	Input string `json:"input"`
	// Began and Ended are milliseconds since 1970, 0 where no hook saw that.
	Began int64 `json:"began,omitempty"`
	Ended int64 `json:"ended,omitempty"`
	// Outcome is that of gate.Event.
	Outcome string `json:"outcome,omitempty"`

	prefixes []string
}

// Last is when a hook last saw of the call.
func (c Call) Last() int64 { return max(c.Began, c.Ended) }

// Is reports whether it is a call of the tool that a workflow names.
func (c Call) Is(name string) bool { return gate.Own{Prefixes: c.prefixes}.Named(c.Tool, name) }

// saw notes an event of a session that is held to runs. What cannot be written is not noted.
func (g *Gate) saw(s *session, e gate.Event, decision gate.Decision) {
	if len(s.Pairs) == 0 || decision.Verdict == gate.Refuse || e.Kind != gate.BeforeTool && e.Kind != gate.AfterTool {
		return
	}
	own := gate.Own{Prefixes: s.Prefixes}
	call := Call{Client: e.Client, Tool: e.Tool, Input: digestOf(e.Input), Began: g.now().UnixMilli()}
	_, call.Savant = own.Name(e.Tool)
	if e.Kind == gate.AfterTool {
		call.Began, call.Ended, call.Outcome = 0, call.Began, e.Outcome()
	}
	for _, each := range s.Pairs {
		call.Runs = append(call.Runs, each.key())
	}
	line, err := jsonvalue.Encode(call)
	if err != nil {
		return
	}
	name := strings.TrimSuffix(g.fileOf(e.Client, e.Session), suffix) + seenSuffix
	info, err := g.root.Lstat(name)
	if absent(err) {
		g.forget()
	} else if err != nil || info.Size() > maxSeen {
		return
	}
	if file, err := regular.Open(g.root, name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		_, _ = file.Write(append(line, '\n')) // nor is what was not written whole
		_ = file.Close()
	}
}

// forget removes what hooks saw long ago.
func (g *Gate) forget() {
	entries, _ := regular.ReadDir(g.root, Home(g.root))
	for _, each := range entries {
		info, err := each.Info()
		if err == nil && strings.HasSuffix(each.Name(), seenSuffix) && g.now().Sub(info.ModTime()) > keptSeen {
			_ = g.root.Remove(path.Join(Home(g.root), each.Name())) // the next time, then
		}
	}
}

// Seen returns the calls that hooks saw in the folder SAVANT_PATH while their session was
// held to a run.
func Seen(root *os.Root) (found []Call, err error) {
	home := Home(root)
	entries, err := regular.ReadDir(root, home)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, ownfolder.NotRead(folder, err)
	}
	for _, each := range entries {
		if !strings.HasSuffix(each.Name(), seenSuffix) {
			continue
		}
		name := path.Join(home, each.Name())
		text, err := regular.ReadFile(root, name, 2*maxSeen)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, ownfolder.NotRead(name, err)
		}
		found = append(found, callsIn(text)...)
	}
	return found, nil
}

// callsIn puts the beginning and the end of each call together. Of a line that is not whole
// nothing is said.
func callsIn(text []byte) (found []Call) {
	type named struct{ tool, input string }
	open := map[named][]int{} // calls whose end is not known, the first one first
	var prefixes []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxSeen)
	for lines.Scan() {
		var call Call
		if jsonvalue.Unmarshal(lines.Bytes(), &call) != nil {
			continue
		}
		if _, prefix, ok := gate.Stepping(call.Tool); ok && !slices.Contains(prefixes, prefix) {
			prefixes = append(prefixes, prefix)
		}
		this := named{call.Tool, call.Input}
		if begun := open[this]; call.Ended > 0 && len(begun) > 0 {
			found[begun[0]].Ended, found[begun[0]].Outcome = call.Ended, call.Outcome
			open[this] = begun[1:]
			continue
		}
		if call.Ended == 0 {
			open[this] = append(open[this], len(found))
		}
		found = append(found, call)
	}
	for i := range found {
		found[i].prefixes = prefixes
	}
	return found
}
