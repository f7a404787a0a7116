package mount_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"savant/engines"
	"savant/engines/mount"
	"savant/fault"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		fake{mode}.serve()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// world is a SAVANT_PATH with servers, and all that is said about them.
type world struct {
	t        *testing.T
	path     string
	registry *engines.Registry
	mounts   *mount.Mounts
	log      *logBook
	// options are changed before open.
	options mount.Options
}

type logBook struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *logBook) Write(data []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(data)
}

func (b *logBook) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// secret is planted wherever a secret may be.
const secret = "hunter2hunter2"

// fakeEntry is a server of the file: the test binary in a mode. Under the race
// detector a process otherwise sleeps a second at its end.
func fakeEntry(t *testing.T, mode, more string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return fmt.Sprintf(`{"command": %q, "args": ["-test.run=^$"], "env": {%q: %q, "GORACE": "atexit_sleep_ms=0", "API_TOKEN": "${API_TOKEN}"}%s}`, self, fakeMode, mode, more)
}

// newWorld writes a file of servers; nothing is opened yet.
func newWorld(t *testing.T, config string) *world {
	t.Helper()
	w := &world{t: t, path: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(w.path, ".savant"), 0o700))
	w.write(".savant/mcp.json", config)
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.path, name), []byte(text), 0o600))
}

// open begins anew, as another process would.
func (w *world) open() *world {
	w.t.Helper()
	w.close()
	root, err := os.OpenRoot(w.path)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = root.Close() })
	w.log = &logBook{}
	logger := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.registry = engines.NewRegistry(engines.Options{Logger: logger, ResultLimit: 64 << 20})
	require.NoError(w.t, w.registry.Add(engines.Bind("git.status", "Status.", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })))
	if w.options.FirstPause == 0 {
		w.options.FirstPause = time.Millisecond
	}
	w.options.Root, w.options.Path, w.options.Registry, w.options.Logger = root, w.path, w.registry, logger
	w.options.Environment = []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/ada", "API_TOKEN=" + secret, "OTHER_SECRET=x"}
	w.mounts = mount.Open(w.options)
	w.t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	if w.mounts != nil {
		w.mounts.Close()
		w.mounts = nil
	}
}

// discover waits for servers never seen.
func (w *world) discover() *world {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	w.mounts.Discover(ctx, w.registry.Engines()...)
	return w
}

func (w *world) call(tool, do string) (any, error) {
	return w.registry.Call(w.t.Context(), tool, json.RawMessage(fmt.Sprintf(`{"do":%q}`, do)))
}

// called returns the JSON of a call that has to go well.
func (w *world) called(tool, do string) string {
	w.t.Helper()
	result, err := w.call(tool, do)
	require.NoError(w.t, err)
	data, err := json.Marshal(result)
	require.NoError(w.t, err)
	return string(data)
}

func (w *world) status(engine string) engines.Health {
	w.t.Helper()
	for _, each := range w.registry.Health(w.t.Context()) {
		if each.Engine == engine {
			return each
		}
	}
	require.Fail(w.t, "no engine "+engine)
	return engines.Health{}
}

// oneServer is a world with one fake server, seen and listed.
func oneServer(t *testing.T, mode, more string) *world {
	t.Helper()
	return newWorld(t, `{"mcpServers": {"fake": `+fakeEntry(t, mode, more)+`}}`).open().discover()
}

func TestResultsArePassedThrough(t *testing.T) {
	w := oneServer(t, "good", "")
	require.Equal(t, []string{"fake.echo"}, w.status("fake").Tools)
	require.Equal(t, engines.Ready, w.status("fake").State)
	require.JSONEq(t, `{"text":"done"}`, w.called("fake.echo", ""))
	require.JSONEq(t, `{"a":1}`, w.called("fake_echo", "json"))
	require.Contains(t, w.called("fake.echo", "structured"), "9007199254740993")
	require.JSONEq(t, `{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}`, w.called("fake.echo", "image"))
	require.JSONEq(t, `{"text":"notes\nreadme"}`, w.called("fake.echo", "two"))
	require.JSONEq(t, `{"content":[{"type":"text","text":"[1]"}]}`, w.called("fake.echo", "list"))
	require.JSONEq(t, `{"text":"done"}`, w.called("fake.echo", "ask"))

	result, err := w.registry.Call(t.Context(), "fake.echo", json.RawMessage(`{"do":"arguments","big":9007199254740993}`))
	require.NoError(t, err)
	data, err := json.Marshal(result)
	require.NoError(t, err)
	require.Contains(t, string(data), `9007199254740993`)
}

// An answer that is not what its tool's output schema promises has failed:
// clients that are shown that schema would refuse it, and say less of it.
func TestAnswersAreHeldAgainstTheirOutputSchema(t *testing.T) {
	w := changing(t, `[{"name":"echo","description":"Echoes.","inputSchema":{"type":"object"},
		"outputSchema":{"type":"object","properties":{"do":{"type":"string"},"n":{"type":["integer","string"],"maxLength":5}},"required":["n"]}}]`)
	require.Contains(t, w.called("fake.echo", "structured"), "9007199254740993")
	require.JSONEq(t, `{"n":7}`, w.called("fake.echo", "fits"), "which gives it as text alone")
	for do, said := range map[string]string{
		`{"do":"arguments","n":1.5}`:              `/n: `,
		`{"do":"arguments"}`:                      `"n"`,
		`{"do":"arguments","n":"` + secret + `"}`: `[redacted]`,
		`{"do":"json"}`:                           `{"a": 1}`,
		`{"do":"fail"}`:                           `it broke: [redacted]`,
	} {
		_, err := w.registry.Call(t.Context(), "fake.echo", json.RawMessage(do))
		require.ErrorIs(t, err, fault.ToolFailed, do)
		require.Contains(t, err.Error(), "echo", "the tool")
		require.Contains(t, err.Error(), said, "what is wrong, or what the server says")
		require.NotContains(t, err.Error(), secret)
	}
}

func TestProgressReachesTheCaller(t *testing.T) {
	w := oneServer(t, "good", "")
	var reports []string
	call := engines.Call{Caller: engines.Caller{Progress: func(done, total float64, message string) {
		reports = append(reports, fmt.Sprint(done, "/", total, " ", message))
	}}}
	_, err := w.registry.Invoke(t.Context(), call, "fake.echo", json.RawMessage(`{"do":"wait"}`))
	require.NoError(t, err)
	require.Equal(t, []string{"1/3 step", "2/3 step", "3/3 step"}, reports)
}

func mayHaveHadAnEffect(err error) bool { return fault.From(err).Extra["outcome"] == "unknown" }

func TestFailuresAreCodedAndTellNoSecret(t *testing.T) {
	t.Parallel()
	w := oneServer(t, "good", "")
	for do, code := range map[string]fault.Code{"fail": fault.ToolFailed, "rpc": fault.ToolFailed, "huge": fault.ToolFailed, "crash": fault.EngineOffline} {
		_, err := w.call("fake.echo", do)
		require.ErrorIs(t, err, code, do)
		require.NotContains(t, err.Error(), secret, do)
		require.Equal(t, do == "crash", mayHaveHadAnEffect(err), do)
		require.Equal(t, do == "crash", strings.Contains(err.Error(), `(exit status 2); it wrote to stderr: "panic: nil map of [redacted]"`), err)
		require.JSONEq(t, `{"text":"done"}`, w.called("fake.echo", ""), "after %s", do)
	}
	require.NotContains(t, w.called("fake.echo", "env"), secret)
	require.NotContains(t, w.log.String(), secret)
}

func TestOnlyWhatIsListedIsInTheEnvironment(t *testing.T) {
	w := oneServer(t, "good", "")
	env := w.called("fake.echo", "env")
	require.Contains(t, env, "HOME=/home/ada")
	require.NotContains(t, env, "OTHER_SECRET")
	require.NotContains(t, env, "GOCACHE")
}

func TestAHungCallIsCancelled(t *testing.T) {
	t.Parallel()
	w := oneServer(t, "good", `, "timeout": 2`)
	_, err := w.call("fake.echo", "hang")
	require.ErrorIs(t, err, fault.ToolTimeout)
	require.True(t, mayHaveHadAnEffect(err))
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "cancelled") }, time.Minute, 10*time.Millisecond)
	require.JSONEq(t, `{"text":"done"}`, w.called("fake.echo", ""))
}

// The timeout of a call names what the server printed instead of an answer.
func TestATimeoutNamesTheLineThatWasSkipped(t *testing.T) {
	t.Parallel()
	w := oneServer(t, "good", `, "timeout": 2`)
	_, err := w.call("fake.echo", "trace")
	require.ErrorIs(t, err, fault.ToolTimeout)
	require.ErrorContains(t, err, `a line that is no message: "Traceback: no module named x, key `)
	require.NotContains(t, err.Error(), secret)
	require.True(t, mayHaveHadAnEffect(err))
}

func TestNoProcessIsLeftBehind(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"good", "stubborn"} {
		w := oneServer(t, mode, "")
		var said struct{ Text string }
		require.NoError(t, json.Unmarshal([]byte(w.called("fake.echo", "child")), &said))
		pid, err := strconv.Atoi(said.Text)
		require.NoError(t, err)
		w.close()
		require.True(t, gone(pid), "the server's own child lives on")
	}
}

func TestAServerThatDoesNotStartIsOffline(t *testing.T) {
	w := newWorld(t, `{"mcpServers": {"dead": `+fakeEntry(t, "dead", "")+`, "none": {"command": "no-such-program-anywhere"}, "fake": `+fakeEntry(t, "good", "")+`}}`).open().discover()
	require.Equal(t, engines.Offline, w.status("dead").State)
	require.Contains(t, w.status("none").Reason, "no such program")
	require.Equal(t, engines.Ready, w.status("fake").State)
	const words = `(exit status 3); it wrote to stderr: "noise / Error: no module for [redacted] / gone"`
	require.Contains(t, w.log.String(), "no module for [redacted]")
	require.NotContains(t, w.log.String(), secret)
	_, err := w.call("dead.echo", "")
	require.ErrorIs(t, err, fault.EngineOffline)
	require.ErrorContains(t, err, words)
}

func TestWhatIsNoMessageIsPassedOver(t *testing.T) {
	w := oneServer(t, "noisy", "")
	require.JSONEq(t, `{"text":"done"}`, w.called("fake.echo", ""))
	w.close()
	require.Less(t, len(w.log.String()), 200_000)
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "too much for the log") }, time.Minute, 10*time.Millisecond)
	require.NotContains(t, w.log.String(), secret)
}

func TestAServerWithoutInitialize(t *testing.T) {
	require.JSONEq(t, `{"text":"done"}`, oneServer(t, "modern", "").called("fake.echo", ""))
}

// A server once seen is listed without being started.
func TestListedFromWhatWasSeen(t *testing.T) {
	w := oneServer(t, "good", "").open()
	require.Equal(t, engines.Idle, w.status("fake").State)
	require.Equal(t, []string{"fake.echo"}, w.status("fake").Tools)
	w.discover()
	require.Equal(t, engines.Idle, w.status("fake").State, "it was started though it is known")
	require.JSONEq(t, `{"text":"done"}`, w.called("fake.echo", ""))
	require.Equal(t, engines.Ready, w.status("fake").State)
}

func TestManyCallsAtOnceStartOneServer(t *testing.T) {
	w := oneServer(t, "good", "").open()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := w.call("fake.echo", ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, strings.Count(w.log.String(), "a server started"))
}

// A server that failed is not started for every call.
func TestAPauseBetweenStarts(t *testing.T) {
	w := newWorld(t, `{"mcpServers": {"dead": `+fakeEntry(t, "dead", "")+`}}`)
	w.options.FirstPause = time.Hour
	w.open().discover().discover().discover()
	require.Equal(t, 1, strings.Count(w.log.String(), "a server does not start"))
}

// A server that no longer answers anything is ended, and another begun.
func TestAHungServerIsEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"mcpServers": {"fake": `+fakeEntry(t, "hung", `, "timeout": 2`)+`}}`)
	w.options.PingTime = 100 * time.Millisecond
	w.open().discover()
	_, err := w.call("fake.echo", "hang")
	require.ErrorIs(t, err, fault.ToolTimeout)
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "does not answer is ended") }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { _, err := w.call("fake.echo", ""); return err == nil }, time.Minute, 10*time.Millisecond) // once it has started
	require.Equal(t, 2, strings.Count(w.log.String(), "a server started"))
}

// A server that says nothing at all holds nobody, and ends with the rest.
func TestAMuteServer(t *testing.T) {
	w := newWorld(t, `{"mcpServers": {"mute": `+fakeEntry(t, "mute", "")+`}}`).open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.mounts.Discover(ctx, "mute")
	require.Equal(t, engines.Idle, w.status("mute").State)
	require.Equal(t, "it is starting", w.status("mute").Reason)
	_, err := w.call("mute.any", "")
	require.Error(t, err)
	w.close()
}

// A call whose time is over before the server is there was not made, and says so.
func TestACallOfAServerThatIsStillStarting(t *testing.T) {
	w := changing(t, definitions(definition("a", "A.")))
	config := strings.Replace(`{"mcpServers": {"fake": `+changingEntry(t, w)+`}}`, `{"command"`, `{"timeout": "50ms", "command"`, 1)
	w.write(".savant/mcp.json", config)
	w.write("tools.json", "silence")
	_, err := w.open().call("fake.a", "")
	require.ErrorIs(t, err, fault.ToolTimeout)
	require.ErrorContains(t, err, "not called", "it may be called again")
	require.False(t, mayHaveHadAnEffect(err))
}

// Many callers of a server that crashes again and again each get an answer or
// a code, and it works in the end.
func TestCallsWhileAServerCrashes(t *testing.T) {
	t.Parallel()
	w := oneServer(t, "good", "")
	var all sync.WaitGroup
	for caller := range 8 {
		all.Go(func() {
			for i := range 10 {
				do := []string{"", "wait", "fail", "json", "crash"}[(caller+i)%5]
				_, err := w.call("fake.echo", do)
				if code := fault.From(err); err != nil && code.Code != fault.EngineOffline && code.Code != fault.ToolFailed {
					t.Errorf("%s: %v", do, err)
				}
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { _, err := w.call("fake.echo", ""); return err == nil }, time.Minute, 50*time.Millisecond)
}
