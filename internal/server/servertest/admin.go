package servertest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
)

// Submit submits a task that is accepted.
func (s *System) Submit(t *testing.T, req v1.TaskRequest) v1.Task {
	t.Helper()
	return must[v1.Task](t, s, "POST", v1.PathTasks, req)
}

// TrySubmit submits a task that may be refused.
func (s *System) TrySubmit(t *testing.T, req v1.TaskRequest) (task v1.Task, err error) {
	err = s.call(t.Context(), s.token, "POST", v1.PathTasks, nil, req, &task)
	return task, err
}

// SubmitKey submits a task under an idempotency key.
func (s *System) SubmitKey(t *testing.T, key string, req v1.TaskRequest) (task v1.Task, err error) {
	err = s.call(t.Context(), s.token, "POST", v1.PathTasks, http.Header{v1.HeaderIdempotencyKey: {key}}, req, &task)
	return task, err
}

// Task reads a task.
func (s *System) Task(t *testing.T, id string) v1.Task {
	t.Helper()
	return must[v1.Task](t, s, "GET", path("tasks", id), nil)
}

// Tasks lists the newest tasks.
func (s *System) Tasks(t *testing.T) []v1.Task {
	t.Helper()
	return must[v1.TaskList](t, s, "GET", v1.PathTasks, nil).Tasks
}

// Attempts lists a task's attempts.
func (s *System) Attempts(t *testing.T, id string) []v1.Attempt {
	t.Helper()
	return must[v1.AttemptList](t, s, "GET", path("tasks", id, "attempts"), nil).Attempts
}

// Log reads the log of a task's newest attempt.
func (s *System) Log(t *testing.T, id string) string {
	t.Helper()
	return string(must[[]byte](t, s, "GET", path("tasks", id, "log"), nil))
}

// LogOf reads one of the logs of an attempt.
func (s *System) LogOf(t *testing.T, id string, attempt int, name string) string {
	t.Helper()
	return string(must[[]byte](t, s, "GET", fmt.Sprintf("%s?attempt=%d&name=%s", path("tasks", id, "log"), attempt, name), nil))
}

// Cancel cancels a task; it is not refused.
func (s *System) Cancel(t *testing.T, id string) v1.Task {
	t.Helper()
	return must[v1.Task](t, s, "POST", path("tasks", id, "cancel"), nil)
}

// TryCancel cancels a task that may have ended.
func (s *System) TryCancel(t *testing.T, id string) (task v1.Task, err error) {
	err = s.call(t.Context(), s.token, "POST", path("tasks", id, "cancel"), nil, nil, &task)
	return task, err
}

// WaitTask waits until the task is as wanted.
func (s *System) WaitTask(t *testing.T, id string, want func(v1.Task) bool) (task v1.Task) {
	t.Helper()
	Wait(t, "task "+id, func() bool {
		task = s.Task(t, id)
		return want(task)
	})
	return task
}

// WaitExpired waits until the lease of the task's live attempt has run out.
func (s *System) WaitExpired(t *testing.T, id string) {
	t.Helper()
	Wait(t, "the lease of task "+id, func() bool {
		task := s.Task(t, id)
		return task.LeaseExpiresAt != nil && time.Now().After(*task.LeaseExpiresAt)
	})
}

// Settle waits until the scheduler has acted on everything that was committed before.
func (s *System) Settle(t *testing.T) {
	t.Helper()
	if err := s.server.Settle(t.Context()); err != nil {
		t.Fatalf("wait for the scheduler: %v", err)
	}
}

// Devices lists the pool.
func (s *System) Devices(t *testing.T) []v1.Device {
	t.Helper()
	return must[v1.DeviceList](t, s, "GET", v1.PathDevices, nil).Devices
}

// Device reads one device.
func (s *System) Device(t *testing.T, id string) v1.Device {
	t.Helper()
	for _, d := range s.Devices(t) {
		if d.ID == id {
			return d
		}
	}
	t.Fatalf("there is no device %s", id)
	return v1.Device{}
}

// WaitDevice waits until the device is as wanted.
func (s *System) WaitDevice(t *testing.T, id string, want func(v1.Device) bool) {
	t.Helper()
	Wait(t, "device "+id, func() bool { return want(s.Device(t, id)) })
}

// WaitHost waits until the host is as wanted.
func (s *System) WaitHost(t *testing.T, id string, want func(v1.Host) bool) {
	t.Helper()
	Wait(t, "host "+id, func() bool {
		for _, h := range must[v1.HostList](t, s, "GET", v1.PathHosts, nil).Hosts {
			if h.ID == id {
				return want(h)
			}
		}
		return false
	})
}

// HostState reads the state of a host.
func (s *System) HostState(t *testing.T, id string) (state string) {
	t.Helper()
	s.WaitHost(t, id, func(h v1.Host) bool {
		state = h.State
		return true
	})
	return state
}

// Drain drains a host.
func (s *System) Drain(t *testing.T, id string) {
	t.Helper()
	s.order(t, path("hosts", id, "drain"))
}

// Resume ends a drain.
func (s *System) Resume(t *testing.T, id string) {
	t.Helper()
	s.order(t, path("hosts", id, "resume"))
}

// Release force-ends the attempt on a device.
func (s *System) Release(t *testing.T, id string) error {
	return s.call(t.Context(), s.token, "POST", path("devices", id, "release"), nil, nil, nil)
}

func (s *System) order(t *testing.T, path string) {
	t.Helper()
	if err := s.call(t.Context(), s.token, "POST", path, nil, nil, nil); err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
}

// ApplyWorkflow makes source the newest version of a workflow.
func (s *System) ApplyWorkflow(t *testing.T, name, source string) v1.Workflow {
	t.Helper()
	return must[v1.Workflow](t, s, "PUT", path("workflows", name), v1.WorkflowRequest{Source: source})
}

// LeaseOf looks up a lease id where no caller of the API can: in the database.
func (s *System) LeaseOf(t *testing.T, task string, attempt int) string {
	t.Helper()
	database := s.database
	if database == "" {
		database = filepath.Join(s.data, "phonebooth.db")
	}
	st, err := sqlstore.Open(t.Context(), database, sqlstore.Options{})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	defer st.Close()
	attempts, err := st.Attempts(t.Context(), phonebooth.TaskID(task))
	if err != nil || len(attempts) < attempt {
		t.Fatalf("attempts %v of %s: %v", attempts, task, err)
	}
	return string(attempts[attempt-1].LeaseID)
}
