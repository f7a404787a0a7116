// Package reasoning is the way to whoever decides: the Request an agent sends
// at each step, the Intent that comes back, and the Client that carries one to
// the other with a timeout, retries and a check of the answer, once for every
// transport.
//
// Both shapes are published as schemas/reasoning_request.json and
// schemas/reasoning_intent.json and described in docs/reasoning-api.md, so
// that anyone can write a Reasoning API.
package reasoning
