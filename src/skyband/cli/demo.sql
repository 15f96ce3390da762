CREATE STREAM trades WITH (TIME = ts, KEY = trade_id, LATENESS = 1 SECOND);

CREATE QUERY biggest AS
  SELECT TOP 10 ts, symbol, price, size
  FROM trades [RANGE 10 MINUTES SLIDE 10 SECONDS]
  ORDER BY price * size DESC;

CREATE QUERY movers AS
  SELECT TOP 8 ts, symbol, price, change
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS]
  ORDER BY abs(change) DESC;

CREATE QUERY leaders AS
  SELECT TOP 1 PER symbol ts, symbol, price, size
  FROM trades [ROWS 1000 SLIDE 100]
  ORDER BY price * size DESC;

CREATE QUERY whales AS
  SELECT ABOVE 100000000 ts, symbol, price, size
  FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS]
  ORDER BY price * size DESC;
