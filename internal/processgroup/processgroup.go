// Package processgroup starts programs so that they and their children end with this
// process, however it ends.
package processgroup
