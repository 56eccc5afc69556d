/**
 * Whether a program and the schema of a database fit. A program is named by the newest migration that it knows; each
 * migration says which oldest program runs with it. Pure.
 */
import { Conflict } from '../core/errors.ts'

/** A migration of the database that the program does not know. */
export type UnknownMigration = { readonly migration: string; readonly oldestProgram: string }

/** @param known in order */
export function refuseNewerSchema(known: readonly string[], unknown: readonly UnknownMigration[]): Conflict | null {
  const program = known.at(-1) ?? ''
  const oldest =
    unknown
      .map(({ oldestProgram }) => oldestProgram)
      .toSorted()
      .at(-1) ?? ''
  if (oldest <= program) return null
  const schema = unknown
    .map(({ migration }) => migration)
    .toSorted()
    .at(-1)
  return new Conflict(
    'schema_too_new',
    `The schema of the database is ${schema}, and this version of Bursar knows only ${program}: start the newer version, which knows at least ${oldest}, ` +
      'or go back as docs/deployment.md describes.',
  )
}

/** @param schema the newest migration of the database; `null` when none is recorded */
export function refuseOlderSchema(
  known: readonly string[],
  missing: readonly string[],
  schema: string | null,
): Conflict | null {
  if (missing.length === 0) return null
  return new Conflict(
    'schema_too_old',
    `The schema of the database is ${schema ?? 'older than its record of migrations'}, and this version of Bursar needs ${missing.at(-1) ?? known.at(-1)}: run npm run migrate.`,
  )
}
