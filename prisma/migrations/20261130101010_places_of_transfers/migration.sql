-- The place of a transfer in lists told only the first 4,094 logs of a block apart; the digits of the id behind them follow for the
-- others now. Of the few that are concerned, the log is that of the first observation.
UPDATE observed_transfers AS t
   SET place = left(t.place, 24) || lpad(to_hex((e.data->>'logIndex')::integer - 4094), 6, '0') || right(t.place, 6)
  FROM events AS e
 WHERE substr(t.place, 21, 3) = 'fff' AND e.stream_id = 'observed-' || t.transfer_id AND e.stream_version = 1;
