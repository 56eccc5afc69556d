-- What an append costs however few commits it has.

-- The planner expects ten accounts, and planned each statement anew for a call with fewer.
ALTER FUNCTION apply_holds(jsonb, integer[]) SET plan_cache_mode = 'force_generic_plan';

-- As before, and put_rows calls the functions of its tables in one statement: an IF for each table took longer than its rows.

-- Makes put_<table>(rows jsonb), which inserts rows, and put_rows(rows jsonb), by which append_commits hands each table its
-- rows. Call it again whenever the table changes. A row replaces the one of the same primary key, unless `first_stays`.
-- In a table with versions, a row with `after_version` has only the columns that differ from that version. If the table does
-- not have that version, the missing columns break their NOT NULL constraints: the caller sends the whole row.
-- The statements inside are static, so their plans are kept.
CREATE OR REPLACE FUNCTION create_put_function(target regclass, first_stays boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  keys text;
  same_key text;
  assignments text;
  whole_rows text;
  calls text;
  tables text;
BEGIN
  SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.n),
         string_agg(format('r.%1$I = (x->>%2$L)::%3$s', a.attname, a.attname, format_type(a.atttypid, a.atttypmod)), ' AND ' ORDER BY k.n)
    INTO keys, same_key
    FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k(attnum, n), pg_attribute a
   WHERE i.indrelid = target AND i.indisprimary AND a.attrelid = target AND a.attnum = k.attnum;
  SELECT string_agg(format('%1$I = excluded.%1$I', a.attname), ', ' ORDER BY a.attnum) INTO assignments
    FROM pg_attribute a
   WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped;
  IF EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = target AND a.attname = 'version' AND NOT a.attisdropped) THEN
    -- LATERAL with OFFSET: one index look-up for each, and none for whole rows.
    whole_rows := format(
      'SELECT n.* FROM jsonb_array_elements(rows) AS x
         LEFT JOIN LATERAL (SELECT r FROM %1$I r WHERE x ? ''after_version'' AND %2$s AND r.version = (x->>''after_version'')::integer OFFSET 0) AS stored ON true
        CROSS JOIN LATERAL jsonb_populate_record(stored.r, x) AS n', target, same_key);
  ELSE
    whole_rows := format('SELECT * FROM jsonb_populate_recordset(NULL::%I, rows)', target);
  END IF;
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION put_%1$s(rows jsonb) RETURNS void LANGUAGE plpgsql AS $put$ BEGIN
       INSERT INTO %1$I %4$s ORDER BY %2$s
         ON CONFLICT (%2$s) DO %3$s;
     END $put$', target, keys, CASE WHEN first_stays THEN 'NOTHING' ELSE 'UPDATE SET ' || assignments END, whole_rows);

  -- By name: one order for every writer, so that two of them never wait for each other's rows.
  SELECT string_agg(format('WHEN %1$L THEN put_%1$s(rows->%1$L)', c.relname), E'\n' ORDER BY c.relname),
         string_agg(quote_literal(c.relname), ', ' ORDER BY c.relname)
    INTO calls, tables
    FROM pg_class c JOIN pg_proc p ON p.proname = 'put_' || c.relname AND p.pronamespace = c.relnamespace
   WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid);
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION put_rows(rows jsonb) RETURNS void LANGUAGE plpgsql AS $put$
     DECLARE
       unknown text;
     BEGIN
       SELECT string_agg(name, '', '') INTO unknown FROM jsonb_object_keys(rows) AS name WHERE name <> ALL (ARRAY[%s]);
       IF unknown IS NOT NULL THEN
         RAISE EXCEPTION ''rows for a table that has no put function: %%'', unknown;
       END IF;
       PERFORM CASE t.name %s END
          FROM (SELECT name FROM jsonb_object_keys(rows) AS name ORDER BY name COLLATE "C") AS t;
     END $put$', tables, calls);
END $body$;
SELECT create_put_function('transactions');
