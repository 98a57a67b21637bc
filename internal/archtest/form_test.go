package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	maxFileLines     = 400
	maxFunctionLines = 60
)

// long are the files, and the functions as "file:name", that may be longer, with the
// number of lines that they may have and the reason why they are one room.
var long = map[string]struct {
	lines int
	why   string
}{}

// noNames say nothing of what a package is for.
var noNames = []string{"util", "utils", "common", "helper", "helpers", "model", "models", "types", "misc", "base", "shared", "lib"}

// noWords are not in the house's vocabulary: each thing has another name.
var noWords = regexp.MustCompile(`(?i)^(jobs?|workers?|slaves?|executions?|sessions?)$`)

// camel cuts a name into its words.
var camel = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// otherWords are names, as "package.name", whose word means another thing than ours.
var otherWords = map[string]string{}

func TestEveryPackageHasAComment(t *testing.T) {
	t.Parallel()
	report(t, checkComments(house(t)))
}

func checkComments(sources []source) []string {
	comments := map[string]string{}
	for _, s := range sources {
		if !s.test {
			comments[s.pkg] += s.file.Doc.Text()
		}
	}
	var offences []string
	for _, s := range sources {
		want := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			want = "Command "
		}
		if text, product := comments[s.pkg]; product && !s.test && !strings.HasPrefix(text, want) {
			offences = append(offences, fmt.Sprintf("package %s has no comment that begins with %q", s.pkg, want))
		}
	}
	slices.Sort(offences)
	return slices.Compact(offences)
}

func TestNamesOfPackages(t *testing.T) {
	t.Parallel()
	report(t, checkNames(house(t)))
}

func checkNames(sources []source) []string {
	var offences []string
	for _, s := range sources {
		if slices.Contains(noNames, strings.TrimSuffix(s.file.Name.Name, "_test")) {
			offences = append(offences, fmt.Sprintf("package %s: its name says nothing; put its parts beside their users", s.pkg))
		}
	}
	return offences
}

func TestNoInitFunctions(t *testing.T) {
	t.Parallel()
	report(t, checkInit(house(t)))
}

func checkInit(sources []source) []string {
	var offences []string
	for _, s := range sources {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				offences = append(offences, fmt.Sprintf("%s has an init function: importing a package changes nothing", s.path))
			}
		}
	}
	return offences
}

func TestSizes(t *testing.T) {
	t.Parallel()
	sources := house(t)
	report(t, checkSizes(sources))
	for name := range long {
		file, _, _ := strings.Cut(name, ":")
		if !slices.ContainsFunc(sources, func(s source) bool { return s.path == file }) {
			t.Errorf("the exception for %s has no file any more", name)
		}
	}
}

func checkSizes(sources []source) []string {
	var offences []string
	check := func(name string, lines, limit int) {
		if except, ok := long[name]; ok {
			limit = except.lines
		}
		if lines > limit {
			offences = append(offences, fmt.Sprintf("%s has %d lines, %d are the most: which rooms is it made of?", name, lines, limit))
		}
	}
	for _, s := range sources {
		if s.test || s.generated() {
			continue
		}
		check(s.path, s.fset.File(s.file.Pos()).LineCount(), maxFileLines)
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				check(s.path+":"+f.Name.Name, s.lines(f), maxFunctionLines)
			}
		}
	}
	return offences
}

func TestWords(t *testing.T) {
	t.Parallel()
	report(t, checkWords(house(t)))
}

// checkWords looks at what is declared: functions, types, constants, variables, fields
// and parameters. What other people's packages call their things is not ours.
func checkWords(sources []source) []string {
	var offences []string
	for _, s := range sources {
		declared := func(names ...*ast.Ident) {
			for _, n := range names {
				_, other := otherWords[s.pkg+"."+n.Name]
				if word := slices.IndexFunc(camel.FindAllString(n.Name, -1), noWords.MatchString); word >= 0 && !other {
					offences = append(offences, fmt.Sprintf("%s declares %s: that word has another name here", s.fset.Position(n.Pos()), n.Name))
				}
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declared(n.Name)
			case *ast.TypeSpec:
				declared(n.Name)
			case *ast.ValueSpec:
				declared(n.Names...)
			case *ast.Field:
				declared(n.Names...)
			}
			return true
		})
	}
	return offences
}

func TestPlantedOffencesAgainstFormAreFound(t *testing.T) {
	t.Parallel()
	one := func(path, text string) []source { return []source{plant(t, path, text)} }
	body := func(n int) string { return strings.Repeat("\tx()\n", n) }

	expect(t, checkComments(one("a/a.go", "package a\n")), "no comment")
	expect(t, checkComments(one("a/a.go", "// Says nothing of a.\npackage a\n")), "no comment")
	expect(t, checkComments(one("a/a.go", "// Package a is.\npackage a\n")))
	expect(t, checkComments(one("a/a_test.go", "package a\n")))
	expect(t, checkComments(one("cmd/a/main.go", "// Command a does.\npackage main\n")))

	expect(t, checkNames(one("internal/util/a.go", "package util\n")), "says nothing")
	expect(t, checkNames(one("internal/util/a_test.go", "package util_test\n")), "says nothing")

	expect(t, checkInit(one("a/a.go", "package a\nfunc init() {}\n")), "init function")
	expect(t, checkInit(one("a/a.go", "package a\ntype T int\nfunc (T) init() {}\n")))

	expect(t, checkSizes(one("a/a.go", "package a\nfunc f() {\n"+body(58)+"}\n")))
	expect(t, checkSizes(one("a/a.go", "package a\nfunc f() {\n"+body(59)+"}\n")), "a/a.go:f has 61 lines")
	expect(t, checkSizes(one("a/a_test.go", "package a\nfunc f() {\n"+body(59)+"}\n")))
	expect(t, checkSizes(one("a/a.go", "package a\n"+strings.Repeat("\n", 399))))
	expect(t, checkSizes(one("a/a.go", "package a\n"+strings.Repeat("\n", 400))), "a/a.go has 401 lines")
	expect(t, checkSizes(one("a/a.go", "// Code generated by x. DO NOT EDIT.\npackage a\n"+strings.Repeat("\n", 400))))

	expect(t, checkWords(one("a/a.go", "package a\nvar workerCount int\n")), "workerCount")
	expect(t, checkWords(one("a/a.go", "package a\ntype t struct{ SessionID string }\n")), "SessionID")
	expect(t, checkWords(one("a/a.go", "package a\nfunc RunJob(x int) {}\n")), "RunJob")
	expect(t, checkWords(one("a/a.go", "package a\nfunc networker() {}\n")))
}
