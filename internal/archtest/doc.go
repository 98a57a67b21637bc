// Package archtest keeps the plan of the house: its tests read the source of the whole
// module and fail on what the plan forbids.
//
//   - layers_test.go: which package is on which floor; imports go down only
//   - bans_test.go: which imports are not wanted, and where
//   - form_test.go: package comments, names, init functions, words, sizes of files and
//     functions
//
// Every rule is a table and a check over []source; each check is itself tested on a
// planted offence. A new package gets a line in the table of floors, in the change that
// adds it; everything else holds for it by itself.
//
// It is not a linter of style: gofumpt, vet and staticcheck are (make lint). It
// has no code outside its tests.
package archtest
