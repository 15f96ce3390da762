-- The queries of the paper's introduction, one that slides, and one over a longer window.
CREATE STREAM sensor WITH (TIME = ts, PROBABILITY = prob, RULE = reading_group, SCORE = speed);
CREATE QUERY q1 AS SELECT top-3 FROM sensor [Range 20 mins] FREQUENCY 2 mins;
CREATE QUERY q2 AS SELECT top-2 FROM sensor [Range 20 mins] FREQUENCY 2 mins USING U_TOPK;
CREATE QUERY q3 AS SELECT top-4 FROM sensor [Range 20 mins] FREQUENCY 3 mins;
CREATE QUERY q4 AS SELECT top-3 FROM sensor [Range 20 mins] FREQUENCY 5 mins;
CREATE QUERY q5 AS SELECT top-5 FROM sensor [Range 20 mins] FREQUENCY 5 mins;
CREATE QUERY q6 AS SELECT top-2 FROM sensor [Range 20 mins] FREQUENCY 7 mins;
CREATE QUERY sure AS SELECT TOP 2 FROM sensor [RANGE 20 MINUTES SLIDE 7 MINUTES] USING PT_K(0.8);
CREATE QUERY slow AS SELECT TOP 10 FROM sensor [RANGE 1 HOUR] FREQUENCY 10 MINUTES USING EXPECTED_RANK;
