package hub

import (
	"errors"
	"net/http"

	"savant/fault"
	"savant/think/state"
)

// importPath receives exports; maxUpload is their maximum size, since an export is held
// in memory until it is verified.
const (
	importPath = "/runs/import"
	maxUpload  = 16 << 20
)

// importRun imports a run from an export after verifying all of it. The run is marked:
// its witnesses and approvals are only claimed, and its page has no actions.
func (h *Hub) importRun(w http.ResponseWriter, r *http.Request) {
	file, _, err := r.FormFile("export")
	if err != nil {
		h.fail(w, r, fault.New(fault.InvalidParams, "no file was sent, or it has more than %d MB: choose one that savant state export wrote; savant state import takes larger ones", maxUpload>>20))
		return
	}
	defer file.Close()
	done, err := h.options.Keeper.Import(r.Context(), file)
	if errors.Is(err, fault.StateCorrupt) {
		h.problem(w, r, http.StatusUnprocessableEntity, err)
		return
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	what := "imported"
	if done.Existed {
		what = "existed"
	}
	h.done(w, r, runPath(state.Key{Workflow: done.Workflow, Run: done.Run}), what)
}
