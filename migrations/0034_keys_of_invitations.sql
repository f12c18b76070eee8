-- The secret key that made an invitation. Invitations of members and of domains have none, and neither have those that were
-- made before this column.
ALTER TABLE invitations ADD COLUMN key_id TEXT;
ALTER TABLE organization_invitations ADD COLUMN key_id TEXT;
CREATE INDEX ix__invitations__key_id ON invitations (instance_id, key_id, id) WHERE status = 'pending';
CREATE INDEX ix__organization_invitations__key_id ON organization_invitations (instance_id, key_id, id)
  WHERE status = 'pending';
