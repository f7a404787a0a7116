package reasoning_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
)

// lines is a service that plays its answers in lines, one a question.
func lines(answers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), reasoning.StreamType) {
			http.Error(w, "nobody listens", http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", reasoning.StreamType+"; charset=utf-8")
		fmt.Fprint(w, answers[0])
		answers = answers[1:]
	}
}

// aloud is a transport in this process: it streams a text, and fails until the last
// attempt.
type aloud struct{ failures int }

func (a *aloud) RoundTrip(_ context.Context, _ reasoning.Request, observer reasoning.Observer) (json.RawMessage, error) {
	observer.Wrote("Hel")
	if a.failures--; a.failures >= 0 {
		return nil, &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "it broke off")}
	}
	return json.RawMessage(`{"action":"finish","final":"done"}`), nil
}

func TestTheTextOfEachAttemptInThisProcessHasItsOwnLine(t *testing.T) {
	heard := ""
	observer := reasoning.NewObserved(func(part string) { heard += part })
	_, err := reasoning.New(reasoning.Options{Transport: &aloud{failures: 1}, Retries: 1}).Decide(t.Context(), question, observer)
	require.NoError(t, err)
	require.Equal(t, "Hel\nHel", heard)
}

// TestAnAnswerInLines: a service that goes on writes from the beginning, and nothing is
// heard twice; another attempt has its own text.
func TestAnAnswerInLines(t *testing.T) {
	const text, done = `{"text":"%s"}` + "\n", `{"action":"finish","final":"done"}` + "\n"
	line := func(of string) string { return fmt.Sprintf(text, of) }
	for name, c := range map[string]struct {
		answers []string
		heard   string
		code    fault.Code
	}{
		"whole":             {[]string{line("Hel") + line("lo") + done}, "Hello", ""},
		"still deciding":    {[]string{line("Hel") + `{"status":"deciding"}`, line("Hello") + line("!") + done}, "Hello!", ""},
		"broken off":        {[]string{line("Hel"), line("Hello") + done}, "Hel\nHello", ""},
		"broken in a line":  {[]string{line("Hel") + `{"te`, done}, "Hel\n", ""},
		"failed":            {[]string{line("Hel") + `{"error":"REASONING_UNAVAILABLE","details":"down"}`, line("Oh") + done}, "Hel\nOh", ""},
		"an endless wait":   {[]string{line("Hel") + `{"error":"REASONING_UNAVAILABLE","details":"down","retry_after":1e12}`, line("Oh") + done}, "Hel", fault.ReasoningUnavailable},
		"a text of intents": {[]string{line(`{\"action\":`) + `{"action":"finish","final":"done","text":"no line"}`}, `{"action":`, ""},
		"no usable answer":  {[]string{line("Hel") + `{"error":"INVALID_INTENT","details":"no JSON"}`}, "Hel", fault.InvalidIntent},
		"a proxy's page":    {[]string{line("Hel") + `<html>`, done}, "Hel\n", ""},
		"a torn line":       {[]string{line("Hel") + `{"text":"lo` + "\nno connection to upstream", done}, "Hel\n", ""},
		"no JSON":           {[]string{line("Hel") + `{"text" "lo"}`}, "Hel", fault.InvalidIntent},
		"never whole":       {[]string{"", "", ""}, "", fault.ReasoningUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			heard := ""
			observer := reasoning.NewObserved(func(part string) { heard += part })
			transport := overHTTP(t, lines(c.answers...), 0).Transport()
			client := reasoning.New(reasoning.Options{Transport: transport, Remote: true, Retries: 2})
			intent, err := client.Decide(t.Context(), question, observer)
			require.Equal(t, c.heard, heard)
			if c.code != "" {
				require.ErrorIs(t, err, c.code)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "done", intent.Final)
		})
	}
}

// TestAPageThatQuotesTheToken: what is cut does not show the beginning of a secret.
func TestAPageThatQuotesTheToken(t *testing.T) {
	for at := range 30 {
		page := "<html>" + strings.Repeat("x", 470+at) + " " + token
		transport := overHTTP(t, lines(`{"text":"a"}`+"\n"+page), 0).Transport()
		_, err := reasoning.New(reasoning.Options{Transport: transport, Remote: true}).Decide(t.Context(), question, reasoning.NewObserved(func(string) {}))
		require.ErrorContains(t, err, "broke off its answer with <html>")
		require.NotContains(t, err.Error(), token[:4])
	}
}

// TestABodyThatBreaksOff: without a length, a lost connection looks like the end of the answer.
func TestABodyThatBreaksOff(t *testing.T) {
	const whole = `{"action":"finish","final":"done","reasoning":"{}"}`
	for _, at := range []int{0, 1, 20, len(whole) - 1} {
		asked := 0
		client := overHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked == 1 {
				fmt.Fprint(w, whole[:at])
				w.(http.Flusher).Flush() // without a length
				return
			}
			fmt.Fprint(w, whole)
		}, 1)
		answer, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
		require.NoError(t, err, whole[:at])
		require.Equal(t, "done", answer.Final)
	}
}

// TestWhatIsSentIsReadByItsType: lines that nobody asked for are read, and an error that a
// service answers with 200 is one, which may pass.
func TestWhatIsSentIsReadByItsType(t *testing.T) {
	for body, kind := range map[string]string{
		`{"text":"a"}` + "\n" + `{"action":"finish","final":"done"}`: reasoning.StreamType,
		`{"error":"REASONING_UNAVAILABLE","details":"down"}`:         "application/json",
		`{"error":{"message":"down"}}`:                               "application/json",
	} {
		asked := 0
		client := overHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Content-Type", kind)
			if kind != reasoning.StreamType && asked > 1 {
				body = `{"action":"finish","final":"done"}`
			}
			fmt.Fprint(w, body)
		}, 1)
		answer, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
		require.NoError(t, err, body)
		require.Equal(t, "done", answer.Final)
		require.Equal(t, map[bool]int{true: 1, false: 2}[kind == reasoning.StreamType], asked)
	}
}
