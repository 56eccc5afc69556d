/** Parses the command line of `npm run keys`; an invalid one is refused before anything is done. */
import { parseArgs } from 'node:util'
import { toInstant } from '../core/ids.ts'
import { ENVIRONMENTS, type Environment } from '../core/networks.ts'
import { ALL_SCOPES } from '../core/scopes.ts'
import { SCOPES } from '../declarations.ts'
import type { ApiKeyRequest } from './issue-api-key.ts'

export const KEYS_USAGE = `usage: npm run keys -- <command> [--json]

  issue --tenant NAME --environment ${ENVIRONMENTS.join('|')} [--label TEXT] [--scopes LIST] [--expires TIME]
                              create a key and print it; it is shown once
  list [--tenant NAME] [--limit N]
                              list keys, newest first (default 100), without their secrets
  revoke KEY_ID               revoke a key; requests with it are refused immediately

LIST: comma list of: ${[ALL_SCOPES, ...SCOPES].join(', ')} 
      (default ${ALL_SCOPES}: all except recovery:export, which must be listed: --scopes '${ALL_SCOPES},recovery:export')
TIME: 2027-01-01 (00:00 UTC) or 2027-01-01T12:00:00Z
exit codes: 0 done, 1 refused, 2 wrong usage, 3 the database does not answer
`

export class WrongUsage extends Error {}

export type KeysCommand =
  | { readonly name: 'help' }
  | { readonly name: 'issue'; readonly json: boolean; readonly request: ApiKeyRequest }
  | {
      readonly name: 'list'
      readonly json: boolean
      readonly filter: { readonly tenantId?: string; readonly limit: number }
    }
  | { readonly name: 'revoke'; readonly json: boolean; readonly keyId: string }

const OPTIONS = {
  tenant: { type: 'string' },
  environment: { type: 'string' },
  label: { type: 'string' },
  scopes: { type: 'string' },
  expires: { type: 'string' },
  limit: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const
type Options = ReturnType<typeof parseWords>['values']

/** The options and arguments of each command; anything else is an error. */
const TAKES: Readonly<Record<string, { readonly options: readonly string[]; readonly words: number }>> = {
  issue: { options: ['tenant', 'environment', 'label', 'scopes', 'expires', 'json'], words: 0 },
  list: { options: ['tenant', 'limit', 'json'], words: 0 },
  revoke: { options: ['json'], words: 1 },
}

/** @throws WrongUsage with a message of one line */
export function parseKeysArguments(args: readonly string[]): KeysCommand {
  const { values: options, positionals } = parseWords(args)
  const [name = '', ...words] = positionals
  if (options.help || name === 'help') return { name: 'help' }
  const takes = TAKES[name]
  if (takes === undefined) {
    throw new WrongUsage(name === '' ? 'no command given: issue, list or revoke' : `unknown command: ${name}`)
  }
  const stray = Object.keys(options).find((option) => !takes.options.includes(option))
  if (stray !== undefined) throw new WrongUsage(`${name} has no option --${stray}`)
  if (words.length > takes.words) throw new WrongUsage(`too many arguments: ${words.slice(takes.words).join(' ')}`)
  const json = options.json ?? false
  if (name === 'issue') return { name, json, request: parseRequest(options) }
  if (name === 'list') return { name, json, filter: parseFilter(options) }
  const [keyId] = words
  if (keyId === undefined) throw new WrongUsage('revoke needs a key id, as "npm run keys -- list" shows it')
  return { name: 'revoke', json, keyId }
}

function parseWords(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS })
  } catch (error) {
    throw new WrongUsage(error instanceof Error ? error.message : String(error))
  }
}

function parseRequest({ tenant, environment, label, scopes, expires }: Options): ApiKeyRequest {
  if (tenant === undefined) throw new WrongUsage('--tenant is missing: give the tenant of the key, as in --tenant acme')
  return {
    tenantId: tenant,
    environment: parseEnvironment(environment),
    ...(label === undefined ? {} : { label }),
    ...(scopes === undefined ? {} : { scopes: scopes.split(',').map((scope) => scope.trim()) }),
    ...(expires === undefined ? {} : { expiresAt: parseTime(expires) }),
  }
}

function parseFilter({ tenant, limit = '100' }: Options): { readonly tenantId?: string; readonly limit: number } {
  if (!/^[1-9]\d{0,3}$/.test(limit)) throw new WrongUsage('--limit must be a number from 1 to 9999')
  return { ...(tenant === undefined ? {} : { tenantId: tenant }), limit: Number(limit) }
}

function parseEnvironment(text: string | undefined): Environment {
  const environment = ENVIRONMENTS.find((known) => known === text)
  if (environment === undefined) throw new WrongUsage(`--environment must be one of: ${ENVIRONMENTS.join(', ')}`)
  return environment
}

const TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z)?$/

/** Refuses a day that does not exist in its month: a date parser would move it into the next month. */
function parseTime(text: string): string {
  const [, day] = TIME.exec(text) ?? []
  const epochMs = day === undefined ? Number.NaN : Date.parse(text)
  if (day === undefined || Number.isNaN(epochMs) || !toInstant(epochMs).startsWith(day)) {
    throw new WrongUsage('--expires must be a time such as 2027-01-01 or 2027-01-01T12:00:00Z')
  }
  return toInstant(epochMs)
}
