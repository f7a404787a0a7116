package hub

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"savant/fault"
	"savant/think"
	"savant/think/flow"
	"savant/think/maintenance"
	"savant/think/state"
)

// maxValue is the maximum size of a value that is sent whole, in bytes: redaction reads
// all of it.
const maxValue = 16 << 20

// whole links to a value of a run that the page shows in part: a capture, an answer or an
// artifact, by its name or version.
func (c *capture) whole(key state.Key, kind, name string, version int) {
	c.At, c.Whole = runPath(key)+"/value", url.Values{kind: {name}, "version": {strconv.Itoa(version)}}
}

// artifactsOf lists the artifacts of an ended run.
func artifactsOf(final *flow.Final, key state.Key, version int) (out []capture) {
	for _, each := range final.Artifacts {
		shown := capture{Name: each.Name, Text: each.Type, Size: len(each.Data)}
		shown.whole(key, "artifact", each.Name, version)
		out = append(out, shown)
	}
	return out
}

// sendValue sends a value of a run as text, redacted.
func (h *Hub) sendValue(w http.ResponseWriter, r *http.Request) {
	query, key := r.URL.Query(), runOf(r)
	if query.Has("question") {
		asked, err := h.questionShown(r.Context(), key, query.Get("question"), query.Get("digest"), visitorFrom(r).person())
		h.sendQuestion(w, r, asked.Parts, err)
		return
	}
	version, _ := strconv.Atoi(query.Get("version"))
	var raw []byte
	err := h.options.Think.View(r.Context(), key, version, func(v *think.View) (err error) {
		switch final := v.Now().Final; {
		case query.Has("capture"):
			raw, err = v.Capture(r.Context(), query.Get("capture"))
		case query.Has("answer"):
			if answered, _ := strconv.Atoi(query.Get("answer")); answered > 0 && answered <= v.Now().Version {
				raw, err = v.Answer(r.Context(), answered)
			}
		case final != nil:
			at := slices.IndexFunc(final.Artifacts, func(each flow.FinalArtifact) bool { return each.Name == query.Get("artifact") })
			if at >= 0 {
				raw = final.Artifacts[at].Data
			}
		}
		return err
	})
	switch {
	case err == nil && raw == nil:
		err = fault.New(fault.CheckpointNotFound, "the run has no such value at this version")
	case err == nil && len(raw) > maxValue:
		err = fault.New(fault.LimitExceeded, "the value has %d bytes, more than a page sends: savant state get %s --var NAME writes it", len(raw), key.Run)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if query.Has("download") || !utf8.Valid(raw) {
		name := fault.Cut(query.Get("capture")+query.Get("answer")+query.Get("artifact"), 100)
		download(w, "application/octet-stream", url.PathEscape(key.Run+"-"+name))
	} else {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	_, _ = w.Write(h.readable(raw)) // the client may be gone
}

// readable returns a value for a person: JSON indented, a text as it is, without secrets.
func (h *Hub) readable(raw []byte) []byte {
	switch {
	case !utf8.Valid(raw):
		return raw
	case !json.Valid(raw):
		return []byte(h.options.Redactor.Text(string(raw)))
	}
	return []byte(h.options.Redactor.Text(h.textOf(json.RawMessage(raw))))
}

// exportRun sends a run as savant state export writes it. Its records are chained by their
// hashes, so nothing can be taken out: it needs a form, and the scope that changes runs.
func (h *Hub) exportRun(w http.ResponseWriter, r *http.Request) {
	key := runOf(r)
	var packed bytes.Buffer
	if _, err := h.options.Keeper.Export(r.Context(), key, &packed); err != nil {
		h.again(w, r, err, nil, h.showRun)
		return
	}
	download(w, "application/octet-stream", key.Workflow+"-"+key.Run+".export")
	_, _ = w.Write(packed.Bytes()) // the client may be gone
}

// importPath receives exports; maxUpload is their maximum size: what an import takes, and
// some room for the form.
const (
	importPath = "/runs/import"
	maxUpload  = maintenance.MaxImport + 1<<20
)

// upload is the form of an import. Its file is read from the connection, since a form in
// memory would come on top of what an import needs.
type upload struct {
	token string          // the CSRF token
	file  *multipart.Part // nil if there is none
}

// openUpload reads a form up to its file; the token has to come first.
func openUpload(r *http.Request) upload {
	var found upload
	parts, err := r.MultipartReader()
	for err == nil && found.file == nil {
		var part *multipart.Part
		if part, err = parts.NextPart(); err != nil {
			break
		}
		switch part.FormName() {
		case "csrf":
			var token []byte
			token, err = io.ReadAll(io.LimitReader(part, 1<<10))
			found.token = string(token)
		case "export":
			found.file = part
		}
	}
	return found
}

// importRun imports a run from an export after verifying all of it. The run is marked:
// its witnesses and approvals are only claimed, and its page has no actions.
func (h *Hub) importRun(w http.ResponseWriter, r *http.Request) {
	file := visitorFrom(r).upload.file
	if file == nil {
		h.again(w, r, fault.New(fault.InvalidParams, "no file was sent: choose one that savant state export wrote"), nil, h.listRuns)
		return
	}
	done, err := h.options.Keeper.Import(r.Context(), file)
	if err != nil {
		h.again(w, r, err, nil, h.listRuns)
		return
	}
	what := "imported"
	if done.Existed {
		what = "existed"
	}
	h.done(w, r, runPath(state.Key{Workflow: done.Workflow, Run: done.Run}), what)
}
