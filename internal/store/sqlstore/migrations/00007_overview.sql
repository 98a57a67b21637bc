-- How many tasks ended lately, and how, without a look at each of them; and those that failed last.

-- +goose Up
DROP INDEX tasks_finished;
CREATE INDEX tasks_finished ON tasks (finished_at, status) WHERE finished_at > 0;
CREATE INDEX tasks_failed ON tasks (finished_at) WHERE status = 'failed';
