package sessions

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/rules"
	"savant/think"
)

// Verified says whether the decisions of a session are those that its rules and calls
// give.
type Verified struct {
	Session string `json:"session"`
	// Decisions counts those that were computed again, and Refused the refusals among them.
	Decisions int `json:"decisions"`
	Refused   int `json:"refused"`
	// Difference is the first one, or nil.
	Difference *Difference `json:"difference,omitempty"`
}

// Difference is a decision that is not what was recorded.
type Difference struct {
	// Record counts the records of the session from 1.
	Record   int    `json:"record"`
	Tool     string `json:"tool"`
	Recorded string `json:"recorded"`
	Computed string `json:"computed"`
}

// Verify computes decisions again, each under the rules that judged then: those of the
// sessions that wanted accepts, and those under the rules of a run, WORKFLOW/RUN or "" for
// none.
func (k *Keeper) Verify(wanted func(session string) bool, run string) ([]Verified, error) {
	root := k.options.Root
	all, err := readAll(root)
	if err != nil {
		return nil, err
	}
	v := verifier{root: root, all: all, sets: map[string]*judges{}, records: map[string]int{}, found: map[string]*Verified{}}
	var order []string
	for i, each := range all {
		v.records[each.Session]++
		if wanted(each.Session) || ruledBy(each.Runs, run) {
			if v.found[each.Session] == nil {
				v.found[each.Session] = &Verified{Session: each.Session}
				order = append(order, each.Session)
			}
			if err := v.judge(i); err != nil {
				return nil, err
			}
		}
	}
	verified := []Verified{}
	for _, each := range order {
		verified = append(verified, *v.found[each])
	}
	return verified, nil
}

// ruledBy reports whether rules of a run's workflow, or of one below it, held for a call.
func ruledBy(runs []rules.Run, run string) bool {
	return run != "" && slices.ContainsFunc(runs, func(each rules.Run) bool { return strings.HasPrefix(each.ID, run+"/") })
}

// readAll reads the records of all sessions, in the order of time.
func readAll(root *os.Root) (all []record, err error) {
	j := journals{root: root, read: map[string]int64{}}
	names, err := j.names(time.Time{})
	if err == nil {
		err = j.follow(names, func(read record) { all = append(all, read) })
	}
	return all, err
}

type verifier struct {
	root *os.Root
	all  []record
	sets map[string]*judges // by digest
	// records counts those of each session so far.
	records map[string]int
	found   map[string]*Verified
}

// judges are rules with the calls before the one that they judge.
type judges struct {
	set *rules.Set
	past
	read int // how many records are taken in
}

// judge compares the decision of a record with what its rules give.
func (v *verifier) judge(at int) error {
	read, out := v.all[at], v.found[v.all[at].Session]
	if read.Set == "" || out.Difference != nil {
		return nil
	}
	by, err := v.load(read.Set)
	if err != nil {
		return err
	}
	for ; by.read < at; by.read++ { // under other rules, too, it was a call
		by.replay(v.all[by.read])
	}
	verdict := rules.Decide(by.set, by.history, read.call())
	for _, each := range read.Rules {
		if each.File == rules.OfWorkflow {
			verdict = verdict.Asking(each.Rule, each.Message)
		}
	}
	out.Decisions++
	if read.Kind == kindRefused {
		out.Refused++
	}
	if asked := by.asked[questionOf(verdict)]; verdict.Decision == rules.Ask && read.Scope == "" && !asked.agreed(read.Time) {
		verdict.Decision = rules.Refuse
	}
	was, is := decision{read.Kind == kindRefused, read.Rules, read.Uses}, decision{verdict.Decision == rules.Refuse, verdict.Summaries(), verdict.Uses}
	if was.text(false) != is.text(false) {
		out.Difference = &Difference{Record: v.records[read.Session], Tool: read.Tool, Recorded: was.text(true), Computed: is.text(true)}
	}
	return nil
}

func (v *verifier) load(digest string) (*judges, error) {
	if known := v.sets[digest]; known != nil {
		return known, nil
	}
	kept, err := keptSources(v.root, digest)
	if err != nil {
		return nil, err
	}
	set, err := kept.parse()
	if err != nil {
		return nil, err
	}
	v.sets[digest] = &judges{set: set, past: newPast(set)}
	return v.sets[digest], nil
}

// keptSources reads rules that judged.
func keptSources(root *os.Root, digest string) (kept sources, err error) {
	text, err := regular.ReadFile(root, setName(digest), 2*maxAll)
	if err != nil {
		return nil, ownfolder.NotRead(setName(digest), err)
	}
	if err := jsonvalue.UnmarshalStored(text, &kept); err != nil || kept.digest() != digest {
		return nil, fault.New(fault.StateCorrupt, "%s was changed: its rules are not those that judged", setName(digest))
	}
	return kept, nil
}

// Text is a file of rules.
type Text struct{ File, Text string }

// TextsIn returns the files of rules that judged calls of the folder in a time, or those that
// hold now if none was judged, by file, without the values of secret facts. The rules of
// workflows are not among them.
func (k *Keeper) TextsIn(from, to time.Time) (found []Text, err error) {
	all, err := readAll(k.options.Root)
	if err != nil {
		return nil, err
	}
	sets := map[string]sources{}
	for _, each := range all {
		if each.Set != "" && sets[each.Set] == nil && each.Time >= from.UnixMilli() && each.Time <= to.UnixMilli() {
			if sets[each.Set], err = keptSources(k.options.Root, each.Set); err != nil {
				return nil, err
			}
		}
	}
	if len(sets) == 0 {
		if sets[""], err = readSources(k.options.Files); err != nil {
			return nil, err
		}
	}
	for _, set := range sets {
		for file, text := range set {
			if strings.HasPrefix(file, "@") {
				continue
			}
			if read, err := rules.Parse(file, []byte(text)); err == nil { // else no call was made by it
				found = append(found, Text{file, read.WithoutSecrets(text)})
			}
		}
	}
	slices.SortFunc(found, func(a, b Text) int { return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Text, b.Text)) })
	return slices.Compact(found), nil
}

// decision is what was decided about a call.
type decision struct {
	refused  bool
	findings []rules.Summary
	uses     []rules.Use
}

// text names the rules that are not met, and the calls that served. Why a part is not met is
// told, and not compared: another version of the program may use other words.
func (d decision) text(why bool) string {
	text := []string{"made"}
	if d.refused {
		text[0] = "refused"
	}
	for _, each := range d.findings {
		parts := []string{}
		for _, part := range each.Parts {
			if !why {
				part.Text = ""
			}
			parts = append(parts, part.Name+" "+string(part.State)+" "+part.Text)
		}
		text = append(text, "rule "+each.Rule+": "+strings.Join(parts, "; "))
	}
	for _, each := range d.uses {
		text = append(text, fmt.Sprintf("%s of rule %s is call %d", each.Evidence, each.Rule, each.At))
	}
	return strings.Join(text, ", ")
}

// RefusedIn implements guide.Rulings: the calls that were refused in a driven run, and
// those of the caller's own session.
func (k *Keeper) RefusedIn(call engines.Call, workflow, run string) (found []think.RuleRefusal, err error) {
	own := k.sessionOf(call)
	_, all, err := k.Sessions()
	for _, each := range all {
		if each.Made || each.Session != own && !each.In(workflow, run) {
			continue
		}
		refusal := think.RuleRefusal{Tool: each.Tool, Time: time.UnixMilli(each.Time).UTC().Format(time.RFC3339)}
		for _, rule := range each.Rules {
			refusal.Rules = append(refusal.Rules, fmt.Sprintf("%s (%s:%d)", rule.Rule, rule.File, rule.Line))
			for _, part := range rule.Parts {
				if part.State != rules.Held {
					refusal.Why = append(refusal.Why, part.Text)
				}
			}
		}
		found = append(found, refusal)
	}
	return found, err
}
