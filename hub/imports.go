package hub

import (
	"io"
	"mime/multipart"
	"net/http"

	"savant/fault"
	"savant/think/maintenance"
	"savant/think/state"
)

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
