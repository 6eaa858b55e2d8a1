module harness.local/fasthttp-hello

// Nothing is required here: `go get` adds the version of fasthttp that is measured, and with it what that version asks
// for. The `go` line is at least that of the newest one: were it lower, `go get` would raise it for that one alone.
go 1.23.0
