package program

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// liveEvents are what a browser is told.
type liveEvents struct {
	t     testing.TB
	body  io.Closer
	lines *bufio.Scanner
}

// live opens the stream of a hub, after the last event of an earlier one where it is given.
func (h *hubAt) live(after string) *liveEvents {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.base+"/live", nil)
	require.NoError(h.t, err)
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	answer, err := h.client.Do(request)
	require.NoError(h.t, err)
	require.Equal(h.t, http.StatusOK, answer.StatusCode)
	require.Equal(h.t, "text/event-stream", answer.Header.Get("Content-Type"))
	h.t.Cleanup(func() { answer.Body.Close() })
	return &liveEvents{h.t, answer.Body, bufio.NewScanner(answer.Body)}
}

// rowsSent is what a page asks for when it is told that a run has changed.
type rowsSent struct {
	Epoch        string
	Total, Found int
	From         int
	Rows         []string
}

// rows returns up to 500 rows of a run from a number on; query begins with & or is empty.
func (h *hubAt) rows(run string, from int, query string) (sent rowsSent) {
	h.t.Helper()
	require.NoError(h.t, json.Unmarshal([]byte(h.page("/diagnostics/agents/"+run+"/rows?from="+strconv.Itoa(from)+"&count=500"+query)), &sent))
	return sent
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
	t.Parallel()
	folder := t.TempDir()
	running := runningAgent(t, folder, "going")
	h := serveHub(t, folder)
	live := h.live("")
	_, kind, _ := live.next()
	require.Equal(t, "reset", kind, "a page that comes anew looks at what there is")
	rows := rowKind.FindAllString(h.page("/diagnostics/agents/going?view=timeline"), -1)
	before := len(rows)
	savantIn(t, folder, "runs", "cancel", "going")
	require.Error(t, running.Wait())
	for !strings.Contains(strings.Join(rows, ""), string(telemetry.RunFinished)) {
		_, kind, data := live.next()
		require.Equal(t, "changed", kind)
		require.JSONEq(t, `["going"]`, data)
		rows = append(rows, rowKind.FindAllString(strings.Join(h.rows("going", len(rows), "").Rows, ""), -1)...)
	}
	require.Greater(t, len(rows), before)
	require.Equal(t, rowKind.FindAllString(h.page("/diagnostics/agents/going?view=timeline"), -1), rows)
}

// TestABurstLosesNothing writes 5,000 events of a run among those of others, in two
// halves, between which the hub is started anew. Whoever follows the stream, also after
// it was cut off, has each event once and in order, and streams that nobody reads hold
// nobody up.
func TestABurstLosesNothing(t *testing.T) {
	t.Parallel()
	const burst = 5000
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "many", "a goal")
	h := serveHub(t, folder)
	for range 5 {
		h.live("") // nobody reads it
	}
	number := regexp.MustCompile(`<span class="line">(\d+) retry`)
	var got []string
	id := ""
	for half := range 2 {
		live := h.live(id)
		writeBurst(t, folder, half*burst/2, burst/2)
		for messages := 1; len(got) < (half+1)*burst/2; messages++ {
			id, _, _ = live.next()
			for sent := h.rows("many", len(got), "&type=retry"); len(sent.Rows) > 0; sent = h.rows("many", len(got), "&type=retry") {
				for _, each := range sent.Rows {
					got = append(got, number.FindStringSubmatch(each)[1])
				}
			}
			if messages == 1 {
				require.NoError(t, live.body.Close())
				live = h.live(id)
			}
		}
		require.NoError(t, live.body.Close())
		h = serveHub(t, folder)
	}
	require.Len(t, got, burst)
	for i, each := range got {
		require.Equal(t, strconv.Itoa(i+1), each)
	}
	page := h.page("/diagnostics/agents/many?view=timeline&type=retry")
	require.Contains(t, page, "5000 retry")
	require.Less(t, len(page), 300<<10, "a page has a part of the events")
	require.Equal(t, 60, strings.Count(h.page("/diagnostics/agents/many?view=timeline&type=retry&page=0"), `<li class="row"`))
}

// writeBurst appends events of a run to the trace, each among others, with every line
// break there is.
func writeBurst(t testing.TB, folder string, from, count int) {
	t.Helper()
	trace, err := os.OpenFile(filepath.Join(folder, "logs", "agent_trace.log"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer trace.Close()
	var lines []byte
	for i := from + 1; i <= from+count; i++ {
		for _, e := range []telemetry.Event{
			{Type: telemetry.Retry, RunID: "many", Step: i, Output: "one\ntwo\r\nthree\rfour\n\nid: 0:0\ndata: five"},
			{Type: telemetry.Retry, RunID: "other", Step: i, Output: "many"}, {Type: telemetry.Error, RunID: "many", Step: i}} {
			line, err := json.Marshal(e)
			require.NoError(t, err)
			lines = append(append(lines, line...), '\n')
		}
	}
	_, err = trace.Write(lines)
	require.NoError(t, err)
}

// TestAStreamGoesOnWhereItWas: a browser that comes back gets what changed since,
// and of nothing else; the id of another hub, or a made up one, of everything.
func TestAStreamGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, run := range []string{"one", "many"} {
		savantIn(t, folder, "run", "--quiet", "--name", run, "a goal")
	}
	h := serveHub(t, folder)
	id, kind, _ := h.live("").next()
	require.Equal(t, "reset", kind)
	writeBurst(t, folder, 0, 1)
	_, kind, runs := h.live(id).next()
	require.Equal(t, "changed", kind)
	require.JSONEq(t, `["many", "other"]`, runs)
	for _, id := range []string{"1", "x:y", "x.1", "9." + id, id + "x"} {
		_, kind, _ := h.live(id).next()
		require.Equal(t, "reset", kind, id)
	}
	for _, query := range []string{"", "?from=0", "?from=-1&count=1", "?from=0&count=501", "?from=x&count=1"} {
		status, _, _ := h.ask(h.client, http.MethodGet, "/diagnostics/agents/one/rows"+query, nil)
		require.Equal(t, http.StatusBadRequest, status, query)
	}
	require.Empty(t, h.rows("one", 1_000_000, "").Rows)
}

// TestTheDetailsOfAnEvent: each row leads to them, and only those of the run are shown.
func TestTheDetailsOfAnEvent(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "a1", "--force-tool", "git.status", "--force-finish")
	savantIn(t, folder, "run", "--quiet", "--name", "a2", "a goal")
	h := serveHub(t, folder)
	place := regexp.MustCompile(`data-place="([^"]+)"`).FindStringSubmatch(h.page("/diagnostics/agents/a1?view=timeline&type=tool_call_completed"))
	require.NotNil(t, place)
	in := "event=" + url.QueryEscape(place[1])
	for _, path := range []string{"/diagnostics/agents/a1?view=timeline&type=tool_call_completed&" + in, "/diagnostics/agents/a1/event?" + in} {
		require.Contains(t, h.page(path), "<dt>Call</dt><dd>1.1</dd>", path)
	}
	require.Contains(t, h.page("/diagnostics/agents/a1?view=timeline&"+in), `aria-current="true"><time`)
	for _, path := range []string{"/diagnostics/agents/a2/event?" + in, "/diagnostics/agents/a2?view=timeline&" + in, "/diagnostics/agents/a1/event?event=0011223344556677:0:10"} {
		body := h.page(path)
		require.Contains(t, body, "not in the trace any more", path)
		require.NotContains(t, body, "<dt>Call</dt>", path)
	}
	status, _, _ := h.ask(h.client, http.MethodGet, "/diagnostics/agents/a1/event?event=x", nil)
	require.Equal(t, http.StatusBadRequest, status)
}
