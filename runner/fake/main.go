package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// stepPause is how long a pretended step takes.
const stepPause = 300 * time.Millisecond

// Main is the program's whole life. It returns the status to exit with.
func Main() int {
	input, err := readInput(os.Getenv("PHONEBOOTH_INPUT"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "phonebooth: this verb is for the agent's own use:", err)
		return 78
	}
	if script, ok := parse(input.Goal); ok {
		return play(script, os.Stdout)
	}
	return pretend(input, os.Stdout, os.Getenv("PHONEBOOTH_RESULT"))
}

func readInput(path string) (runner.Input, error) {
	var input runner.Input
	text, err := os.ReadFile(path)
	if err != nil {
		return input, fmt.Errorf("read PHONEBOOTH_INPUT: %w", err)
	}
	if err := json.Unmarshal(text, &input); err != nil {
		return input, fmt.Errorf("read PHONEBOOTH_INPUT: %w", err)
	}
	return input, nil
}

func play(script []action, out io.Writer) int {
	for _, a := range script {
		switch a.verb {
		case "print":
			fmt.Fprintln(out, a.text)
		case "sleep":
			time.Sleep(a.wait)
		case "exit":
			return a.code
		case "hang":
			for {
				time.Sleep(time.Hour)
			}
		case "ignore-signals":
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
		}
	}
	return 0
}

// pretend looks busy for about a second and leaves a result.
func pretend(input runner.Input, out io.Writer, result string) int {
	steps := []string{"looking at the screen", "finding where to tap", "checking the outcome"}
	for i, step := range steps {
		fmt.Fprintf(out, "step %d of %d on %s: %s\n", i+1, len(steps), input.Serial, step)
		time.Sleep(stepPause)
	}
	text, err := json.Marshal(runner.Result{Outcome: "done", Result: json.RawMessage(fmt.Sprintf(`{"steps":%d}`, len(steps)))})
	if err == nil {
		err = os.WriteFile(result, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "leaving the result:", err)
		return 1
	}
	return 0
}
