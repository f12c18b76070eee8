-- Tokens that sign a user in once. The ticket itself is shown once; its digest tells whether one that
-- comes back is it.
CREATE TABLE sign_in_tokens (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  ticket_digest BYTEA NOT NULL,
  status TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__sign_in_tokens__user_id ON sign_in_tokens (instance_id, user_id);
CREATE INDEX ix__sign_in_tokens__expire_at ON sign_in_tokens (expire_at);

-- Tokens that let somebody act as a user once.
CREATE TABLE actor_tokens (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  ticket_digest BYTEA NOT NULL,
  status TEXT NOT NULL,
  actor TEXT NOT NULL,
  session_seconds BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__actor_tokens__user_id ON actor_tokens (instance_id, user_id);
CREATE INDEX ix__actor_tokens__expire_at ON actor_tokens (expire_at);

-- Session tokens that a backend has renewed. Each is renewed once; the row goes when the token has become
-- too old to be renewed anyway.
CREATE TABLE renewed_tokens (
  instance_id TEXT NOT NULL,
  token_digest BYTEA NOT NULL,
  session_id TEXT NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, token_digest),
  FOREIGN KEY (instance_id, session_id) REFERENCES sessions (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__renewed_tokens__session_id ON renewed_tokens (instance_id, session_id);
CREATE INDEX ix__renewed_tokens__expire_at ON renewed_tokens (expire_at);
