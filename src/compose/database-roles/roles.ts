/**
 * The database roles of Bursar: one for each kind of process, and one for the operator's commands. PostgreSQL knows them as group
 * roles `bursar_<name>` that nobody logs in as; the users of processes are members of them.
 */
import type { BESIDE_THE_LOG, ReadModel } from '../../event-log/tables.ts'

export const DATABASE_ROLES = [
  'api',
  'dispatcher',
  'signer',
  'submitter',
  'follower',
  'auditor',
  'party',
  'operator',
] as const
export type DatabaseRole = (typeof DATABASE_ROLES)[number]

/** Every table of `prisma/schema.prisma`. */
export type Table = 'events' | ReadModel | keyof typeof BESIDE_THE_LOG

/** The name of a role in PostgreSQL. Roles belong to the whole server: several installations on one server share them. */
export function groupRole(role: DatabaseRole): string {
  return `bursar_${role}`
}
