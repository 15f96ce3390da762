-- Scores with an error: the k likeliest to be among the k best, queries of any k in one integration.
CREATE STREAM quakes WITH (TIME = ts, KEY = id);
CREATE QUERY weekly AS SELECT TOP 10 id FROM quakes [RANGE 30 DAYS] ORDER BY mag WITH ERROR mag_err DESC FREQUENCY 7 DAYS;
CREATE QUERY often AS SELECT TOP 3 id FROM quakes [RANGE 30 DAYS] ORDER BY mag WITH ERROR mag_err DESC FREQUENCY 3 DAYS;
CREATE QUERY sure AS SELECT TOP 5 id FROM quakes [RANGE 1 DAY SLIDE 1 HOUR] ORDER BY mag WITH ERROR mag_err USING PT_K(0.5);
