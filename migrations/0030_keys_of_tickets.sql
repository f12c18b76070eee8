-- The secret key that made a ticket or a link token, or caused an event. Rows from before this step name none.
ALTER TABLE sign_in_tokens ADD COLUMN key_id TEXT;
ALTER TABLE actor_tokens ADD COLUMN key_id TEXT;
ALTER TABLE admin_portal_link_tokens ADD COLUMN key_id TEXT;
ALTER TABLE events ADD COLUMN key_id TEXT;
CREATE INDEX ix__sign_in_tokens__key_id ON sign_in_tokens (instance_id, key_id, id) WHERE status = 'pending';
CREATE INDEX ix__actor_tokens__key_id ON actor_tokens (instance_id, key_id, id) WHERE status = 'pending';
CREATE INDEX ix__admin_portal_link_tokens__key_id ON admin_portal_link_tokens (instance_id, key_id, id);

-- Secret keys that were revoked without their tickets and link tokens, which stay good.
CREATE TABLE replaced_keys (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  revoked_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id)
);
