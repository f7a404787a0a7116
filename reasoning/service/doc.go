// Package service decides what an agent does next: it writes a prompt within a
// budget, asks a small model, or a large one for demanding work, and reads the
// answer. Without a model the offline planner decides. The service answers
// POST /agent_intent, and calls within the program.
package service
