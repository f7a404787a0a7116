package app

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/internal/settings"
	"savant/reasoning/mongoqueue"
	"savant/test/mongotest"
)

// A queue behind a slow network is reachable, also at the first look, which makes the
// connection.
func TestAFarQueueIsReachable(t *testing.T) {
	t.Parallel()
	proxy := mongotest.NewProxy(t, mongotest.Start(t), 1)
	proxy.Use(mongotest.Faults{Latency: 130 * time.Millisecond})
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: proxy.URI(mongotest.NewDatabase())}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	found := standings{app: &App{}, queue: mongoqueue.New(database)}.Deciders(t.Context())
	require.Len(t, found, 1)
	require.Equal(t, "reachable", found[0].State, found[0].Reason)
}

// TestAHubIsNamedToWhoCanReachIt: other processes of the folder name it while it serves, but
// not to clients of other machines, and no file makes them name something else.
func TestAHubIsNamedToWhoCanReachIt(t *testing.T) {
	folder := t.TempDir()
	opened := func(address string) *App {
		root, err := os.OpenRoot(folder)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, root.Close()) })
		return &App{Root: root, Logger: slog.New(slog.DiscardHandler), settings: settings.Settings{HTTP: settings.HTTP{Address: address}}}
	}
	a, other := opened(""), hubOf{opened("")}
	require.Empty(t, other.URL())
	for _, at := range []HubAt{{ReadOnly: true}, {NoAnswers: true}} {
		a.AnnounceHub(t.Context(), at, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})()
	}
	a.AnnounceHub(t.Context(), HubAt{}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 9999})()
	require.NoFileExists(t, filepath.Join(folder, a.hubFile()))

	end := a.AnnounceHub(t.Context(), HubAt{}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9999})
	require.Equal(t, "http://127.0.0.1:9999", other.URL())
	require.Equal(t, other.URL(), hubOf{opened("127.0.0.1:8080")}.URL())
	require.Empty(t, hubOf{opened("0.0.0.0:8080")}.URL(), "its clients may be elsewhere")
	for _, forged := range []string{"127.0.0.1:9998", "10.0.0.1:9999", "127.0.0.1:9999/", "localhost.evil:9999", ""} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, a.hubFile()), []byte(forged), 0o600))
		require.Empty(t, other.URL(), forged)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, a.hubFile()), []byte("127.0.0.1:9999"), 0o600))
	require.NotEmpty(t, other.URL())
	end()
	require.Empty(t, other.URL(), "nobody serves there now")
}
