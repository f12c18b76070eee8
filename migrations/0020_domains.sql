-- Instances whose primary domain changed, and whose sessions from before are not all over yet. `frontend_api` is the
-- host that was left.
CREATE TABLE domain_changes (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  frontend_api TEXT NOT NULL,
  document TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, frontend_api)
);
CREATE INDEX ix__domain_changes__due_at ON domain_changes (due_at);
