package proof

import "strconv"

// Grade says how a step's result is known.
type Grade string

// The grades, from what Savant saw itself to what nobody saw.
const (
	Gateway  Grade = "gateway"  // Savant made or passed on the call, and its receipt is in the proof
	Hook     Grade = "hook"     // a hook of the client saw the call; the model handed in the result
	Person   Grade = "person"   // a person answered
	Engine   Grade = "engine"   // computed from the results before
	Recorded Grade = "recorded" // the record says that Savant saw the call, and no receipt is in the proof
	Said     Grade = "said"     // only the model or the client says so
	Imported Grade = "imported" // recorded elsewhere; nothing of it was seen here
	Absent   Grade = "absent"   // not done, or skipped
)

// Grades lists the grades in the order of their strength.
var Grades = []Grade{Gateway, Hook, Person, Engine, Recorded, Said, Imported, Absent}

// Claim says how a step is known. The grades of answers follow from the records alone, so
// every verifier works them out again.
type Claim struct {
	Step   string `json:"step"`
	Status string `json:"status"`
	Grade  Grade  `json:"grade"`
	// Version is the record with the answer that counts, 0 for a step without an answer.
	Version int `json:"version"`
	// How a person answered: terminal, hub, or client for the form of their client. Of a
	// destructive call of the agent, who allowed it: person, pattern or order.
	How string `json:"how"`
}

// answers returns the claim of each step that was answered, by the last answer that counts.
func (s *Statement) answers() map[string]Claim {
	p, observed := &s.Predicate, map[int]bool{}
	for _, each := range p.Observations {
		observed[each.Version] = observed[each.Version] || each.Outcome != Unseen
	}
	found := map[string]Claim{}
	for _, each := range s.line {
		if !each.answers() {
			continue
		}
		claim := Claim{Step: each.Step, Status: each.Done, Version: each.Version, Grade: Said}
		switch {
		case each.Version <= p.Run.Imported:
			claim.Grade = Imported
		case each.Kind == kindPerson:
			claim.Grade, claim.How = Person, manner(each.By)
		case each.Witness == witnessGateway:
			claim.Grade, claim.How = Recorded, each.Allowed
			if s.proven[each.Version] {
				claim.Grade = Gateway
			}
		case observed[each.Version]:
			claim.Grade = Hook
		}
		found[claim.Step] = claim
	}
	return found
}

// manner says how a person answered, from who handed the answer in.
func manner(by string) string {
	if by == "terminal" || by == "hub" {
		return by
	}
	return "client"
}

// Count counts the claims by grade.
func Count(claims []Claim) map[Grade]int {
	counts := map[Grade]int{}
	for _, each := range claims {
		counts[each.Grade]++
	}
	return counts
}

// Differences says where the hooks of a client and the gateway do not tell the same of a
// call.
func (s *Statement) Differences() (said []string) {
	hooked, receipts := map[int]bool{}, map[string]bool{}
	for _, each := range s.Predicate.Claims {
		hooked[each.Version] = each.Grade == Hook
	}
	for _, each := range s.Predicate.Receipts {
		receipts[each.ID] = each.Failed
	}
	for _, each := range s.Predicate.Observations {
		if each.Version == 0 {
			said = append(said, "the hooks of "+each.Client+" saw a call of "+each.Tool+" that a step asked for, and no record answers it")
			continue
		}
		told := ""
		failed, known := receipts[s.entries[each.Version-1].Receipt]
		switch {
		case each.Outcome == Unseen:
			told = "Savant saw the call, and the hooks of " + each.Client + ", which held the session, did not"
		case known && each.Outcome != "unknown" && failed != (each.Outcome == "failed"):
			told = "for the hook of " + each.Client + " the call " + each.Outcome
		case each.Savant && hooked[each.Version]:
			told = "for the hook of " + each.Client + " the call went to Savant, and the answer is none that Savant gave"
		default:
			continue
		}
		said = append(said, "two witnesses differ on record "+strconv.Itoa(each.Version)+": "+told)
	}
	return said
}

// Limits says in words what the claims do not prove.
func (s *Statement) Limits() []string {
	counts, said := Count(s.Predicate.Claims), []string{}
	tell := func(grade Grade, text string) {
		if count := counts[grade]; count > 0 {
			said = append(said, steps(count)+text)
		}
	}
	tell(Recorded, " the signer's word: the record says that Savant saw the call, and its receipt is not in the proof")
	tell(Said, " only said: nobody but the model or its client saw the result")
	tell(Hook, " seen by a hook: the call was made, the result is the client's word")
	tell(Imported, " imported: recorded elsewhere, not seen by the Savant that made this proof")
	tell(Absent, " without a result: not done, skipped or waiting")
	if s.isRedacted() {
		said = append(said, "values were redacted: what they were, and the hashes after the first of them, are the signer's word")
	}
	said = append(said, s.Differences()...)
	if s.Predicate.Run.Workflow == AgentRun {
		said = append(said, "why a model decided so, and what stood in the journal of the agent before this proof chained its records")
	}
	if seen, stated := s.Commits(); seen == "" && stated != "" {
		said = append(said, "the commit is the signer's word: no witnessed result of the run names it")
	}
	return append(said, "a tool that lies is witnessed lying, and who holds the key and the folder can sign another history")
}
