/** `npm run keys`: issues, lists and revokes API keys. */
import {
  BadInput,
  type CliCommand,
  type CliOptions,
  type CliProgram,
  type ExitCode,
  type Within,
} from '../cli/command.ts'
import { limitOf, textOf } from '../cli/option-values.ts'
import { shown, shownText } from '../cli/printed.ts'
import { type Clock, toInstant } from '../core/ids.ts'
import { ENVIRONMENTS, type Environment } from '../core/networks.ts'
import { ALL_SCOPES, grantsOf, type ScopeRules } from '../core/scopes.ts'
import type { ApiKey, ApiKeyRows } from './api-key-rows.ts'
import type { ApiKeyRequest, IssueApiKey, IssuedApiKey } from './issue-api-key.ts'
import type { revokeApiKey } from './revoke-api-key.ts'

const ACTOR = 'operator'
const LIMIT = { byDefault: 100, most: 9_999 }

/** What the commands of this program have. */
export type KeysContext = {
  readonly issueApiKey: IssueApiKey
  readonly revokeApiKey: (keyId: string, context: Parameters<typeof revokeApiKey>[2]) => ReturnType<typeof revokeApiKey>
  readonly keys: Pick<ApiKeyRows, 'list'>
  /** For marking expired keys in lists. */
  readonly clock: Clock
}

export function keysProgram(within: Within<KeysContext>, scopes: ScopeRules): CliProgram {
  return {
    name: 'keys',
    description: 'Issues, lists and revokes API keys.',
    commands: [issueCommand(within, scopes), listCommand(within), revokeCommand(within)],
    refused: 1,
    errorLine: (message) => `keys: ${message}`,
  }
}

function issueCommand(within: Within<KeysContext>, rules: ScopeRules): CliCommand {
  const scopes = Object.keys(rules)
  const granted = grantsOf([ALL_SCOPES], rules)
  const named = scopes.filter((scope) => !granted.includes(scope))
  return {
    name: 'issue',
    summary: 'create a key and print it; it is shown once',
    details:
      `Scopes: ${[ALL_SCOPES, ...scopes].join(', ')}\n\n` +
      `${ALL_SCOPES} is all scopes except ${named.join(', ')}, which must be listed: --scopes '${ALL_SCOPES},${named.at(-1)}'`,
    options: [
      { flags: '--tenant <name>', description: 'the tenant of the key', required: true },
      {
        flags: '--environment <name>',
        description: 'where the key is valid',
        required: true,
        choices: ENVIRONMENTS,
      },
      { flags: '--label <text>', description: 'a name for lists' },
      { flags: '--scopes <list>', description: `scopes, separated by commas (default ${ALL_SCOPES})` },
      { flags: '--expires <time>', description: '2027-01-01 (00:00 UTC) or 2027-01-01T12:00:00Z' },
    ],
    run: async ({ options }, io) => {
      const request = requestOf(options)
      const issued = await within(({ issueApiKey }) => issueApiKey(request, { actor: ACTOR }))
      io.print(issuedAsJson(issued), issuedAsText(issued))
      return 0
    },
  }
}

function listCommand(within: Within<KeysContext>): CliCommand {
  return {
    name: 'list',
    summary: 'list keys, newest first, without their secrets',
    options: [
      { flags: '--tenant <name>', description: 'only the keys of this tenant' },
      { flags: '--limit <number>', description: `how many keys (default ${LIMIT.byDefault})` },
    ],
    run: async ({ options }, io) => {
      const limit = limitOf(options.limit, LIMIT)
      const tenantId = textOf(options.tenant)
      const filter = { limit, ...(tenantId === undefined ? {} : { tenantId }) }
      return within<ExitCode>(async ({ keys, clock }) => {
        const listed = await keys.list(filter)
        const nowMs = clock()
        const rows = shown(listed).map((key) => listedAsRow(key, nowMs))
        const text =
          rows.length === 0
            ? 'no keys\n'
            : io.table(['key id', 'tenant', 'environment', 'status', 'scopes', 'issued by', 'label'], rows)
        io.print(
          listed.map((key) => listedAsJson(key, nowMs)),
          text,
        )
        return 0
      })
    },
  }
}

function revokeCommand(within: Within<KeysContext>): CliCommand {
  return {
    name: 'revoke',
    summary: 'revoke a key; requests with it are refused within a second',
    arguments: [{ name: '<key-id>', description: 'as list shows it' }],
    run: async ({ arguments: [id = ''] }, io) => {
      const { keyId, tenantId, revokedAt } = await within(({ revokeApiKey }) => revokeApiKey(id, { actor: ACTOR }))
      io.print({ key_id: keyId, tenant_id: tenantId, revoked_at: revokedAt }, `${shownText(keyId)} is revoked\n`)
      return 0
    },
  }
}

function requestOf(options: CliOptions): ApiKeyRequest {
  const [label, scopes, expires] = [options.label, options.scopes, options.expires].map(textOf)
  return {
    tenantId: String(options.tenant),
    environment: options.environment as Environment,
    ...(label === undefined ? {} : { label }),
    ...(scopes === undefined ? {} : { scopes: scopes.split(',').map((scope) => scope.trim()) }),
    ...(expires === undefined ? {} : { expiresAt: parseTime(expires) }),
  }
}

const TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z)?$/

/** Refuses a day that does not exist in its month: a date parser would move it into the next month. */
function parseTime(text: string): string {
  const [, day] = TIME.exec(text) ?? []
  const epochMs = day === undefined ? Number.NaN : Date.parse(text)
  if (day === undefined || Number.isNaN(epochMs) || !toInstant(epochMs).startsWith(day)) {
    throw new BadInput('--expires must be a time such as 2027-01-01 or 2027-01-01T12:00:00Z')
  }
  return toInstant(epochMs)
}

function issuedAsJson(key: IssuedApiKey): Record<string, unknown> {
  return {
    key_id: key.keyId,
    api_key: key.token,
    tenant_id: key.tenantId,
    environment: key.environment,
    label: key.label,
    scopes: key.scopes,
    expires_at: key.expiresAt,
    created_at: key.createdAt,
  }
}

function issuedAsText({ keyId, token }: IssuedApiKey): string {
  return `key id   ${keyId}\napi key  ${token}\n\nStore the api key now: only its hash is stored, so it cannot be shown again.\n`
}

function listedAsJson(key: ApiKey, nowMs: number): Record<string, unknown> {
  return {
    key_id: key.keyId,
    tenant_id: key.tenantId,
    environment: key.environment,
    label: key.label,
    scopes: key.scopes,
    effective_scopes: key.grants,
    ip_allowlist: key.ipAllowlist,
    issued_by: key.issuedBy,
    status: statusOf(key, nowMs),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
  }
}

function listedAsRow(key: ApiKey, nowMs: number): readonly string[] {
  return [
    key.keyId,
    key.tenantId,
    key.environment,
    statusOf(key, nowMs),
    key.scopes.join(','),
    key.issuedBy ?? 'operator',
    key.label,
  ]
}

function statusOf(key: ApiKey, nowMs: number): 'active' | 'revoked' | 'expired' {
  if (key.revokedAt !== null) return 'revoked'
  return key.expiresAt !== null && key.expiresAt.getTime() <= nowMs ? 'expired' : 'active'
}
