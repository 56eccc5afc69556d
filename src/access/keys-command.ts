/** `npm run keys -- issue|list|revoke`: the operator command for API keys. */
import { NotFound, Unavailable, ValidationFailed } from '../core/errors.ts'
import type { Clock } from '../core/ids.ts'
import { assertNever } from '../core/never.ts'
import type { ApiKey, ApiKeyRows } from './api-key-rows.ts'
import type { IssueApiKey, IssuedApiKey } from './issue-api-key.ts'
import { KEYS_USAGE, type KeysCommand, parseKeysArguments, WrongUsage } from './keys-arguments.ts'
import type { RevokeApiKey } from './revoke-api-key.ts'

export type KeysCommandIo = {
  readonly issueApiKey: IssueApiKey
  readonly revokeApiKey: RevokeApiKey
  readonly keys: Pick<ApiKeyRows, 'list'>
  /** For marking expired keys in lists. */
  readonly clock: Clock
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Runs one command. Returns the exit code described in the usage text; errors are one line on `err`. */
export async function keysCommand(args: readonly string[], io: KeysCommandIo): Promise<number> {
  try {
    await run(parseKeysArguments(args), io)
    return 0
  } catch (error) {
    const code = exitCodeOf(error)
    if (code === undefined || !(error instanceof Error)) throw error
    const hint = code === 2 ? ' (see: npm run keys -- help)' : ''
    io.err(`keys: ${error.message.replaceAll(/\s*\n\s*/g, ' ')}${hint}\n`)
    return code
  }
}

function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof WrongUsage) return 2
  if (error instanceof Unavailable) return 3
  if (error instanceof ValidationFailed || error instanceof NotFound) return 1
  return undefined
}

async function run(command: KeysCommand, io: KeysCommandIo): Promise<void> {
  const actor = 'operator'
  switch (command.name) {
    case 'help':
      return io.out(KEYS_USAGE)
    case 'issue': {
      const issued = await io.issueApiKey(command.request, { actor })
      return io.out(command.json ? line(issuedAsJson(issued)) : issuedAsText(issued))
    }
    case 'list': {
      const keys = await io.keys.list(command.filter)
      const nowMs = io.clock()
      return io.out(command.json ? line(keys.map((key) => listedAsJson(key, nowMs))) : listedAsText(keys, nowMs))
    }
    case 'revoke': {
      const { keyId, tenantId, revokedAt } = await io.revokeApiKey(command.keyId, { actor })
      const json = { key_id: keyId, tenant_id: tenantId, revoked_at: revokedAt }
      return io.out(command.json ? line(json) : `${keyId} is revoked\n`)
    }
    default:
      return assertNever(command)
  }
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`
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
    status: statusOf(key, nowMs),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
  }
}

function listedAsText(keys: readonly ApiKey[], nowMs: number): string {
  if (keys.length === 0) return 'no keys\n'
  const rows = keys.map((key) => [
    key.keyId,
    key.tenantId,
    key.environment,
    statusOf(key, nowMs),
    key.scopes.join(','),
    key.label,
  ])
  const all = [['key id', 'tenant', 'environment', 'status', 'scopes', 'label'], ...rows]
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

function statusOf(key: ApiKey, nowMs: number): 'active' | 'revoked' | 'expired' {
  if (key.revokedAt !== null) return 'revoked'
  return key.expiresAt !== null && key.expiresAt.getTime() <= nowMs ? 'expired' : 'active'
}
