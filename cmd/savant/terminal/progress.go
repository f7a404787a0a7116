package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A command reports a call's progress after firstProgress, and then every
// progressEvery.
const (
	firstProgress = 300 * time.Millisecond
	progressEvery = time.Second
)

// Progress returns a function that writes lines of progress to out: at most one per
// second, and none in the first 300 ms.
func Progress(out io.Writer, now func() time.Time) func(done, total float64, message string) {
	return Paced(now, func(line string) { fmt.Fprintln(out, line) })
}

// Paced is Progress with another way to show a line. show is not called concurrently.
func Paced(now func() time.Time, show func(line string)) func(done, total float64, message string) {
	var mu sync.Mutex
	due := now().Add(firstProgress)
	return func(done, total float64, message string) {
		mu.Lock()
		defer mu.Unlock()
		if now().Before(due) {
			return
		}
		due = now().Add(progressEvery)
		line := Visible(message)
		if total > 0 {
			line += fmt.Sprintf(": %.0f of %.0f", done, total)
		}
		show(line)
	}
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

// Elapsed formats a temporary last line that says what is running and for how long; the
// next line replaces it.
func Elapsed(doing string, took time.Duration) string {
	return fmt.Sprintf("%s… %s %v", ClearLine, Visible(doing), took.Truncate(time.Second))
}

// ProgressOf is Progress for a call that may report nothing: at a terminal a temporary
// last line shows its duration until end is called.
func ProgressOf(out io.Writer, call string) (tell func(done, total float64, message string), end func()) {
	if !Is(out) {
		return Progress(out, time.Now), func() {}
	}
	var mu sync.Mutex // guards out
	begun := time.Now()
	stop := EverySecond(func() {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprint(out, Elapsed(call, time.Since(begun)))
	})
	tell = Paced(time.Now, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, ClearLine+line)
	})
	return tell, func() {
		stop()
		fmt.Fprint(out, ClearLine)
	}
}
