package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressEvery is how often a command says how a call goes. A call that takes
// less is not spoken of.
const progressEvery = time.Second

// Progress returns what writes lines of progress to out: at most one each second,
// and none in the first.
func Progress(out io.Writer, now func() time.Time) func(done, total float64, message string) {
	var mu sync.Mutex
	last := now()
	return func(done, total float64, message string) {
		mu.Lock()
		defer mu.Unlock()
		if now().Sub(last) < progressEvery {
			return
		}
		last = now()
		line := Visible(message)
		if total > 0 {
			line += fmt.Sprintf(": %.0f of %.0f", done, total)
		}
		fmt.Fprintln(out, line)
	}
}
