// Package service decides what an agent does next: it writes a prompt within a
// budget, asks a small model, or a large one when the work wants it, and reads
// the answer. Without a model the offline planner decides. The same service
// answers POST /agent_intent and calls from inside the program.
package service
