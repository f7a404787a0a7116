// Package models is who can decide: small clients of Ollama, Anthropic and
// OpenAI-compatible services, and the offline planner, which is no model.
package models
