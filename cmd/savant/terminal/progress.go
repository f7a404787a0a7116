package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A command says how a call goes once it has taken firstProgress, and then every
// progressEvery.
const (
	firstProgress = 300 * time.Millisecond
	progressEvery = time.Second
)

// Progress returns what writes lines of progress to out: at most one each second, and
// none in the first 300 ms.
func Progress(out io.Writer, now func() time.Time) func(done, total float64, message string) {
	return Paced(now, func(line string) { fmt.Fprintln(out, line) })
}

// Paced is Progress for a line that is shown otherwise. It is shown by one goroutine
// at a time.
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
