-- Whether the client knows people who signed in on it. Of those from before nobody looks: they count as if it did.
ALTER TABLE clients ADD COLUMN knows_users BOOLEAN NOT NULL DEFAULT TRUE;
CREATE INDEX ix__clients__without_people ON clients (seen_at) WHERE NOT knows_users;
