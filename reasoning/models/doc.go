// Package models has small clients of the services of models: a file for each provider,
// with its row of the table.
package models
