module harness.local/go-hello

// The language of this version, and the defaults that Go had then, for every toolchain that builds it: what is measured
// is the toolchain, and not what a newer `go` line would switch on.
go 1.21
