// Package models has small clients of Ollama, Anthropic and OpenAI-compatible
// services, and the offline planner, which decides without a model.
package models
