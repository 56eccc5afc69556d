/**
 * The database roles of Bursar: one for each kind of process, and one for the operator commands. In PostgreSQL they are
 * group roles `bursar_<name>` without login; the users of processes are members of them.
 */
import { PROCESS_LIST, type PROCESSES, type ProcessKind } from './processes.ts'

export type DatabaseRole = (typeof PROCESSES)[ProcessKind]['databaseRole'] | 'operator'

export const DATABASE_ROLES = [
  ...PROCESS_LIST.map(({ databaseRole }) => databaseRole),
  'operator',
] as readonly DatabaseRole[]

/**
 * The name of a role in PostgreSQL. Roles belong to the whole server: several installations on one server share them.
 */
export function groupRole(role: DatabaseRole): string {
  return `bursar_${role}`
}

/**
 * Privileges in the syntax of GRANT. Read models have table privileges only: a rebuild does not copy column privileges.
 */
export type TableGrants = Readonly<Partial<Record<DatabaseRole, string>>>

/** The roles that read every read model: for clients, for the operator, and to compare read models with the log. */
export const READERS = ['api', 'auditor', 'operator'] as const

/** `SELECT` for each of the roles, and more for some. */
export function readBy(roles: readonly DatabaseRole[], more: TableGrants = {}): TableGrants {
  return { ...Object.fromEntries(roles.map((role) => [role, 'SELECT'])), ...more }
}
