package agent

import (
	"regexp"
	"strings"

	"savant/internal/pattern"
)

// notRunning matches the words by which a goal forbids to run what follows.
const notRunning = `(?i)\b((do not|don't|dont|never) want (you|it|anything) to|do not|don't|dont|must not|should not|shouldn't|may not|never|without|avoid|refrain from|not to|instead of|rather than) (ever |actually |please |just |even )?` +
	`(run|running|start|starting|execute|executing|launch|launching|trigger|triggering|use|using|call|calling|invoke|invoking|perform|performing) `

// cues are restrictions found in the words of a goal. noRun forbids workflows.
type cues struct{ noTools, noContext, noSearch, noRun bool }

var (
	noToolsCue   = pattern.Lazy(`(?i)\b(do not|don't|dont|must not|never|without|avoid) ((ever|please|even) )?((use|using|call|calling|run|running|execute|executing|invoke|invoking) )?(any of )?(any |the |your |these |other )*tools?\b|\bno tools?\b`)
	noContextCue = pattern.Lazy(`(?i)\b(do not|don't|dont|must not|never|without|avoid|no) ((ever|please|even) )?((use|using|call|calling) )?(any of )?(any |the |your |these |other )*context([._-]\*)? tools?\b`)
	noSearchCue  = pattern.Lazy(`(?i)\b(do not|don't|dont|must not|never) ((ever|please|even) )?search\b` +
		`|\b(do not|don't|dont|must not|never|without|avoid|no) ((use|using|call|calling) )?(any |the |your )*(search|searching|grep) tools?\b|\b(without|no|avoid) searching\b` +
		`|\b(without|no) search(es)?($|[^\pL\pN_ -]| (please|and|or|but|just|only|at all|in|on|of|for|what|how|where|which|who|why|is|are|explain|tell|say|list|show|read|answer|summari[sz]e|describe)\b)`)
	// "A page without search" describes the subject; it does not restrict the tools.
	searchless = pattern.Lazy(`(?i)(^|\b(build|create|write|make|add|design|draw|generate|want|need) )(a|an|the|some|one|my)( [\pL\pN_-]+){1,3} (without|with no) search`)
	// Matches "Explain X, but do not run it" and "without a workflow". The forbidden
	// object must follow, so "The jobs never start" does not match.
	noRunCue = pattern.Lazy(notRunning + `(the |a |any |your |its |this |that |these )*(it|them|this|that|anything|something|workflows?|commands?|scripts?|code|programs?|shell)\b` +
		`|\b(no|without|avoid) (the |a |any |using |running )*workflows?\b|\b(no|without) commands?($|[^\pL\pN_ -]| please\b)|\b(run|execute|start) nothing\b`)
)

// forbids reports whether a goal forbids to run a workflow by its name.
func forbids(goal, workflow string) bool {
	expression, err := regexp.Compile(notRunning + `(the |a |any |workflow |our )*["'\x60]?` + regexp.QuoteMeta(workflow) + `(?:$|[^\pL\pN_])`)
	return err == nil && expression.MatchString(plainWords(goal))
}

// plainWords normalizes white space and typographic apostrophes in a goal.
func plainWords(goal string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(goal), " "), "’", "'")
}

// cuesOf returns the cues of a goal.
func cuesOf(goal string) cues {
	goal = plainWords(goal)
	return cues{noTools: noToolsCue().MatchString(goal), noContext: noContextCue().MatchString(goal),
		noSearch: noSearchCue().MatchString(goal) && !searchless().MatchString(goal), noRun: noRunCue().MatchString(goal)}
}
