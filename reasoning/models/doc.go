// Package models has small clients of Ollama, Anthropic and OpenAI-compatible
// services.
package models
