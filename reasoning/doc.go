// Package reasoning asks what an agent does next. It has the Request that the agent
// sends at each step, the Intent that comes back, and a Client that sends one, with a
// timeout and retries, and checks and repairs the other, whatever the transport.
//
// The forms of both are published as schemas/reasoning_request.json and
// schemas/reasoning_intent.json and described in docs/reasoning-api.md, so
// that anyone can write a Reasoning API.
package reasoning
