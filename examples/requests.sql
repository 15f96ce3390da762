-- The heaviest clients over several servers, whose logs arrive one by one.
--   skyband run examples/requests.sql --source requests=PATH --sink PATH

CREATE STREAM requests (
  ts     TIMESTAMP,
  id     BIGINT,
  client STRING,
  server STRING,
  bytes  BIGINT
) WITH (TIME = ts, KEY = id, LATENESS = 5 SECONDS);

-- Bytes to a client from all servers together. Nothing is known about the servers, so the whole window is kept.
CREATE QUERY heavy AS
  SELECT TOP 20 client
  FROM requests [RANGE 100 SECONDS SLIDE 1 SECOND]
  OBJECT client ACROSS server (SUM)
  ORDER BY SUM(bytes) DESC
  EXACT;

-- The largest answer from each of three servers, added up. With their highest values declared, a client is forgotten as
-- soon as twenty others are ahead of all it can still reach. The second server is slower, so its bytes count double.
CREATE QUERY greedy AS
  SELECT TOP 20 client, ts
  FROM requests [RANGE 100 SECONDS SLIDE 1 SECOND]
  OBJECT client ACROSS server IN ('s0', 's1' WEIGHT 2, 's2') (MAX) EACH BETWEEN 0 AND 10000000
  ORDER BY SUM(bytes) DESC;

-- The same with a fraction of the memory: nine of ten clients of the list above.
CREATE QUERY greedy_about AS
  SELECT TOP 20 client, ts
  FROM requests [RANGE 100 SECONDS SLIDE 1 SECOND]
  OBJECT client ACROSS server IN ('s0', 's1' WEIGHT 2, 's2') (MAX) EACH BETWEEN 0 AND 10000000
  ORDER BY SUM(bytes) DESC
  APPROXIMATE WITH PRECISION 0.9;

-- Clients that every server serves well, as they come and go.
CREATE QUERY everywhere AS
  SELECT TOP 10 client
  FROM requests [RANGE 10 MINUTES SLIDE 1 MINUTE]
  WHERE bytes > 0
  OBJECT client ACROSS server IN ('s0', 's1', 's2') (SUM)
  ORDER BY MIN(bytes) DESC
  EMIT CHANGES;
