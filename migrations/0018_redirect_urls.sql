-- URLs that browsers may be sent to although they are on none of the application's domains, such as deep links of
-- native apps. They are looked up by the whole URL.
CREATE TABLE redirect_urls (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  url TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__redirect_urls__instance_id__url UNIQUE (instance_id, url)
);
CREATE INDEX ix__redirect_urls__created_at ON redirect_urls (instance_id, created_at, id);
