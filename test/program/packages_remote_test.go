package program

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// host serves repositories over https, and a project that takes packages from there.
type host struct {
	t                              *testing.T
	folder, project, home, scratch string
	server                         *httptest.Server
	environment                    []string
	// before answers a request in the place of git where it returns true.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	stray  atomic.Bool // something lay in the system's temporary folder during a request
}

func newHost(t *testing.T) *host {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("packages of repositories need git")
	}
	h := &host{t: t, folder: t.TempDir(), project: t.TempDir(), home: t.TempDir(), scratch: t.TempDir()}
	t.Setenv("HOME", h.home)
	t.Setenv("TMPDIR", h.scratch)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(h.home, ".config"))
	path, err := exec.Command("git", "--exec-path").Output()
	require.NoError(t, err)
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + h.folder, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
	h.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if left, err := os.ReadDir(h.scratch); err != nil || len(left) > 0 {
			h.stray.Store(true)
		}
		if before := h.before.Load(); before == nil || !(*before)(w, r) {
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(h.server.Close)
	authority := filepath.Join(h.home, "authority.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw}), 0o600))
	h.environment = []string{"SAVANT_PATH=" + h.project, "HOME=" + h.home, "GIT_SSL_CAINFO=" + authority}
	h.git("init", "-q", filepath.Join(h.folder, "acme/procedures"))
	h.release("1.0", "v1.0.0")
	return h
}

func (h *host) git(args ...string) string {
	h.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
	out, err := command.CombinedOutput()
	require.NoError(h.t, err, "%s", out)
	return string(out)
}

// release commits a version of the workflow and tags it.
func (h *host) release(version, tag string) {
	h.t.Helper()
	at := filepath.Join(h.folder, "acme/procedures")
	require.NoError(h.t, os.MkdirAll(filepath.Join(at, "workflows"), 0o700))
	text := fmt.Sprintf("name: greet\nversion: %q\nsteps:\n  - {id: say, call: llm.generate, input_template: {task: Greet %s}}\n", version, version)
	require.NoError(h.t, os.WriteFile(filepath.Join(at, "workflows/greet.yaml"), []byte(text), 0o600))
	h.git("-C", at, "add", "-A")
	h.git("-C", at, "commit", "-qm", version)
	h.git("-C", at, "tag", "-f", tag)
}

func (h *host) answer(before func(http.ResponseWriter, *http.Request) bool) { h.before.Store(&before) }

func (h *host) savant(ctx context.Context, arguments ...string) (code int, said string) {
	h.t.Helper()
	var out strings.Builder
	code = run(ctx, arguments, h.environment, strings.NewReader(""), &out, &out)
	return code, out.String()
}

func (h *host) says(code int, text string, arguments ...string) {
	h.t.Helper()
	got, said := h.savant(h.t.Context(), arguments...)
	require.Equal(h.t, code, got, said)
	require.Contains(h.t, said, text)
}

// forgotten removes the content of the packages, as in a new clone.
func (h *host) forgotten() {
	h.t.Helper()
	require.NoError(h.t, os.RemoveAll(filepath.Join(h.project, ".savant/packages")))
}

// lives takes a package from an address through its life.
func (h *host) lives(address string) {
	h.says(exitOK, "Added.", "workflows", "add", address+"@v1.0.0", "--yes")
	h.says(exitOK, "Greet 1.0", "workflows", "read", "greet")
	h.forgotten()
	h.says(exitOK, "acme/procedures: fetched", "workflows", "fetch")
	h.release("1.1", "v1.1.0")
	h.says(exitOK, "acme/procedures  v1.0.0  v1.1.0", "workflows", "outdated")
	h.says(exitOK, "Greet 1.0", "workflows", "read", "greet")
	h.says(exitOK, "v1.1.0", "workflows", "update", "procedures", "--yes")
	h.says(exitOK, "Greet 1.1", "workflows", "read", "greet")
	h.release("1.2", "v1.1.0")
	h.forgotten()
	h.says(exitConflict, "the tag of "+address+"@v1.1.0 was moved", "workflows", "fetch")
	h.says(exitInvalid, "is not here", "workflows", "read", "greet")
	h.says(exitOK, "v1.1.0", "workflows", "update", "procedures", "--yes")
	h.says(exitOK, "Greet 1.2", "workflows", "read", "greet")
	left, err := filepath.Glob(filepath.Join(h.project, ".savant/packages/.*"))
	require.NoError(h.t, err)
	require.Equal(h.t, []string{filepath.Join(h.project, ".savant/packages/.lock")}, left)
	require.False(h.t, h.stray.Load(), "a repository is fetched below SAVANT_PATH")
}

// TestPackagesOverHTTPS takes a package from git's own server behind TLS.
func TestPackagesOverHTTPS(t *testing.T) {
	h := newHost(t)
	h.lives(h.server.URL + "/acme/procedures")
	h.environment = h.environment[:2]
	h.forgotten()
	h.says(1, "certificate", "workflows", "fetch")
}

// TestPackagesOverSSH takes a package over what the person's GIT_SSH_COMMAND reaches.
func TestPackagesOverSSH(t *testing.T) {
	h := newHost(t)
	program := filepath.Join(h.home, "ssh")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n[ \"$1\" = -G ] && exit 1\nfor last; do :; done\necho \"$@\" >> "+h.home+"/asked\ncd "+h.folder+" && exec sh -c \"$last\"\n"), 0o700))
	h.environment = append(h.environment, "GIT_SSH_COMMAND="+program)
	h.lives("git@host.example:acme/procedures")
	asked, err := os.ReadFile(filepath.Join(h.home, "asked"))
	require.NoError(t, err)
	require.Contains(t, string(asked), "git@host.example git-upload-pack 'acme/procedures'")
}

// TestServersThatSendGarbage: each is an error, and nothing of the project changes.
func TestServersThatSendGarbage(t *testing.T) {
	h := newHost(t)
	advertised := "application/x-git-upload-pack-advertisement"
	write := func(status int, kind, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	onPack := func(answer func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodPost && answer(w, r) }
	}
	to := func(address string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, address, http.StatusFound)
			return true
		}
	}
	drop := func(w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"a page":                       write(200, "text/html", "<h1>Welcome</h1>"),
		"nothing":                      write(200, advertised, ""),
		"garbage as references":        write(200, advertised, strings.Repeat("\x00\xff~garbage", 999)),
		"an invalid length":            write(200, advertised, "zzzz# service=git-upload-pack\n0000"),
		"an error":                     write(500, "text/plain", "no"),
		"not there":                    write(404, "text/plain", "no"),
		"a closed connection":          drop,
		"garbage as content":           onPack(write(200, "application/x-git-upload-pack-result", strings.Repeat("PACK garbage", 999))),
		"an empty content":             onPack(write(200, "application/x-git-upload-pack-result", "")),
		"a connection that breaks off": onPack(drop),
		"a way to a file":              to("file://" + h.folder + "/acme/procedures/info/refs"),
		"a way to a plain server":      to("http://127.0.0.1:1/acme/procedures/info/refs"),
		"a way to itself":              to("/acme/procedures/info/refs?service=git-upload-pack"),
	} {
		h.answer(answer)
		h.says(1, "cannot be read", "workflows", "add", h.server.URL+"/acme/procedures@v1.0.0", "--yes")
		require.NoFileExists(t, filepath.Join(h.project, "workflows.lock"), name)
	}
	h.answer(func(http.ResponseWriter, *http.Request) bool { return false })
	h.says(exitOK, "Added.", "workflows", "add", h.server.URL+"/acme/procedures@v1.0.0", "--yes")
	h.answer(write(200, advertised, "garbage"))
	h.says(1, "cannot be read", "workflows", "outdated")
	h.says(exitOK, "Greet 1.0", "workflows", "read", "greet")
}

// TestAServerThatHangsIsLeft: the wish to stop ends the program and git, and nothing is left.
func TestAServerThatHangsIsLeft(t *testing.T) {
	h := newHost(t)
	ctx, stop := context.WithCancel(t.Context())
	gone := make(chan struct{})
	h.answer(func(_ http.ResponseWriter, r *http.Request) bool {
		stop()
		<-r.Context().Done() // git has closed the connection
		close(gone)
		return true
	})
	code, said := h.savant(ctx, "workflows", "add", h.server.URL+"/acme/procedures@v1.0.0", "--yes")
	require.NotZero(t, code, said)
	<-gone
	require.NoFileExists(t, filepath.Join(h.project, "workflows.lock"))
	left, err := filepath.Glob(filepath.Join(h.project, ".savant/packages/.fetch-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestPasswordsOfHostsAreNowhere: git's own settings have a password for the host. It is used,
// and it stands nowhere, also where the server sends it back.
func TestPasswordsOfHostsAreNowhere(t *testing.T) {
	h := newHost(t)
	const password = "hunter2-correct-horse"
	plain := strings.TrimPrefix(h.server.URL, "https://")
	require.NoError(t, os.WriteFile(filepath.Join(h.home, ".gitconfig"),
		[]byte("[url \"https://ann:"+password+"@"+plain+"/\"]\n\tinsteadOf = https://"+plain+"/\n"), 0o600))
	deny := func(w http.ResponseWriter, r *http.Request) bool {
		user, given, is := r.BasicAuth()
		if !is {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "not you, %s with %s\n%s\n", user, given, r.Header.Get("Authorization"))
		return true
	}
	h.answer(deny)
	var all strings.Builder
	for _, line := range [][]string{{"workflows", "add", h.server.URL + "/acme/procedures@v1.0.0", "--yes"}, {"workflows", "outdated"}} {
		_, said := h.savant(t.Context(), line...)
		all.WriteString(said)
		h.answer(func(w http.ResponseWriter, r *http.Request) bool {
			_, given, _ := r.BasicAuth()
			if given == password {
				return false
			}
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		h.savant(t.Context(), "workflows", "add", h.server.URL+"/acme/procedures@v1.0.0", "--yes")
		h.answer(deny)
	}
	require.Contains(t, all.String(), "cannot be read")
	require.FileExists(t, filepath.Join(h.project, "workflows.lock"), "the password was used")
	require.NoError(t, filepath.WalkDir(h.project, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			text, readErr := os.ReadFile(name)
			all.Write(text)
			return readErr
		}
		return err
	}))
	require.NotContains(t, all.String(), password)
	require.NotContains(t, all.String(), "Basic ")
}
