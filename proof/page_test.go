package proof_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"savant/proof"
)

// patience bounds the waits of a test, which would otherwise never end.
const patience = 5 * time.Minute

// browser opens a tab of Chromium, for make browser and CI.
func browser(t testing.TB) context.Context {
	t.Helper()
	if os.Getenv("SAVANT_BROWSER_TESTS") == "" {
		t.Skip("the tests in a browser are run by make browser")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "there is no chromium on this machine")
		t.Skip("NO CHROMIUM ON THIS MACHINE: THE PAGE OF A PROOF WAS NOT TESTED IN A BROWSER")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	return ctx
}

// page writes the page of a proof and returns its address.
func page(t testing.TB, file []byte) string {
	t.Helper()
	text, err := proof.Page(file)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "proof.html")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return "file://" + name
}

// asked returns what an expression of the page comes to.
func asked[T any](ctx context.Context, t testing.TB, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	return value
}

const checked = `new Promise((done) => { const look = () => document.body.dataset.checked ? done(document.getElementById("verdict").textContent) : setTimeout(look, 10); look(); })`

// TestThePageRefusesForgeries gives every forgery to the page. It says the reason that
// Savant says, and asks no network.
func TestThePageRefusesForgeries(t *testing.T) {
	ctx := browser(t)
	f, all := forgeries(t)
	address := page(t, f.file)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(address)))
	require.Contains(t, asked[string](ctx, t, checked), "Nobody has said yet whether that key counts")
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(f.ada.PublicKey())))
	for i, each := range all {
		report := proof.Verify(t.Context(), each.file, trusting(f.ada), nil)
		want := ""
		if report.Reason != nil {
			want = string(report.Reason.Code)
		}
		text, err := json.Marshal(string(each.file))
		require.NoError(t, err)
		got := asked[string](ctx, t, fmt.Sprintf("verifyProof(%s, [%q]).then((out) => out.code)", text, ssh.FingerprintSHA256(f.ada.PublicKey())))
		assert.Equal(t, want, got, "%d: %s", i, each.name)
	}

	// What a reader does: they name the key.
	name := func(text string) string {
		return asked[string](ctx, t, fmt.Sprintf(`(async () => { document.getElementById("key").value = %q; await check(); return document.getElementById("verdict").className; })()`, text))
	}
	require.Equal(t, "verified", name(key))
	require.Equal(t, "refused", name("SHA256:other"))
	revoke := func(text string) {
		asked[bool](ctx, t, fmt.Sprintf(`(document.getElementById("revoked").value = %q) !== null`, text))
	}
	revoke("# ours\n\n" + key)
	require.Equal(t, "refused", name(key))
	require.Equal(t, "refused", name(""))
	revoke(strings.TrimSpace(string(ssh.MarshalAuthorizedKey(f.eve.PublicKey()))))
	require.Equal(t, "verified", name(key))
	shown := asked[string](ctx, t, "document.body.innerText")
	for _, text := range []string{"1 of 5 steps: only said", "answered by a person", "at a terminal", "The workflow shipped"} {
		require.Contains(t, shown, text)
	}
	require.Zero(t, asked[float64](ctx, t, `performance.getEntriesByType("resource").length`))
	_, err := chromedp.Run(ctx, chromedp.Evaluate[string](`fetch("https://example.com").then(() => "sent")`, chromedp.EvalAwaitPromise))
	require.Error(t, err, "the page's policy must allow no network")
}

// BenchmarkPage measures a proof of 10,000 steps in Chromium: its verification.
func BenchmarkPage(b *testing.B) {
	if os.Getenv("SAVANT_BROWSER_TESTS") == "" {
		b.Skip("a browser is measured where SAVANT_BROWSER_TESTS is set")
	}
	const steps = 10_000
	w := newWorld(b, map[string]string{"long": long(steps)})
	address := page(b, sealed(b, w.statement(w.long("r1", steps)), signerOf(b, 'a')))
	ctx := browser(b) // its time begins here
	require.NoError(b, chromedp.Do(ctx, chromedp.Navigate(address)))
	require.Contains(b, asked[string](ctx, b, checked), "Whole, and signed by")
	taken := 0.0
	for b.Loop() {
		taken += asked[float64](ctx, b, `(async () => { const at = performance.now(); await verifyProof(document.getElementById("proof").textContent, null); return performance.now() - at; })()`)
	}
	b.ReportMetric(taken/float64(b.N), "ms/proof")
}
