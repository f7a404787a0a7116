// Package processgroup starts programs so that all they start ends with them, and
// with this process, however that ends.
package processgroup
