// Package cli is the program phonebooth: one verb a file, and nothing but what a terminal needs.
//
// A program with strategies, runners or bridges of its own is a main of ten lines:
//
//	func main() {
//		strategies := builtin.Registry() // of package strategy/builtin
//		strategies.Register("nearest", nearest.New)
//		os.Exit(cli.Main(cli.Options{Strategies: strategies}))
//	}
//
// Verbs that ask a control plane go through package client only; "server" and "agent" run one. Nothing is decided here: a
// verb reads its flags, makes its call, and prints the answer.
//
// # What scripts rely on
//
//	exit 0    done
//	exit 1    failed: the task, or what was tried
//	exit 2    usage: flags, arguments or a configuration file are wrong
//	exit 3    the task was cancelled
//	exit 4    the server refused
//	exit 5    the server could not be reached
//	exit 130  Ctrl-C while waiting: the task goes on
//
// Standard output holds the answer: with -o json exactly the API's JSON. Everything else, errors and progress, goes to
// standard error, and progress only to a terminal.
//
// Main is called once, by the main goroutine.
package cli
