// The tables of the log in PostgreSQL.

/** Of the tables and the function below. */
export const version = 1

/**
 * Numbers are assigned while the row of `log` is locked, until the commit: so they have no gaps, and a
 * reader that sees one sees all before it. PostgreSQL's sequences are not in the order of commits.
 */
export const schemaSql = (schema: string) => `
CREATE TABLE "${schema}".log (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  version integer NOT NULL, epoch text NOT NULL, head bigint NOT NULL) WITH (fillfactor = 10);
CREATE TABLE "${schema}".message (
  seq bigint PRIMARY KEY, key text NOT NULL UNIQUE, channel text NOT NULL,
  accepted_at double precision NOT NULL, text text NOT NULL);
CREATE INDEX message_channel ON "${schema}".message (channel, seq);
CREATE TABLE "${schema}".kept (name text PRIMARY KEY, seq bigint NOT NULL, text text NOT NULL);
CREATE FUNCTION "${schema}".append(
  known_epoch text, known_head bigint, keys text[], channels text[], times double precision[], texts text[],
  erased bigint[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  current_epoch text;
  last bigint;
  found_seq bigint;
  numbers bigint[] := '{}';
BEGIN
  SELECT epoch, head INTO current_epoch, last FROM "${schema}".log FOR UPDATE;
  IF current_epoch IS DISTINCT FROM known_epoch OR last < known_head THEN
    RETURN NULL;
  END IF;
  FOR i IN 1 .. cardinality(keys) LOOP
    SELECT seq INTO found_seq FROM "${schema}".message WHERE key = keys[i];
    IF found_seq = erased[i] THEN
      DELETE FROM "${schema}".message WHERE seq = found_seq;
      found_seq := NULL;
    END IF;
    IF found_seq IS NULL THEN
      last := last + 1;
      found_seq := last;
      INSERT INTO "${schema}".message (seq, key, channel, accepted_at, text)
        VALUES (last, keys[i], channels[i], times[i], texts[i]);
    END IF;
    numbers := numbers || found_seq;
  END LOOP;
  UPDATE "${schema}".log SET head = last;
  PERFORM pg_notify('${schema}', '');
  RETURN numbers;
END $$;
`

/** Largest portion of messages that is read at once; one larger message is a portion, too. */
const portion = { messages: 500, bytes: 1_048_576 }

/** One row at least, unless there is no log; without a message in it if there are no later ones. */
export const readSql = (schema: string) => `
SELECT log.epoch, log.head::float8 AS head, last.key, last.accepted_at, page.seq::float8 AS seq, page.text
FROM "${schema}".log
LEFT JOIN "${schema}".message last ON last.seq = $1
LEFT JOIN (
  SELECT seq, text, sum(octet_length(text)) OVER (ORDER BY seq) - octet_length(text) AS bytes_before
  FROM (SELECT seq, text FROM "${schema}".message WHERE seq > $1 ORDER BY seq LIMIT ${portion.messages}) next
) page ON page.bytes_before < ${portion.bytes}
ORDER BY page.seq`

export const keepSql = (schema: string) => `
INSERT INTO "${schema}".kept (name, seq, text) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, text = excluded.text WHERE kept.seq < excluded.seq`
