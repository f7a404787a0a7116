package main

import (
	"bufio"
	"encoding/json"
	stdhtml "html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// liveEvents are what a live page is sent.
type liveEvents struct {
	t     *testing.T
	body  io.Closer
	lines *bufio.Scanner
}

// liveOf opens the stream that a page of a run names, after a place where one is given.
func (h *hubAt) liveOf(page, after string) *liveEvents {
	h.t.Helper()
	address := regexp.MustCompile(`data-live="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(h.t, address, page)
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.base+stdhtml.UnescapeString(address[1]), nil)
	require.NoError(h.t, err)
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	answer, err := h.client.Do(request)
	require.NoError(h.t, err)
	require.Equal(h.t, http.StatusOK, answer.StatusCode)
	require.Equal(h.t, "text/event-stream", answer.Header.Get("Content-Type"))
	h.t.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &liveEvents{h.t, answer.Body, lines}
}

// next waits for the next event.
func (l *liveEvents) next() (id, kind, data string) {
	l.t.Helper()
	for l.lines.Scan() {
		name, value, _ := strings.Cut(l.lines.Text(), ": ")
		switch {
		case l.lines.Text() == "" && kind != "":
			return id, kind, data
		case name == "id":
			id = value
		case name == "event":
			kind = value
		case name == "data":
			data += value + "\n"
		}
	}
	require.NoError(l.t, l.lines.Err())
	l.t.Fatal("the stream ended")
	return "", "", ""
}

var rowKind = regexp.MustCompile(`<span class="kind">([^<]+)</span>`)

// TestARunInAnotherProcessIsSeenLive opens the page of a run while it goes on
// elsewhere, and sees the rest of it come: the very rows that the page has afterwards.
func TestARunInAnotherProcessIsSeenLive(t *testing.T) {
	folder := t.TempDir()
	running := runningAgent(t, folder, "going")
	h := serveHub(t, folder)
	page := h.page("/diagnostics/agents/going")
	live := h.liveOf(page, "")
	savantIn(t, folder, "runs", "cancel", "going")
	require.Error(t, running.Wait())
	rows := rowKind.FindAllString(page, -1)
	for {
		_, kind, data := live.next()
		require.Equal(t, "row", kind)
		rows = append(rows, rowKind.FindString(data))
		if strings.Contains(data, ">"+string(telemetry.RunFinished)+"<") {
			break
		}
	}
	require.Greater(t, len(rows), len(rowKind.FindAllString(page, -1)))
	require.Equal(t, rowKind.FindAllString(h.page("/diagnostics/agents/going"), -1), rows)
}

// TestABurstIsSentWhole writes 5,000 events at once, with every line break there is,
// beside those of other runs. A page that goes away and comes back at its place gets
// each once, in order, and pages that read nothing hold nobody up.
func TestABurstIsSentWhole(t *testing.T) {
	const burst = 5000
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--run-id", "many", "a goal")
	h := serveHub(t, folder)
	page := h.page("/diagnostics/agents/many?type=retry")
	for range 5 {
		h.liveOf(page, "") // nobody reads it
	}
	live := h.liveOf(page, "")
	trace, err := os.OpenFile(filepath.Join(folder, "logs", "agent_trace.log"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer trace.Close()
	var lines []byte
	for i := 1; i <= burst; i++ {
		for _, e := range []telemetry.Event{
			{Type: telemetry.Retry, RunID: "many", Step: i, CallID: "call" + strconv.Itoa(i) + ".", Output: "one\ntwo\r\nthree\rfour\n\nid: 0:0\ndata: five"},
			{Type: telemetry.Retry, RunID: "other", Step: i, Output: "many"}, {Type: telemetry.Error, RunID: "many", Step: i}} {
			line, err := json.Marshal(e)
			require.NoError(t, err)
			lines = append(append(lines, line...), '\n')
		}
	}
	_, err = trace.Write(lines)
	require.NoError(t, err)
	call := regexp.MustCompile(`<dt>Call</dt><dd>call(\d+)\.</dd>`)
	for i := 1; i <= burst; i++ {
		id, kind, data := live.next()
		require.Equal(t, "row", kind)
		require.Equal(t, []string{strconv.Itoa(i)}, call.FindStringSubmatch(data)[1:], "row %d", i)
		if i%1700 == 0 {
			require.NoError(t, live.body.Close())
			live = h.liveOf(page, id)
		}
	}
	last := h.page("/diagnostics/agents/many?type=retry")
	require.Contains(t, last, "call5000.")
	require.Less(t, len(last), 300<<10, "a page has a part of the events")
	require.NotContains(t, h.page("/diagnostics/agents/many?type=retry&page=0"), "data-live", "only the last page goes on")
}

// TestAStreamBeginsAtAPlaceOfTheTrace: a text that is not a place of the trace is refused.
func TestAStreamBeginsAtAPlaceOfTheTrace(t *testing.T) {
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--run-id", "known", "a goal")
	h := serveHub(t, folder)
	for _, id := range []string{"1", "x:y", "../logs:0", "0011223344556677:-5"} {
		status, _, _ := h.ask(h.client, http.MethodGet, "/diagnostics/agents/known/live", nil, "Last-Event-ID", id)
		require.Equal(t, http.StatusBadRequest, status, id)
	}
	status, _, _ := h.ask(h.client, http.MethodGet, "/diagnostics/agents/nobody/live", nil)
	require.Equal(t, http.StatusNotFound, status)
	_, kind, _ := h.liveOf(h.page("/diagnostics/agents/known"), "0011223344556677:5").next()
	require.Equal(t, "lost", kind, "a trace that is gone is said to be")
}
