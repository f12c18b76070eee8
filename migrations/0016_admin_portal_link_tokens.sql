-- Tokens that let somebody open the admin portal of an organization by a link. Only the digest of a token is kept.
CREATE TABLE admin_portal_link_tokens (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  document TEXT NOT NULL,
  link_id TEXT NOT NULL,
  organization_id TEXT,
  token_digest BYTEA NOT NULL,
  expire_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__admin_portal_link_tokens__instance_id__token_digest UNIQUE (instance_id, token_digest)
);
CREATE INDEX ix__admin_portal_link_tokens__expire_at ON admin_portal_link_tokens (expire_at);
CREATE INDEX ix__admin_portal_link_tokens__organization_id
  ON admin_portal_link_tokens (instance_id, organization_id) WHERE organization_id IS NOT NULL;
