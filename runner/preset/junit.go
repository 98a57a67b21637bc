package preset

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
)

// The form of JUnit's reports, as far as readers of them agree on it.
type (
	suite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []suiteCase `xml:"testcase"`
	}
	suiteCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *trouble `xml:"failure"`
		Error   *trouble `xml:"error"`
		Skipped *trouble `xml:"skipped"`
	}
	trouble struct {
		Message string `xml:"message,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// junit is the report of a stream. What XML cannot hold stands in it as U+FFFD.
func (s *instrumented) junit() suite {
	r := suite{Name: "instrumentation"}
	for _, t := range s.tests {
		first, _, _ := strings.Cut(t.stack, "\n")
		c, what := suiteCase{Class: t.class, Name: t.name}, &trouble{Message: first, Text: t.stack}
		switch {
		case t.skipped():
			c.Skipped, r.Skipped = what, r.Skipped+1
		case t.code == testFailure:
			c.Failure, r.Failures = what, r.Failures+1
		case t.code == testStarted:
			what.Message = "its end was not seen"
			if s.crash != "" {
				what.Message, what.Text = s.crash, s.crash
			}
			c.Error, r.Errors = what, r.Errors+1
		case t.broken():
			c.Error, r.Errors = what, r.Errors+1
		}
		r.Cases = append(r.Cases, c)
	}
	r.Tests = len(r.Cases)
	return r
}

// write writes the report as XML.
func (r suite) write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	if _, err := buffered.WriteString(xml.Header); err != nil {
		return err
	}
	if err := xml.NewEncoder(buffered).Encode(r); err != nil {
		return err
	}
	return buffered.Flush()
}

// save writes the report to a new file. What a program may have left there is replaced, never followed.
func (r suite) save(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(r.write(file), file.Close())
}
