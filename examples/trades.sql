-- Continuous top-k lists over a stream of trades.
--   skyband run examples/trades.sql --source trades=PATH --sink PATH

CREATE STREAM trades (
  ts       TIMESTAMP,
  trade_id BIGINT,
  symbol   STRING,
  price    DOUBLE,
  size     BIGINT,
  change   DOUBLE       -- relative to the symbol's previous price
) WITH (TIME = ts, KEY = trade_id, LATENESS = 10 SECONDS);

-- The largest trades by value. These four differ in k, window and slide only, so they share one candidate set.
CREATE QUERY biggest AS
  SELECT TOP 10 symbol, price, size
  FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE]
  ORDER BY price * size DESC;

CREATE QUERY biggest_now AS
  SELECT TOP 5 symbol, price, size
  FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS]
  ORDER BY price * size DESC;

CREATE QUERY biggest_of_the_hour AS
  SELECT TOP 25 symbol, price, size
  FROM trades [RANGE 1 HOUR SLIDE 5 MINUTES]
  ORDER BY price * size DESC;

CREATE QUERY biggest_of_the_day AS
  SELECT TOP 100 *
  FROM trades [RANGE 1 DAY SLIDE 1 HOUR]
  ORDER BY price * size DESC;

-- Everything above a million, as it enters, moves and leaves.
CREATE QUERY whales AS
  SELECT ABOVE 1000000 symbol, price, size
  FROM trades [RANGE 1 HOUR SLIDE 5 MINUTES]
  ORDER BY price * size DESC
  EMIT CHANGES;

-- Of every symbol's last 1,000 trades the three that moved the price most.
CREATE QUERY movers AS
  SELECT TOP 3 PER symbol price, change
  FROM trades [ROWS 1000 SLIDE 100]
  ORDER BY abs(change) DESC;

-- The steepest falls among trades of some size; lowest first.
CREATE QUERY falls AS
  SELECT TOP 10 symbol, price, size, change
  FROM trades [RANGE 10 MINUTES SLIDE 30 SECONDS]
  WHERE size >= 100 AND change < 0
  ORDER BY change ASC;

-- Small trades at high prices; the planner picks the moments, at most two minutes apart.
CREATE QUERY expensive AS
  SELECT TOP 5 symbol, price
  FROM trades [RANGE 20 MINUTES]
  WHERE size BETWEEN 1 AND 50
  ORDER BY price DESC
  FREQUENCY 2 MINUTES;
