/** The section of SECURITY.md that says what each database login can do. */
import { DATABASE_ROLES, type DatabaseRole } from '../../src/core/database-roles.ts'
import type { Doors, LoginDoors } from './doors.ts'

const BEGIN = '<!-- database logins: made by npm run database-doors -->'
const END = '<!-- end of database logins -->'

/** Tables whose rows are secrets, sealed or in digest. Everything else is what callers or operators see too. */
const SECRETS = ['public.sealed_keys', 'public.webhook_secrets', 'public.wallet_export_files']
const QUEUES = /^bullmq\./

/** @returns the page with the section in its place */
export function withDoors(page: string, section: string): string {
  const [before, rest] = page.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined)
    throw new Error(`SECURITY.md has no markers for the section: ${BEGIN} … ${END}`)
  return `${before}${BEGIN}\n\n${section}\n\n${END}${after}`
}

/** A part for each login, and what all of them can do. */
export function doorsTable({ logins, tried }: Doors): string {
  const all = DATABASE_ROLES.map((role) => logins[role])
  const common = tried.acts.filter((act) => all.every(({ acts }) => acts.includes(act)))
  const calls = tried.functions.filter((name) => all.every(({ functions }) => functions.includes(name)))
  const rows = DATABASE_ROLES.map((role) => `| ${cells(role, logins[role], common, calls).join(' | ')} |`)
  return [
    '| login | appends | carries rows of | writes beside the log | reads secrets | holds leases, reports as | besides |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
    `Every login can also, whatever Bursar grants: ${common.join('; ')}.`,
  ].join('\n')
}

function cells(role: DatabaseRole, login: LoginDoors, common: readonly string[], calls: readonly string[]): string[] {
  const tables = Object.entries(login.tables).filter(([name]) => !QUEUES.test(name))
  const writes = tables.flatMap(([name, text]) => {
    const modes = text.replace(/^select( \([^)]*\))?(, )?/, '')
    return modes === '' ? [] : [`\`${short(name)}\`: ${modes}`]
  })
  const secrets = tables.flatMap(([name, text]) =>
    SECRETS.includes(name) && text.startsWith('select')
      ? [`\`${short(name)}\`${text.match(/^select( \([^)]*\))?/)?.[1] ?? ''}`]
      : [],
  )
  const functions = login.functions.filter((name) => !calls.includes(name) && !QUEUES.test(name))
  const queues = Object.keys(login.tables).some((name) => QUEUES.test(name)) ? ['writes the queues'] : []
  const besides = [
    ...queues,
    ...functions
      .filter((name) => !/\.(append_commits|\w+_lease|\w+_heartbeat)\(/.test(name))
      .map((name) => `calls \`${short(name)}\``),
    ...login.acts.filter((act) => !common.includes(act)),
    // Once for all overloads.
    ...new Set(login.guarded.map((name) => `uses \`${name.replace(/\(.*/, '()')}\``)),
  ]
  return [
    `\`${role}\``,
    appends(login.appends),
    list(login.rows.map((name) => `\`${name}\``)),
    list(writes),
    list(secrets),
    list([...new Set([...login.leases, ...login.heartbeats])].map((name) => `\`${name.replace('1-door', '…')}\``)),
    list(besides),
  ]
}

/** By the category of the stream, which is named after its capability. */
function appends(names: readonly string[]): string {
  const byCategory = new Map<string, string[]>()
  for (const name of names) {
    const [category = '', type = ''] = name.split(':')
    byCategory.set(category, [...(byCategory.get(category) ?? []), `\`${type}\``])
  }
  return list([...byCategory].map(([category, types]) => `${category}: ${types.join(', ')}`))
}

function list(items: readonly string[]): string {
  return items.length === 0 ? 'nothing' : items.join('; ')
}

function short(name: string): string {
  return name.replace(/^public\./, '')
}
