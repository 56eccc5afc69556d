/** The options of `backup`. */
import { BadInput, type CliOption, type CliOptions } from '../../cli/command.ts'
import { listOf, textOf } from '../../cli/option-values.ts'
import { isTenantId } from '../../core/tenants.ts'
import type { BackUpRequest } from '../kit/back-up.ts'
import { isPartName } from '../kit/format.ts'
import { readSignedBy } from './kit-places.ts'

export const TENANT_OPTION: CliOption = { flags: '--tenant <name>', description: 'only this tenant' }

export const BACKUP_OPTIONS: readonly CliOption[] = [
  { flags: '--out <dir>', description: 'the directory to write the kit to', required: true },
  {
    flags: '--recipient <age1>',
    description: 'the recipient whose identity will open the kit, as keygen and age-keygen print it',
    required: true,
    repeatable: true,
  },
  {
    flags: '--part <name>',
    description: 'hd, party-1, party-2 … (default: all on this machine)',
    repeatable: true,
  },
  TENANT_OPTION,
  { flags: '--force', description: 'replace parts that the kit already has' },
  {
    flags: '--signed-by <key>',
    description: 'the key of another machine that signed the kit in --out: its parts are kept, and signed again',
    repeatable: true,
  },
]

/** @throws BadInput */
export function readBackup(options: CliOptions): BackUpRequest {
  const parts = listOf(options.part)
  const unknown = parts.find((name) => !isPartName(name))
  if (unknown !== undefined) throw new BadInput(`--part must be hd or party-N, such as party-1, not ${unknown}`)
  return {
    out: String(options.out),
    recipients: listOf(options.recipient),
    parts: parts.length === 0 ? null : parts,
    tenant: readTenant(options),
    force: options.force === true,
    signedBy: readSignedBy(options),
  }
}

/** The tenant of `TENANT_OPTION`; `null` for all. @throws BadInput */
export function readTenant(options: CliOptions): string | null {
  const tenant = textOf(options.tenant) ?? null
  if (tenant !== null && !isTenantId(tenant)) throw new BadInput('--tenant must be a tenant name')
  return tenant
}
