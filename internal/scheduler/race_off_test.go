//go:build !race

package scheduler

const longQueue = 1_000_000
