package packages_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/packages"
	"savant/think/flow"
)

// A source that could run a program, read elsewhere or hide where it leads is refused; its
// harmless neighbours are read.
func TestSources(t *testing.T) {
	for _, text := range []string{
		"", "-uevil", "--upload-pack=touch x@v1", "ext::sh -c touch%20x@v1", "fd::7@v1", "http://host/o/r@v1", "git://host/o/r@v1", "ftp://host/o/r@v1",
		"https://-oProxyCommand=x/o/r@v1", "ssh://-oProxyCommand=x@host/o/r@v1", "https://user:secret@host/o/r@v1", "https://host@v1", "https://host/@v1", "https://host/o/r", "git@host:o/r.git",
		"https://host/o/r@-v1", "https://host/o/r@v1..v2", "https://host/o/r@v1.lock", "https://host/o/r@v 1", "https://host/o/r@refs//x", "https://host/o/r?x=1@v1",
		"https://host/o/r//../other@v1", "https://host/o/r///etc@v1", "https://host/o/r//a/../../b@v1", "https://host/o/r//.git@v1", "a\nb@v1", "a\x00b", strings.Repeat("a", 1001),
	} {
		_, err := packages.ParseSource(text)
		require.ErrorIs(t, err, fault.InvalidParams, "%q", text)
	}
	for text, want := range map[string][2]string{
		"https://host/owner/repo.git@v1.2.0":   {"https://host/owner/repo.git||v1.2.0", "owner/repo"},
		"https://host/a/b/c//ops/x@release/1":  {"https://host/a/b/c|ops/x|release/1", "b/c/ops-x"},
		"ssh://git@host:22/owner/repo@v1":      {"ssh://git@host:22/owner/repo||v1", "owner/repo"},
		"git@host:owner/repo.git//flows@v1":    {"git@host:owner/repo.git|flows|v1", "owner/repo/flows"},
		"file:///srv/git/owner/repo@v1":        {"file:///srv/git/owner/repo||v1", "owner/repo"},
		"https://[::1]:8443/o/r@v1":            {"https://[::1]:8443/o/r||v1", "o/r"},
		"../folder":                            {"../folder||", "local/folder"},
		"./some repo.tar.gz":                   {"./some repo.tar.gz||", "local/some-repo"},
		"/abs/path/repo@v1":                    {"/abs/path/repo||v1", "local/repo"},
		"https://host/Owner Name/re%20po@v1.0": {"https://host/Owner Name/re%20po||v1.0", "Owner-Name/re-20po"},
		"https://host/o/mono@flows@1.0.0":      {"https://host/o/mono||flows@1.0.0", "o/mono"},
		"https://host/o/mono@@acme/x@1.2.0":    {"https://host/o/mono||@acme/x@1.2.0", "o/mono"},
		"https://host/o/mono//ops@ops@v2.0":    {"https://host/o/mono|ops|ops@v2.0", "o/mono/ops"},
		"https://host/@acme/flows@v1":          {"https://host/@acme/flows||v1", "acme/flows"},
		"https://host/o/a@b/flows@v1":          {"https://host/o/a@b/flows||v1", "a-b/flows"},
		"git@host:~me@corp/flows@v1":           {"git@host:~me@corp/flows||v1", "me-corp/flows"},
		"git@host:o/r.git@flows@1":             {"git@host:o/r.git||flows@1", "o/r"},
		"https://host/o/r//of/@acme/x@v1":      {"https://host/o/r|of/@acme/x|v1", "o/r/of--acme-x"},
		"https://host/o/r@versión-1":           {"https://host/o/r||versión-1", "o/r"},
		"file:///srv/r@flows%401.0.0":          {"file:///srv/r||flows@1.0.0", "srv/r"},
		"../r@@acme/flows@1.0.0":               {"../r@@acme/flows||1.0.0", "local/flows"},
		"file:///srv/me@work/r@v1":             {"file:///srv/me@work/r||v1", "me-work/r"},
	} {
		source, err := packages.ParseSource(text)
		require.NoError(t, err, text)
		require.Equal(t, want, [2]string{source.Address + "|" + source.Folder + "|" + source.Tag, source.Name()}, text)
		again, err := packages.ParseSource(source.String())
		require.NoError(t, err)
		require.Equal(t, source, again)
	}
}

// Nothing of a lock file is believed that does not have its form.
func TestLocksThatWereTamperedWith(t *testing.T) {
	const whole = `{"format":1,"packages":[{"name":"local/ops","source":"../ops@v1","commit":"` + commit + `","files":{"workflows/a.yaml":"` + digest + `"}}]}`
	_, err := packages.ReadLock([]byte(whole))
	require.NoError(t, err)
	for _, change := range [][2]string{
		{`"format":1`, `"format":2`}, {`"local/ops"`, `"../ops"`}, {`"local/ops"`, `"local/../../x"`}, {`"local/ops"`, `"/etc"`}, {`"local/ops"`, `"ops"`}, {`"local/ops"`, `"a/b/c/d"`}, {`"local/ops"`, `".git/x"`},
		{`../ops@v1`, `ext::sh -c x@v1`}, {`../ops@v1`, `-x@v1`}, {commit, "HEAD"}, {commit, "--all"}, {`"commit":"` + commit + `",`, ""}, {`../ops@v1`, `../ops`},
		{"workflows/a.yaml", "../a.yaml"}, {"workflows/a.yaml", "workflows/../../a.yaml"}, {"workflows/a.yaml", ".savant/ci.yaml"}, {"workflows/a.yaml", "workflows/.hidden.yaml"}, {"workflows/a.yaml", "workflows/a.sh"},
		{"workflows/a.yaml", "prompts.yaml"}, {"workflows/a.yaml", "prompts/a.sh"}, {"workflows/a.yaml", "workflows/prompts.yml/a.md"}, {"workflows/a.yaml", "workflows//a.yaml"}, {"workflows/a.yaml", `workflows/a\\b.yaml`}, {"workflows/a.yaml", "/workflows/a.yaml"}, {"workflows/a.yaml", "schemas/x/y.json"}, {"workflows/a.yaml", "workflows/con.yaml"}, {"workflows/a.yaml", "workflows/x./a.yaml"},
		{`"packages"`, "\n<<<<<<< HEAD\n\"packages\""}, {`"commit"`, `"name":"local/two","commit"`}, {digest, "sha256:0"}, {digest, "md5:" + strings.Repeat("0", 64)}, {`{"workflows/a.yaml":"` + digest + `"}`, `{}`}, {"]}", ""}, {`]}`, `,{"name":"Local/OPS","source":"../x","files":{"workflows/a.yaml":"` + digest + `"}}]}`},
	} {
		_, err := packages.ReadLock([]byte(strings.Replace(whole, change[0], change[1], 1)))
		require.ErrorIs(t, err, fault.YAMLSchemaViolation, "%q", change)
	}
	remote := strings.NewReplacer("../ops@v1", "https://evil.example/x/ops@v1", "local/ops", "acme/ops").Replace(whole)
	_, err = packages.ReadLock([]byte(remote))
	require.ErrorContains(t, err, "whose package is called x/ops")
	_, err = packages.ReadLock([]byte(strings.Replace(remote, "acme/ops", "x/ops", 1)))
	require.NoError(t, err)
	_, err = packages.ReadLock(make([]byte, 2<<20))
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
}

const (
	commit = "0123456789012345678901234567890123456789"
	digest = "sha256:0123456789012345678901234567890123456789012345678901234567890123"
)

// run runs git in a folder.
func run(t *testing.T, folder string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"}, args...)...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
}

// source is a folder with one workflow.
func source(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "a.yaml"), []byte("name: a\n"), 0o600))
	return folder
}

func fetch(t *testing.T, text string) (packages.Fetched, error) {
	t.Helper()
	parsed, err := packages.ParseSource(text)
	require.NoError(t, err)
	return packages.Fetcher{Base: t.TempDir(), Scratch: t.TempDir()}.Fetch(context.Background(), parsed)
}

// A link, a pipe or a file beyond the bounds in a package's folders is refused, in a folder
// and in a repository; what lies elsewhere is left out.
func TestSourcesThatReachElsewhere(t *testing.T) {
	for name, each := range map[string]struct {
		plant func(t *testing.T, folder string)
		code  fault.Code
		left  string
	}{
		"a link to a file":    {func(t *testing.T, f string) { link(t, "/etc/passwd", f, "workflows/b.yaml") }, fault.ToolDenied, ""},
		"a link within":       {func(t *testing.T, f string) { link(t, "a.yaml", f, "workflows/b.yaml") }, fault.ToolDenied, ""},
		"a link of schemas":   {func(t *testing.T, f string) { link(t, "/etc", f, "schemas/x.json") }, fault.ToolDenied, ""},
		"a linked folder":     {func(t *testing.T, f string) { link(t, "/etc", f, "schemas") }, fault.ToolDenied, ""},
		"a pointer of LFS":    {func(t *testing.T, f string) { pointer(t, f) }, fault.InvalidParams, ""},
		"a large file":        {func(t *testing.T, f string) { write(t, f, "workflows/b.yaml", 2<<20) }, fault.LimitExceeded, ""},
		"many files":          {func(t *testing.T, f string) { many(t, f, 600) }, fault.LimitExceeded, ""},
		"settings":            {func(t *testing.T, f string) { write(t, f, "savant.json", 10) }, "", "savant.json"},
		"a large file aside":  {func(t *testing.T, f string) { write(t, f, "video.mp4", 2<<20) }, "", "video.mp4"},
		"a hidden workflow":   {func(t *testing.T, f string) { write(t, f, "workflows/.b.yaml", 10) }, "", "workflows/.b.yaml"},
		"vendored workflows":  {func(t *testing.T, f string) { write(t, f, "workflows/vendor/x/y/z.yaml", 10) }, "", "workflows/vendor/"},
		"a script beside":     {func(t *testing.T, f string) { write(t, f, "workflows/b.sh", 10) }, "", "workflows/b.sh"},
		"a link of the whole": {func(t *testing.T, f string) { link(t, "/etc", f, "other") }, "", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := source(t)
			each.plant(t, folder)
			found, err := fetch(t, folder)
			check(t, found, err, each.code, each.left)
			run(t, folder, "init", "-q")
			run(t, folder, "add", "-A")
			run(t, folder, "commit", "-qm", "x")
			run(t, folder, "tag", "v1")
			found, err = fetch(t, folder+"@v1")
			check(t, found, err, each.code, strings.TrimSuffix(each.left, "/"))
			if err == nil {
				require.Len(t, found.Commit, 40)
			}
		})
	}
}

func check(t *testing.T, found packages.Fetched, err error, code fault.Code, left string) {
	t.Helper()
	if code != "" {
		require.ErrorIs(t, err, code)
		return
	}
	require.NoError(t, err)
	require.Equal(t, []string{"workflows/a.yaml"}, found.Content.Names())
	require.Contains(t, strings.Join(found.LeftOut, " "), left)
}

func link(t *testing.T, target, folder, name string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
	require.NoError(t, os.Symlink(target, filepath.Join(folder, name)))
}

func write(t *testing.T, folder, name string, size int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), bytes.Repeat([]byte("a"), size), 0o600))
}

func pointer(t *testing.T, folder string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "b.yaml"), []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), 0o600))
}

func many(t *testing.T, folder string, count int) {
	t.Helper()
	for i := range count {
		write(t, folder, fmt.Sprintf("workflows/w%d.yaml", i), 1)
	}
}

// A repository whose objects have longer names is read; what is no tag is told.
func TestRepositoriesOfSHA256(t *testing.T) {
	folder := source(t)
	run(t, folder, "init", "-q", "--object-format=sha256")
	run(t, folder, "add", "-A")
	run(t, folder, "commit", "-qm", "x")
	run(t, folder, "tag", "v1")
	found, err := fetch(t, folder+"@v1")
	check(t, found, err, "", "")
	require.Len(t, found.Commit, 64)
	_, err = fetch(t, folder+"@v2")
	require.ErrorContains(t, err, "has no tag v2")
}

// A submodule, a hook and a filter of a repository do nothing.
func TestRepositoriesThatWouldRunPrograms(t *testing.T) {
	inner, outer, marker := source(t), source(t), filepath.Join(t.TempDir(), "RAN")
	run(t, inner, "init", "-q")
	run(t, inner, "add", "-A")
	run(t, inner, "commit", "-qm", "x")
	run(t, outer, "init", "-q")
	require.NoError(t, os.WriteFile(filepath.Join(outer, ".gitattributes"), []byte("*.yaml filter=evil\n"), 0o600))
	run(t, outer, "submodule", "--quiet", "add", inner, "schemas")
	run(t, outer, "add", "-A")
	run(t, outer, "commit", "-qm", "x")
	run(t, outer, "tag", "v1")
	run(t, outer, "config", "filter.evil.smudge", "touch "+marker)
	run(t, outer, "config", "uploadpack.packObjectsHook", "touch "+marker+"; git pack-objects")
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction"} {
		require.NoError(t, os.WriteFile(filepath.Join(outer, ".git", "hooks", hook), []byte("#!/bin/sh\ntouch "+marker+"\n"), 0o700))
	}
	found, err := fetch(t, outer+"@v1")
	require.NoError(t, err)
	require.Equal(t, []string{"workflows/a.yaml"}, found.Content.Names())
	require.NoFileExists(t, marker)
}

// A signature counts for the name that was signed, and who signed is said.
func TestSignedTags(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("tags are signed with ssh-keygen")
	}
	home, folder := t.TempDir(), source(t)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	run(t, folder, "init", "-q")
	run(t, folder, "add", "-A")
	run(t, folder, "commit", "-qm", "x")
	for _, key := range []string{"anna", "mallory"} {
		out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(home, key)).CombinedOutput()
		require.NoError(t, err, string(out))
		run(t, folder, "-c", "gpg.format=ssh", "-c", "user.signingkey="+filepath.Join(home, key), "tag", "-sm", "x", "by-"+key)
	}
	run(t, folder, "tag", "-am", "x", "plain")
	run(t, folder, "update-ref", "refs/tags/v9", "by-anna")
	signedAs := func(tag string) string {
		found, err := fetch(t, folder+"@"+tag)
		require.NoError(t, err)
		return found.Signed
	}
	require.Contains(t, signedAs("by-anna"), "git cannot verify it here: error: gpg.ssh.allowedSignersFile")
	public, err := os.ReadFile(filepath.Join(home, "anna.pub"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "signers"), append([]byte("anna@x.org "), public...), 0o600))
	run(t, folder, "config", "--global", "gpg.ssh.allowedSignersFile", filepath.Join(home, "signers"))
	require.Contains(t, signedAs("by-anna"), `signed, verified by git: Good "git" signature for anna@x.org`)
	require.Equal(t, "signed, and git cannot verify it here: No principal matched.", signedAs("by-mallory"))
	require.Empty(t, signedAs("plain"))
	_, err = fetch(t, folder+"@v9")
	require.ErrorIs(t, err, fault.ToolDenied)
	require.ErrorContains(t, err, "signed under another name")
}

// archive makes an archive of entries.
func archive(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	files := tar.NewWriter(compressed)
	for _, each := range headers {
		require.NoError(t, files.WriteHeader(&each))
		_, err := files.Write(make([]byte, each.Size))
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(files.Close(), compressed.Close()))
	name := filepath.Join(t.TempDir(), "p.tar.gz")
	require.NoError(t, os.WriteFile(name, out.Bytes(), 0o600))
	return name
}

func TestArchivesThatWereTamperedWith(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	good := tar.Header{Name: "workflows/a.yaml", Mode: 0o600, Size: 8}
	for name, each := range map[string]struct {
		more tar.Header
		code fault.Code
	}{
		"a way out":               {tar.Header{Name: "../../workflows/b.yaml", Size: 1}, ""},
		"an absolute name":        {tar.Header{Name: "/workflows/b.yaml", Size: 1}, ""},
		"a link":                  {tar.Header{Name: "workflows/b.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, fault.ToolDenied},
		"a hard link":             {tar.Header{Name: "workflows/b.yaml", Typeflag: tar.TypeLink, Linkname: "workflows/a.yaml"}, fault.ToolDenied},
		"a pipe":                  {tar.Header{Name: "workflows/b.yaml", Typeflag: tar.TypeFifo}, fault.ToolDenied},
		"a device":                {tar.Header{Name: "workflows/b.yaml", Typeflag: tar.TypeChar}, fault.ToolDenied},
		"one name in other words": {tar.Header{Name: "./workflows/a.yaml", Size: 1}, fault.InvalidParams},
		"a name in another code":  {tar.Header{Name: "workflows/\xe9.yaml", Size: 1, Format: tar.FormatGNU}, ""},
		"one name twice":          {good, fault.InvalidParams},
		"a large file":            {tar.Header{Name: "workflows/b.yaml", Size: 2 << 20}, fault.LimitExceeded},
		"a large file aside":      {tar.Header{Name: "video.mp4", Size: 65 << 20}, fault.LimitExceeded},
		"commands":                {tar.Header{Name: ".savant/ci.yaml", Size: 1}, ""},
		"another package's":       {tar.Header{Name: "workflows/vendor/local/x/workflows/b.yaml", Size: 1}, ""},
		"a twin in capitals":      {tar.Header{Name: "workflows/A.yaml", Size: 1}, fault.InvalidParams},
		"a file as a folder":      {tar.Header{Name: "workflows/a.yaml/b.yaml", Size: 1}, fault.InvalidParams},
		"a name with controls":    {tar.Header{Name: "workflows/b\x1b[2J.yaml", Size: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := fetch(t, archive(t, good, each.more))
			check(t, found, err, each.code, "")
		})
	}
	whole, err := os.ReadFile(archive(t, good))
	require.NoError(t, err)
	for _, cut := range []int{0, 5, 20, len(whole) / 2, len(whole) - 9} {
		name := filepath.Join(t.TempDir(), "cut.tar.gz")
		require.NoError(t, os.WriteFile(name, whole[:cut], 0o600))
		_, err := fetch(t, name)
		require.Error(t, err, cut)
	}
	_, err = fetch(t, archive(t))
	require.ErrorIs(t, err, fault.InvalidParams, "it is empty")
}

// The same content gives the same archive, and is read back whole.
func TestAnArchiveIsReproducible(t *testing.T) {
	content := packages.Content{"workflows/b.yaml": []byte("b"), "workflows/a.yaml": []byte("a"), "rules/r.yaml": []byte("r")}
	one, err := content.Archive()
	require.NoError(t, err)
	two, err := content.Archive()
	require.NoError(t, err)
	require.Equal(t, one, two)
	for _, name := range []string{"p.tar.gz", "p.tgz", "p"} {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, one, 0o600))
		found, err := fetch(t, file)
		require.NoError(t, err)
		require.Equal(t, content, found.Content)
		source, err := packages.ParseSource(file)
		require.NoError(t, err)
		require.Equal(t, "local/p", source.Name())
	}
	text := filepath.Join(t.TempDir(), "p.tar.gz")
	require.NoError(t, os.WriteFile(text, []byte("name: a\n"), 0o600))
	_, err = fetch(t, text)
	require.ErrorIs(t, err, fault.ToolFailed)
	require.ErrorContains(t, err, "an archive that tar and gzip wrote")
}

// Content is used only as the lock names it, wherever it lies.
func TestContentThatWasTamperedWith(t *testing.T) {
	content := packages.Content{"workflows/a.yaml": []byte("name: a\n"), "schemas/S.json": []byte("{}")}
	pack := packages.Package{Name: "local/ops", Source: "../ops", Files: content.Digests()}
	place := func(t *testing.T) (string, *packages.Files) {
		folder := t.TempDir()
		root, err := os.OpenRoot(folder)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, root.Close()) })
		store := packages.NewStore(root)
		stage, err := store.Stage(pack, content)
		require.NoError(t, err)
		require.NoError(t, store.Change(t.Context(), func(lock packages.Lock) (*packages.Lock, error) {
			next := lock.With(pack)
			return &next, stage.Install(packages.Folder)
		}))
		return folder, packages.NewFiles(root.FS())
	}
	const file, inside = "workflows/local/ops/a.yaml", ".savant/packages/local/ops/workflows/a.yaml"
	folder, files := place(t)
	data, err := fs.ReadFile(files, file)
	require.NoError(t, err)
	require.Equal(t, "name: a\n", string(data))
	for name, tamper := range map[string]func(t *testing.T, folder string){
		"other bytes": func(t *testing.T, f string) { write(t, f, inside, 8) },
		"cut":         func(t *testing.T, f string) { require.NoError(t, os.Truncate(filepath.Join(f, inside), 3)) },
		"a link": func(t *testing.T, f string) {
			require.NoError(t, os.Remove(filepath.Join(f, inside)))
			link(t, "/etc/passwd", f, inside)
		},
		"gone": func(t *testing.T, f string) { require.NoError(t, os.Remove(filepath.Join(f, inside))) },
		"a folder": func(t *testing.T, f string) {
			require.NoError(t, os.Remove(filepath.Join(f, inside)))
			write(t, f, inside+"/x", 1)
		},
		"vendored, other": func(t *testing.T, f string) { write(t, f, "workflows/vendor/local/ops/workflows/a.yaml", 8) },
		"large":           func(t *testing.T, f string) { write(t, f, inside, 8<<20) },
		"a schema in place": func(t *testing.T, f string) {
			require.NoError(t, os.WriteFile(filepath.Join(f, inside), []byte("{}"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder, files := place(t)
			tamper(t, folder)
			_, err := fs.ReadFile(files, file)
			require.Error(t, err)
			missing, err := files.Missing()
			require.NoError(t, err)
			require.Len(t, missing, 1)
		})
	}
	write(t, folder, ".savant/packages/local/ops/workflows/more.yaml", 1)
	entries, err := fs.ReadDir(files, "workflows/local/ops")
	require.NoError(t, err)
	require.Len(t, entries, 1, "what the lock does not name is not there")
}

// A package hides no file of another: what both have in one place is in neither's.
func TestPackagesThatHideEachOther(t *testing.T) {
	lock := func(name, file, other, otherFile, otherDigest string) packages.Lock {
		return packages.Lock{Packages: []packages.Package{{Name: name, Source: "../a", Files: map[string]string{file: digest}}, {Name: other, Source: "../b", Files: map[string]string{otherFile: otherDigest}}}}
	}
	another := strings.Replace(digest, "0", "1", 1)
	for name, c := range map[string]struct {
		lock packages.Lock
		ok   bool
	}{
		"a rule by a name with a dot":       {lock("acme/ops", "rules/a.b.yaml", "acme/ops.a", "rules/b.yaml", another), false},
		"a rule by a name of three":         {lock("acme/ops", "rules/a.b.yaml", "acme/ops/a", "rules/b.yaml", another), false},
		"a workflow in a folder":            {lock("acme/ops", "workflows/a/b.yaml", "acme/ops/a", "workflows/b.yaml", another), false},
		"a schema":                          {lock("acme/ops", "schemas/R.json", "acme/other", "schemas/R.json", another), false},
		"the same schema":                   {lock("acme/ops", "schemas/R.json", "acme/other", "schemas/R.json", digest), true},
		"workflows and rules of equal name": {lock("acme/ops", "rules/b.yaml", "acme/other", "rules/b.yaml", another), true},
	} {
		data, err := c.lock.Encode()
		require.NoError(t, err)
		_, err = packages.NewFiles(fstest.MapFS{packages.LockName: {Data: data}}).Lock()
		if c.ok {
			require.NoError(t, err, name)
			require.NoError(t, c.lock.Clash(), name)
			continue
		}
		require.ErrorIs(t, err, fault.IDCollision, name)
		require.ErrorIs(t, c.lock.Clash(), fault.IDCollision, name)
	}
}

// The settings of git in a home folder that the project brings start nothing.
func TestAProjectsHomeConfiguresNoFetch(t *testing.T) {
	from, project, ran := source(t), t.TempDir(), filepath.Join(t.TempDir(), "ran")
	run(t, from, "init", "--quiet")
	run(t, from, "add", ".")
	run(t, from, "commit", "--quiet", "-m", "first")
	run(t, from, "tag", "v1")
	require.NoError(t, os.WriteFile(filepath.Join(project, ".gitconfig"), []byte("[uploadpack]\npackObjectsHook = touch "+ran+"; exec\n"), 0o600))
	t.Setenv("HOME", project)
	parsed, err := packages.ParseSource(from + "@v1")
	require.NoError(t, err)
	_, err = packages.Fetcher{Base: project, Scratch: t.TempDir()}.Fetch(t.Context(), parsed)
	require.NoError(t, err)
	require.NoFileExists(t, ran)
}

// Packages of which one lies in the folder of the other are not added: an update or a removal
// of that one would take both.
func TestPackagesInOneFolder(t *testing.T) {
	for other, ok := range map[string]bool{"acme/ops/sub": false, "ACME/ops": false, "Acme/OPS/sub": false, "acme/ops2": true, "acme/op": true, "acme2/ops/sub": true} {
		one := packages.Package{Name: "acme/ops", Source: "../a", Files: map[string]string{"workflows/a.yaml": digest}}
		two := packages.Package{Name: other, Source: "../b", Files: map[string]string{"workflows/b.yaml": digest}}
		for _, lock := range []packages.Lock{{Packages: []packages.Package{one, two}}, {Packages: []packages.Package{two, one}}} {
			err := lock.Clash()
			if ok {
				require.NoError(t, err, other)
				continue
			}
			require.ErrorIs(t, err, fault.IDCollision, other)
			require.ErrorContains(t, err, "acme/ops")
			require.ErrorContains(t, err, other)
		}
	}
	content := packages.Content{"workflows/caf\u00e9.yaml": []byte("a"), "workflows/cafe\u0301.yaml": []byte("b")}
	data, err := content.Archive()
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "p.tar.gz")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	_, err = fetch(t, name)
	require.ErrorIs(t, err, fault.InvalidParams, "one name in two spellings of Unicode")
}

// What changes is shown, whatever stands before it, and so is the order of steps and of rules.
func TestChangesAreShown(t *testing.T) {
	decode := func(name string, data []byte) (any, error) {
		value, _, err := flow.ReadYAMLPlaces(name, data)
		return value, err
	}
	long := strings.Repeat("é long words ", 40)
	before := packages.Content{"workflows/a.yaml": []byte("name: a\nsteps:\n- {id: one, call: t.x}\n- {id: two, call: t.x, input_template: {task: \"" + long + "old end\"}}\n- {id: three, call: t.y}\n"),
		"rules/r.yaml": []byte("rules:\n- {id: push, guard: [git.push], deny: true, message: \"" + long + "\"}\n- {id: tag, guard: [git.tag], deny: true}\n")}
	after := packages.Content{"workflows/a.yaml": []byte("name: a\nsteps:\n- {id: two, call: t.x, input_template: {task: \"" + long + "new end\"}}\n- {id: one, call: t.x}\n- {id: four, call: human.ask}\n"),
		"rules/r.yaml": []byte("rules:\n- {id: tag, guard: [git.tag, git.commit], deny: true}\n- {id: more, deny: true}\n- {id: push, guard: [git.push], deny: true, message: \"" + long + "\"}\n")}
	found := map[string]string{}
	for _, each := range packages.Changes(before, after, decode) {
		require.NotEqual(t, each.From, each.To, each)
		require.True(t, utf8.ValidString(each.From+each.To))
		found[strings.Join([]string{each.File, each.Step, each.Key}, "|")] = each.From + " → " + each.To
	}
	require.Equal(t, `one, two → two, one`, found["workflows/a.yaml||order of steps"])
	require.Contains(t, found["workflows/a.yaml|two|input_template"], "old end")
	require.Contains(t, found["workflows/a.yaml|two|input_template"], "new end")
	require.Equal(t, `"t.y" → `, found["workflows/a.yaml|three|"])
	require.Equal(t, ` → "human.ask"`, found["workflows/a.yaml|four|"])
	require.Equal(t, `push, tag → tag, push`, found["rules/r.yaml||order of rules"])
	require.Equal(t, `["git.tag"] → ["git.tag","git.commit"]`, found["rules/r.yaml||rules tag guard"])
	require.Equal(t, ` → "more"`, found["rules/r.yaml||rules more"])
	require.Len(t, found, 7)
}

// A clone may bring a link in the place of the packages' folders. What it leads to within the
// project is neither replaced nor removed.
func TestFoldersOfPackagesThatAreLinks(t *testing.T) {
	content := packages.Content{"workflows/a.yaml": []byte("name: a\n")}
	pack := packages.Package{Name: "local/ops", Source: "../ops", Files: content.Digests()}
	for linked, target := range map[string]string{".savant/packages/local": "../../mine", ".savant/packages": "../other", "workflows/vendor/local": "../../mine", "workflows/vendor": "../other"} {
		t.Run(linked, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, "mine/ops/precious", 1)
			write(t, folder, "other/local/ops/precious", 1)
			link(t, target, folder, linked)
			root, err := os.OpenRoot(folder)
			require.NoError(t, err)
			defer func() { require.NoError(t, root.Close()) }()
			store := packages.NewStore(root)
			require.ErrorContains(t, store.Remove(pack), "it is a link")
			if stage, err := store.Stage(pack, content); err == nil {
				place := packages.Folder
				if strings.HasPrefix(linked, packages.Vendor) {
					place = packages.Vendor
				}
				require.ErrorContains(t, stage.Install(place), "it is a link")
			}
			require.FileExists(t, filepath.Join(folder, "mine/ops/precious"))
			require.FileExists(t, filepath.Join(folder, "other/local/ops/precious"))
		})
	}
}
