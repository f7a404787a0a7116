//go:build !race

package think_test

const raced = false
