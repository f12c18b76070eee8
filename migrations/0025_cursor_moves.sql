-- How often somebody moved the cursor of an endpoint. Whoever sends to it saves no progress after that.
ALTER TABLE webhook_endpoints ADD COLUMN cursor_moves BIGINT NOT NULL DEFAULT 0;
