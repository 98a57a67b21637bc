package playground

import (
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// scene is one task of the demo: what is submitted, what is done to it, and how it must end.
type scene struct {
	title    string
	task     v1.TaskRequest
	cancel   bool   // in the middle of its run
	kill     bool   // its first runner, in the middle of its run
	status   string // the ending
	code     string // of the failure, if it fails
	attempts int    // how many it takes
}

const demoDevices = 4

// story is what the demo tells: a dozen tasks for four devices.
func story() []scene {
	goal := func(goal string) v1.TaskRequest {
		return v1.TaskRequest{Goal: goal, Constraints: v1.Constraints{DriverType: "sim"}}
	}
	done := func(title, script string) scene {
		return scene{title: title, task: goal(script), status: "done", attempts: 1}
	}
	slow := "print working; sleep 60"
	cancelled := scene{title: "cancelled in the middle", task: goal(slow), cancel: true, status: "cancelled", attempts: 1}
	survivor := scene{title: "its runner is killed", task: goal("print working; sleep 3"), kill: true, status: "done", attempts: 2}
	failing := scene{title: "a check that fails", task: goal("print checking; sleep 1; exit 1"), status: "failed", code: "runner_failed", attempts: 1}
	return []scene{
		done("a goal in plain words", "open Settings and turn on dark mode"),
		survivor,
		cancelled,
		failing,
		done("sign in", "print signing in; sleep 1"),
		done("take a photo", "print smile; sleep 2"),
		done("send a message", "print hello; sleep 1"),
		done("install the app", "print installing; sleep 2"),
		done("rotate the screen", "sleep 1"),
		done("play a video", "print playing; sleep 2"),
		done("read the battery", "print 87 %; sleep 1"),
		done("say goodbye", "print goodbye"),
	}
}
