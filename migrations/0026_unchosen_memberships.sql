-- Whether another member added the user, who has not chosen the organization since. Whoever is a member already counts
-- as if they had.
ALTER TABLE organization_memberships ADD COLUMN is_unchosen BOOLEAN NOT NULL DEFAULT FALSE;
