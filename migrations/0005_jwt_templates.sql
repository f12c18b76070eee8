-- Templates for tokens with claims of the application's choice. A key of its own is sealed with the
-- master key; without one the instance's key signs.
CREATE TABLE jwt_templates (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  claims TEXT NOT NULL,
  lifetime_seconds BIGINT NOT NULL,
  allowed_clock_skew_seconds BIGINT NOT NULL,
  signing_algorithm TEXT NOT NULL,
  signing_key_sealed BYTEA,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__jwt_templates__instance_id__name UNIQUE (instance_id, name)
);
CREATE INDEX ix__jwt_templates__created_at ON jwt_templates (instance_id, created_at, id);
