-- Tokens that providers gave for connected accounts of users, sealed with the master key. The accounts themselves are
-- part of the user's document.
CREATE TABLE external_account_tokens (
  instance_id TEXT NOT NULL,
  external_account_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  sealed TEXT NOT NULL,
  PRIMARY KEY (instance_id, external_account_id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX external_account_tokens_by_user ON external_account_tokens (instance_id, user_id);
