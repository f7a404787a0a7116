package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A command reports a call's progress after firstProgress, and then every
// progressEvery.
const (
	firstProgress = 300 * time.Millisecond
	progressEvery = time.Second
)

// progress returns a function that writes lines of progress to out: at most one per
// second, and none in the first 300 ms.
func progress(out io.Writer, now func() time.Time) func(done, total float64, message string) {
	var mu sync.Mutex
	due := now().Add(firstProgress)
	return func(done, total float64, message string) {
		mu.Lock()
		defer mu.Unlock()
		if now().Before(due) {
			return
		}
		due = now().Add(progressEvery)
		fmt.Fprintln(out, Reached(done, total, message))
	}
}

// Reached says how far a call is.
func Reached(done, total float64, message string) string {
	line := Visible(message)
	if total > 0 {
		line += fmt.Sprintf(": %.0f of %.0f", done, total)
	}
	return line
}

// EverySecond calls show once a second until stop returns.
func EverySecond(show func()) (stop func()) {
	ticker, done := time.NewTicker(time.Second), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				show()
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		running.Wait()
	}
}

// Elapsed formats a temporary last line that says what is running, for how long and how
// far it is, within the width of the terminal; the next line replaces it.
func Elapsed(out io.Writer, doing string, took time.Duration, reached string) string {
	line := fmt.Sprintf("… %s %v", Visible(doing), took.Truncate(time.Second))
	if reached != "" {
		line += ": " + strings.Join(strings.Fields(reached), " ")
	}
	if width := widthOf(out); width > 0 {
		line = cutTo(line, width-1)
	}
	return ClearLine + line
}

// ProgressOf returns a function that tells how far a call is. At a terminal that can do it, that is a
// temporary last line, with the call's duration, until end is called; elsewhere it is a
// line now and then.
func ProgressOf(out io.Writer, variable func(string) (string, bool), call string) (tell func(done, total float64, message string), end func()) {
	if !Rewrites(out, variable) {
		return progress(out, time.Now), func() {}
	}
	var mu sync.Mutex // guards reached
	begun, reached := time.Now(), ""
	stop := EverySecond(func() {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprint(out, Elapsed(out, call, time.Since(begun), reached))
	})
	tell = func(done, total float64, message string) {
		mu.Lock()
		defer mu.Unlock()
		reached = Reached(done, total, message)
	}
	return tell, sync.OnceFunc(func() {
		stop()
		fmt.Fprint(out, ClearLine)
	})
}
