CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Every search reads the list of rows whose trigrams are not in the index yet, so it is kept short: a
-- quarter of the usual length.
CREATE INDEX ix__users__search ON users USING gin (search_folded gin_trgm_ops) WITH (gin_pending_list_limit = 1024);
