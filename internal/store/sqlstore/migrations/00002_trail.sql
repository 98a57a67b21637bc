-- The attempts that a device's streak is made of.

-- +goose Up
ALTER TABLE devices ADD COLUMN trail TEXT NOT NULL DEFAULT '[]';
