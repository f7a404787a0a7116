package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience bounds a wait that would otherwise never end. It is no measure of anything.
const patience = 20 * time.Second

// shared is the browser of all tests; each has a profile of its own in it.
var shared struct {
	sync.Once
	ctx   context.Context
	close func()
	err   error
}

func startBrowser(program string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-dev-shm-usage", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {})) // of a protocol newer than the library
	shared.ctx, shared.err = ctx, chromedp.Do(ctx)
	shared.close = func() { stop(); cancel() }
}

func closeBrowser() {
	if shared.close != nil {
		shared.close()
	}
}

// tab is a tab of the browser.
type tab struct {
	t   testing.TB
	ctx context.Context
}

// newProfile opens a tab with cookies, storage and connections of its own.
func newProfile(t testing.TB) *tab {
	t.Helper()
	program := chromium(t)
	shared.Do(func() { startBrowser(program) })
	require.NoError(t, shared.err)
	ctx, cancel := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx))
	return &tab{t, ctx}
}

// another opens a further tab of the same profile.
func (p *tab) another() *tab {
	p.t.Helper()
	ctx, cancel := chromedp.NewContext(p.ctx)
	p.t.Cleanup(cancel)
	require.NoError(p.t, chromedp.Do(ctx))
	return &tab{p.t, ctx}
}

// do runs actions; one that never ends fails the test.
func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		require.NoError(p.t, err, p.shown())
	}
}

// shown is where a tab is and what it shows, for failures.
func (p *tab) shown() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText.slice(0, 3000)`))
	return text
}

// open loads a page.
func (p *tab) open(address string) { p.t.Helper(); p.do(chromedp.Navigate(address)) }

// eval returns the value of an expression, whose promise is awaited. $1 and further
// stand for values.
func eval[T any](p *tab, expression string, values ...any) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](filled(expression, values), chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return value
}

// until waits for an expression to be true. While the page changes to another there is
// nothing to ask.
func (p *tab) until(expression string, values ...any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	expression = filled(expression, values)
	for {
		yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if err == nil && yes {
			return
		}
		select {
		case <-ctx.Done():
			require.Fail(p.t, "it did not come true", "%s\n%v\n%s", expression, err, p.shown())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// filled puts values into an expression, as JSON.
func filled(expression string, values []any) string {
	for i, each := range values {
		raw, err := json.Marshal(each)
		if err != nil {
			panic(err)
		}
		expression = strings.ReplaceAll(expression, fmt.Sprintf("$%d", i+1), string(raw))
	}
	return expression
}

// says waits for an element to say something.
func (p *tab) says(selector, text string) {
	p.t.Helper()
	p.until(`(document.querySelector($1)?.innerText ?? "").includes($2)`, selector, text)
}

// click clicks what a selector finds first, once it can be seen.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// follow clicks a link or button and waits for the page it leads to.
func (p *tab) follow(selector string) {
	p.t.Helper()
	eval[bool](p, `window.stays = true`)
	p.click(selector)
	p.until(`window.stays === undefined && document.readyState === "complete"`)
}

// queryOf returns the values of a name in the address.
func (p *tab) queryOf(name string) []string {
	p.t.Helper()
	return eval[[]string](p, `new URLSearchParams(location.search).getAll($1)`, name)
}

// downloads has the browser keep files in a folder, and returns it.
func (p *tab) downloads() string {
	p.t.Helper()
	folder := p.t.TempDir()
	_, err := chromedp.CallBrowser(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow,
		BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID, DownloadPath: folder})
	require.NoError(p.t, err)
	return folder
}

// downloaded waits for a file, which is not empty: a browser reserves its name with an empty
// one, and puts the whole one in its place.
func (p *tab) downloaded(file string) []byte {
	p.t.Helper()
	var data []byte
	require.Eventually(p.t, func() (there bool) {
		var err error
		data, err = os.ReadFile(file)
		return err == nil && len(data) > 0
	}, patience, 10*time.Millisecond, file)
	return data
}

// call sends a command of the protocol to a tab.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(p.ctx, command, params)
	return err
}
