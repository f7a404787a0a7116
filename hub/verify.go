package hub

import (
	"net/http"

	"savant/think"
	"savant/think/audit"
)

// verifyView is the verdict on a run, as of savant verify.
type verifyView struct {
	Workflow, Run, Verdict string
	Records, Imported      int
	Difference             *think.Difference
	Damage                 string // why the run cannot be verified
	Witnesses              []statusCount
}

// verifyRun recomputes every state of a run and compares it with its record.
func (h *Hub) verifyRun(w http.ResponseWriter, r *http.Request) {
	key := runOf(r)
	if _, err := h.infoOf(r.Context(), key); err != nil {
		h.fail(w, r, err)
		return
	}
	view := verifyView{Workflow: key.Workflow, Run: key.Run, Verdict: "cannot be verified"}
	out, err := audit.New(h.options.Think).Debug(r.Context(), audit.DebugInput{Action: "replay", Workflow: key.Workflow, RunID: key.Run})
	if err != nil {
		view.Damage = damageOf(err)
	} else {
		view.Verdict, view.Records, view.Imported, view.Difference = out.Verdict, out.To, out.Imported, out.Difference
		view.Witnesses = witnessesOf(out.Log)
	}
	h.show(w, r, http.StatusOK, "verify.html", page{Title: "Verify " + key.Run, At: "runs", View: view})
}

// witnessesOf counts the results of a run by witness.
func witnessesOf(log []think.Event) []statusCount {
	counts := map[string]int{}
	for _, each := range log {
		switch {
		case each.Claimed:
			counts["claimed"]++
		case each.Witness != "":
			counts[each.Witness]++
		}
	}
	var out []statusCount
	for _, name := range []string{"gateway", "person", "self", "claimed"} {
		if counts[name] > 0 {
			out = append(out, statusCount{name, counts[name]})
		}
	}
	return out
}
