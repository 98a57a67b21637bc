-- What lists are filtered by. An event keeps the labels of its task, which it may outlive.

-- +goose Up
CREATE TABLE task_labels (
    seq   BIGINT NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (seq, name)
);
CREATE INDEX task_labels_pair ON task_labels (name, value, seq);

CREATE INDEX tasks_device ON tasks (device_id, seq) WHERE device_id <> '';
CREATE INDEX tasks_workflow ON tasks (workflow, seq) WHERE workflow <> '';
CREATE INDEX tasks_ended ON tasks (status, seq) WHERE finished_at > 0;
CREATE INDEX tasks_open ON tasks (seq) WHERE finished_at = 0;
CREATE INDEX tasks_created ON tasks (created_at, seq);

ALTER TABLE events ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
UPDATE events SET labels = COALESCE((SELECT t.labels FROM tasks t WHERE t.id = events.task_id), '{}') WHERE task_id <> '';
