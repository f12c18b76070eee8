-- People who asked to be let in, by their address. An address stands there once, whatever became of it.
CREATE TABLE waitlist_entries (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  email_folded TEXT NOT NULL,
  search_folded TEXT NOT NULL,
  status TEXT NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  invited_at BIGINT,
  PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__waitlist_entries__instance_id__email_folded UNIQUE (instance_id, email_folded)
);
CREATE INDEX ix__waitlist_entries__created_at ON waitlist_entries (instance_id, created_at, id);
CREATE INDEX ix__waitlist_entries__status ON waitlist_entries (instance_id, status, created_at, id);
