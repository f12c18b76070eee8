-- The token of a developer's browser proves what the secret of its client proves. `client_digest` is the digest of the
-- secret that the client had when the token was linked to it.
ALTER TABLE dev_browsers ADD COLUMN client_digest BYTEA;
UPDATE dev_browsers SET client_digest = (SELECT clients.token_digest FROM clients
  WHERE clients.instance_id = dev_browsers.instance_id AND clients.id = dev_browsers.client_id)
  WHERE client_id IS NOT NULL;
