package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// attempt is a host of its own, named NAME, that runs one task as DIR says: DIR/logs holds its logs, DIR/artifacts its
// files, DIR/result.json its result, and DIR/outcome its outcome, with a code and a message if it has any.
func attempt(ts *testscript.TestScript, _ bool, args []string) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	agent, lease := claimOne(ctx, ts, args[0])
	dir := ts.MkAbs(args[1])
	logs, err := os.ReadDir(filepath.Join(dir, "logs"))
	ts.Check(err)
	for _, log := range logs {
		text, err := os.ReadFile(filepath.Join(dir, "logs", log.Name()))
		ts.Check(err)
		_, err = agent.AppendLog(ctx, lease, log.Name(), 0, text)
		ts.Check(err)
	}
	artifacts := os.DirFS(filepath.Join(dir, "artifacts"))
	ts.Check(fs.WalkDir(artifacts, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(artifacts, path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		return agent.PutArtifact(ctx, lease, path, int64(len(content)), hex.EncodeToString(sum[:]), bytes.NewReader(content))
	}))
	outcome := append(strings.SplitN(strings.TrimSpace(ts.ReadFile(filepath.Join(dir, "outcome"))), " ", 3), "", "")
	_, err = agent.Report(ctx, v1.ReportRequest{
		Incarnation: 1, Seq: 2, LeaseID: lease, Outcome: outcome[0], Code: outcome[1], Message: outcome[2], Runner: "robot", Fence: "gate",
		Condition: "ready", Result: []byte(ts.ReadFile(filepath.Join(dir, "result.json"))),
	})
	ts.Check(err)
}

// claimOne makes a host with one device and claims a task for it.
func claimOne(ctx context.Context, ts *testscript.TestScript, name string) (agent *client.Agent, lease string) {
	connect := func(token string) *client.Client {
		c, err := client.New(ts.Getenv("PHONEBOOTH_SERVER"), token, client.Options{})
		ts.Check(err)
		return c
	}
	enrollment, err := connect(ts.Getenv("PHONEBOOTH_TOKEN")).Enrollment(ctx, name)
	ts.Check(err)
	secret := "secret of the host " + strings.Repeat(name, 32)
	enrolled, err := connect("").Enroll(ctx, v1.EnrollRequest{Token: enrollment.Token, Secret: secret, Name: name})
	ts.Check(err)
	agent = connect(secret).Agent(enrolled.HostID)
	_, err = agent.Start(ctx, v1.IncarnationRequest{StartID: "start-" + name})
	ts.Check(err)
	phone := v1.Sighting{Key: "phone", Name: name + "-phone", DriverType: "android", Condition: "ready", Runners: []string{"robot"}, Fence: "gate"}
	_, err = agent.Inventory(ctx, v1.InventoryRequest{Incarnation: 1, Seq: 1, Devices: []v1.Sighting{phone}})
	ts.Check(err)
	for {
		answer, err := agent.Claim(ctx, v1.ClaimRequest{Incarnation: 1, ClaimID: client.NewKey(), Max: 1, WaitMS: 2000})
		ts.Check(err)
		if len(answer.Assignments) == 1 {
			return agent, answer.Assignments[0].LeaseID
		}
	}
}
