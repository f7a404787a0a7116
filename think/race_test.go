//go:build race

package think_test

// raced tells that the race detector is on, with which everything takes about
// ten times as long.
const raced = true
