-- Whether what a handshake left is fetched once, or until it expires.
ALTER TABLE handshakes ADD COLUMN is_good_once BOOLEAN NOT NULL DEFAULT TRUE;
