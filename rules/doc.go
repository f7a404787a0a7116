// Package rules decides about calls from the calls before them: a refund only after the
// order was seen as delivered, never twice, never more than five mails an hour.
//
// Parse reads a file of rules, New makes a Set of such files, and Decide judges a call
// by a Set and a History. All three are pure: the same rules, calls and call give the
// same Verdict, so that a record of calls can be judged again at any time.
//
// Whoever makes calls asks Decide first, then reserves the call in the History, makes
// it, and settles it:
//
//	verdict := rules.Decide(set, history, call)
//	if verdict.Decision == rules.Allow {
//		made := history.Reserve(call)
//		result, ok := … // the call
//		history.Settle(made, rules.OutcomeOf(ok), result)
//	}
//
// A call that is reserved and not settled counts where it can only restrict.
package rules
