package sessions

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/rules"
	"savant/think/flow"
)

// Session sums up what the rules decided in a session.
type Session struct {
	Name    string `json:"session"`
	Calls   int    `json:"calls"`
	Refused int    `json:"refused"`
	Warned  int    `json:"warned"`
	// Last is the time of its last record, in milliseconds since 1970.
	Last int64 `json:"last"`
}

// Refusal is a call that was refused, or warned of, with the rules that are not met.
type Refusal struct {
	Session string          `json:"session"`
	Time    int64           `json:"time"`
	Tool    string          `json:"tool"`
	Made    bool            `json:"made"`
	Runs    []rules.Run     `json:"-"`
	Rules   []rules.Summary `json:"rules"`
}

// In reports whether the call was one of a driven run, or held by the rules of the run's workflow.
func (r Refusal) In(workflow, run string) bool {
	return r.Session == "run "+workflow+" "+run || ruledBy(r.Runs, workflow+"/"+run)
}

// overview is what pages and explanations ask of all sessions. It is kept: of the journals
// only what was added is read.
type overview struct {
	mutex    sync.Mutex
	journals journals
	past     // of the questions
	sessions map[string]*Session
	refused  []Refusal // the first one first
}

// update reads what was added. Where a journal is gone, all of them are read again.
func (o *overview) update(root *os.Root) error {
	if o.journals.root == nil {
		o.journals, o.past, o.sessions, o.refused = journals{root: root, read: map[string]int64{}}, newPast(rules.New()), map[string]*Session{}, nil
	}
	names, err := o.journals.names(time.Time{})
	if err != nil {
		return err
	}
	for name := range o.journals.read {
		if _, found := slices.BinarySearch(names, name); !found {
			o.journals.root = nil
			return o.update(root)
		}
	}
	if err := o.journals.follow(names, o.add); err != nil {
		o.journals.root = nil
		return err
	}
	return nil
}

// add takes a record in.
func (o *overview) add(each record) {
	if each.Question != "" {
		o.replay(each)
	}
	of := o.sessions[each.Session]
	if of == nil {
		of = &Session{Name: each.Session}
		o.sessions[each.Session] = of
	}
	of.Last = max(of.Last, each.Time)
	warned := each.Kind == kindCall && len(each.Rules) > 0
	switch {
	case warned:
		of.Calls, of.Warned = of.Calls+1, of.Warned+1
	case each.Kind == kindCall:
		of.Calls++
	case each.Kind == kindRefused:
		of.Refused++
	}
	if warned || each.Kind == kindRefused {
		o.refused = append(o.refused, Refusal{each.Session, each.Time, each.Tool, warned, each.Runs, each.Rules})
	}
}

// Sessions returns the sessions of a folder, the last changed first, and what was refused in
// them, the last first.
func (k *Keeper) Sessions() (list []Session, refused []Refusal, err error) {
	k.overview.mutex.Lock()
	defer k.overview.mutex.Unlock()
	if err := k.overview.update(k.options.Root); err != nil {
		return nil, nil, err
	}
	for _, each := range k.overview.sessions {
		list = append(list, *each)
	}
	slices.SortFunc(list, func(a, b Session) int { return cmp.Or(cmp.Compare(b.Last, a.Last), strings.Compare(a.Name, b.Name)) })
	refused = slices.Clone(k.overview.refused)
	slices.Reverse(refused)
	return list, refused, nil
}

// Questions returns the questions of a folder that wait for a person, the oldest first.
func (k *Keeper) Questions() ([]Question, error) {
	k.overview.mutex.Lock()
	defer k.overview.mutex.Unlock()
	if err := k.overview.update(k.options.Root); err != nil {
		return nil, err
	}
	list := []Question{}
	for name, each := range k.overview.asked {
		if each.waits {
			list = append(list, Question{name, each.Session, each.Tool, each.call().Input, each.Texts, *cmp.Or(each.Grant, &flow.Grant{}), each.Time})
		}
	}
	slices.SortFunc(list, func(a, b Question) int { return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.Name, b.Name)) })
	return list, nil
}
