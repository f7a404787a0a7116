// Package reasoning asks what an agent does next. It defines the Request that the agent
// sends at each step, the Intent that comes back, and a Client that sends requests with
// timeouts and retries over any Transport, and checks and repairs intents.
//
// Their schemas are published as schemas/reasoning_request.json and
// schemas/reasoning_intent.json and described in docs/reasoning-api.md, so that anyone
// can write a Reasoning API.
package reasoning
