package words

import "strings"

// irregular has the English verbs of technical texts whose forms do not share a stem
// that endings are cut off from: base, past, participle.
var irregular = func() map[string][]string {
	forms := map[string][]string{}
	for line := range strings.SplitSeq("begin began begun,bind bound,break broke broken,bring brought,build built,choose chose chosen,draw drew drawn,"+
		"feed fed,find found,freeze froze frozen,give gave given,grow grew grown,hide hid hidden,hold held,keep kept,know knew known,lead led,"+
		"leave left,lend lent,lose lost,make made,mean meant,override overrode overridden,rewrite rewrote rewritten,rebuild rebuilt,run ran,"+
		"seek sought,send sent,resend resent,shake shook shaken,spend spent,speak spoke spoken,steal stole stolen,sweep swept,take took taken,tear tore torn,"+
		"think thought,throw threw thrown,undo undid undone,unbind unbound,wake woke woken,withhold withheld,write wrote written", ",") {
		verb := strings.Fields(line)
		for _, form := range verb {
			forms[form] = verb
		}
	}
	return forms
}()

// Irregular returns the forms of an irregular English verb, of which the lower-case
// word is one, or nil. Its regular forms (writes, writing) are not among them.
func Irregular(word string) []string { return irregular[word] }
