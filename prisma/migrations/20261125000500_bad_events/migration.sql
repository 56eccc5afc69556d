-- Events that the auditor found to be bad when it added them to the tree. It goes on behind them; an operator examines
-- them, and sets each aside. A hint for reports: readers judge every event themselves.
CREATE TABLE bad_events (
  stream_id      text        NOT NULL,
  stream_version integer     NOT NULL,
  hash           text        NOT NULL,
  position       bigint      NOT NULL,
  problem        text        NOT NULL,
  found_at       timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (stream_id, stream_version)
);
