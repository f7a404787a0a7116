// Package agenttest has the fixtures of the agent's tests: a scripted Reasoning API,
// the tools of the scenarios, and the format of a transcript. Each scenario runs in
// process, by the command and over MCP.
package agenttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"savant/fault"
	"savant/reasoning"
)

// API is a scripted Reasoning API, served over HTTP.
type API struct {
	// Answers are the script, one for each question. At each question the API calls Before
	// (if set), adds a line to Log, and sends the step to Arrived unless that channel is
	// full.
	Answers []json.RawMessage
	Log     *Journal
	Before  func()
	Arrived chan int

	mu       sync.Mutex
	requests []reasoning.Request
}

// Journal is a transcript: questions and events in order.
type Journal struct {
	mu    sync.Mutex
	lines []string
}

// Add appends a line.
func (j *Journal) Add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// Text returns all lines.
func (j *Journal) Text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n") + "\n"
}

// ServeHTTP sends the next answer of the script, and finish after the last. An answer
// {"http": 503} sends that status; {"hang": true} blocks until the client disconnects.
func (s *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request reasoning.Request
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	answer := json.RawMessage(`{"action":"finish","final":"the script is over"}`)
	if len(s.Answers) > 0 {
		answer, s.Answers = s.Answers[0], s.Answers[1:]
	}
	s.mu.Unlock()
	if s.Before != nil {
		s.Before()
	}
	s.Log.Add("ask %d%s", request.Step, asked(request))
	select {
	case s.Arrived <- request.Step:
	default:
	}
	var special struct {
		HTTP int
		Hang bool
		Text string
	}
	_ = json.Unmarshal(answer, &special) // an intent sets none of these members
	switch {
	case special.Hang:
		<-r.Context().Done()
	case special.HTTP != 0:
		http.Error(w, "as the script says", special.HTTP)
	case special.Text != "":
		_, _ = io.WriteString(w, special.Text)
	default:
		_, _ = w.Write(answer)
	}
}

// asked is the part of a question that a transcript shows.
func asked(request reasoning.Request) string {
	var out strings.Builder
	p := request.Policy
	if p.NoTools {
		out.WriteString(" no_tools")
	}
	if p.MustFinish {
		out.WriteString(" must_finish")
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&out, " note=%q", note)
	}
	for _, each := range request.LastOutput {
		came := string(each.Result)
		if each.Error != nil {
			came = string(each.Error.Code)
		}
		fmt.Fprintf(&out, " last=%s:%s", each.ToolName, fault.Cut(came, 60))
	}
	if request.Memory.Omitted > 0 {
		fmt.Fprintf(&out, " omitted=%d", request.Memory.Omitted)
	}
	return out.String()
}

// Requests returns the questions so far.
func (s *API) Requests() []reasoning.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}
