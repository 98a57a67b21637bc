//go:build race

package scheduler

// longQueue is shorter under the race detector, which would take a minute to build the full one.
const longQueue = 50_000
